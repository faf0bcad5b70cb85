"""Puts the branch that is taken in the place of an If whose condition no input of the model decides."""

from __future__ import annotations

from typing import Any

from bmc.frontends import onnx_graph


def apply(model: Any) -> None:
    """Changes the main graph of a ModelProto; branches may have further ones."""
    graph = model.graph
    found = True
    while found:
        found = False
        for index, node in enumerate(graph.node):
            taken = _condition(model, node.input[0]) if node.op_type == "If" else None
            if taken is not None:
                _inline(graph, index, node, taken)
                found = True
                break


def _condition(model: Any, name: str) -> bool | None:
    """Returns the value of a condition, None if an input decides it, or what ONNX's reference cannot compute."""
    graph = model.graph
    initial = {item.name: item for item in graph.initializer}
    makers = {output: node for node in graph.node for output in node.output}
    needed: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        value = waiting.pop()
        if value in needed or not value or value in initial:
            continue
        maker = makers.get(value)
        if maker is None or any(a.g.node or a.graphs for a in maker.attribute):
            return None
        needed[value] = maker
        waiting += maker.input
    nodes = [node for node in graph.node if any(node is maker for maker in needed.values())]
    is_met = onnx_graph.evaluated(model, nodes, list(initial.values()), name)
    return bool(is_met.reshape(-1)[0]) if is_met is not None and is_met.size == 1 else None


def _inline(graph: Any, index: int, node: Any, taken: bool) -> None:
    from onnx import helper

    wanted = "then_branch" if taken else "else_branch"
    (branch,) = (item.g for item in node.attribute if item.name == wanted)
    made = {output for inner in branch.node for output in inner.output if output}
    inside = made | {item.name for item in branch.initializer}
    names = {name: f"{node.output[0]}/{name}" for name in inside}
    last = []
    for inner, outer in zip(branch.output, node.output, strict=True):
        if inner.name in made and names[inner.name] not in node.output:
            names[inner.name] = outer
        else:
            last.append((names.get(inner.name, inner.name), outer))
    nodes = list(branch.node)
    for inner in nodes:
        onnx_graph.rename(inner, names)
    nodes += [helper.make_node("Identity", [value], [outer]) for value, outer in last]
    for item in branch.initializer:
        item.name = names[item.name]
        graph.initializer.append(item)
    before, after = list(graph.node[:index]), list(graph.node[index + 1 :])
    del graph.node[:]
    graph.node.extend([*before, *nodes, *after])
