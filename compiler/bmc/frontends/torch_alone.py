"""Finds the op on which torch-mlir crashes, by lowering each op of a program alone."""

from __future__ import annotations

import contextlib
import operator
from typing import Any

from bmc import supervisor
from bmc.frontends import torch_places


def lower(program: Any, output_type: str) -> None:
    """Tells the supervisor of each op before torch-mlir lowers it, so that it knows which one ended this process.

    Args:
      program: a torch.export program.
      output_type: torch-mlir's name for the dialect.
    """
    for node in program.graph.nodes:
        if node.op != "call_function" or not hasattr(node.target, "_schema"):
            continue
        types = (str(each.meta["val"].dtype) for each in node.all_input_nodes if _is_tensor(each))
        line = torch_places.line_of_trace(node.meta.get("stack_trace") or "")
        of = ", ".join(sorted({kind.removeprefix("torch.") for kind in types}))
        what = f"op '{node.target}'" + (f" of {of}" if of else "")
        supervisor.tell(step=what + (f" (at {line})" if line else ""))
        # An op that torch-mlir refuses, or that needs more than a tensor around it, did not crash it.
        with contextlib.suppress(Exception):
            _lower_node(node, output_type)
    supervisor.tell(step="")


def _is_tensor(node: Any) -> bool:
    return hasattr(node.meta.get("val"), "dtype")


def _lower_node(node: Any, output_type: str) -> None:
    import torch
    from torch_mlir import fx

    graph = torch.fx.Graph()
    inputs = {}
    for each in node.all_input_nodes:
        inputs[each] = graph.placeholder(each.name)
        inputs[each].meta = each.meta
    copy = graph.node_copy(node, inputs.__getitem__)
    results = [copy]
    if isinstance(node.meta["val"], (tuple, list)):
        results = []
        for number, value in enumerate(node.meta["val"]):
            results.append(graph.call_function(operator.getitem, (copy, number)))
            results[-1].meta = {"val": value}
    graph.output(tuple(results))
    fx.stateless_fx_import(torch.fx.GraphModule({}, graph), output_type=output_type)
