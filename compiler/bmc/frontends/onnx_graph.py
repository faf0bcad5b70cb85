"""An ONNX graph whose shapes are inferred, and nodes to put into it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bmc.dtype import Array

# What writes an op with others, see Graph.replaced().
Maker = Callable[["Graph", Any, tuple[int, ...]], str | None]
# Attribute of a Constant node -> the element type and the field of its value.
_VALUES = {
    "value_float": (np.float32, "f"),
    "value_floats": (np.float32, "floats"),
    "value_int": (np.int64, "i"),
    "value_ints": (np.int64, "ints"),
}


def constants(graph: Any) -> dict[str, Any]:
    """Returns the initializers of a graph, which functions lack, and the values of Constant nodes, by name."""
    from onnx import numpy_helper

    found = {item.name: item for item in getattr(graph, "initializer", ())}
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            if attribute.name == "value":
                found[node.output[0]] = attribute.t
            elif attribute.name in _VALUES:
                element, field = _VALUES[attribute.name]
                value = np.array(getattr(attribute, field), element)
                found[node.output[0]] = numpy_helper.from_array(value)
    return found


def graphs_of(node: Any) -> Iterator[Any]:
    """Yields the graphs that are attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def nodes_within(nodes: Any) -> Iterator[Any]:
    """Yields nodes, and those of the graphs that are their attributes."""
    for node in nodes:
        yield node
        for graph in graphs_of(node):
            yield from nodes_within(graph.node)


class Graph:
    """The graph of a ModelProto, or of one of its nodes.

    `nodes` collects its new list of nodes, which finish() puts in place of the old ones.
    """

    def __init__(self, proto: Any, outer: Graph | None = None) -> None:
        """Takes a GraphProto, and the graph of the node that it belongs to."""
        from onnx import numpy_helper

        self.proto = proto
        self.nodes: list[Any] = []
        self._outer = outer
        self._taken: set[str] = (
            outer._taken
            if outer
            else {name for node in nodes_within(proto.node) for name in (*node.input, *node.output)}
        )
        self._types = {
            value.name: value.type.tensor_type
            for value in (*self.proto.value_info, *self.proto.input, *self.proto.output)
        }
        self._constants = constants(self.proto)
        self._is_body = False
        self._to_array = numpy_helper.to_array

    def shape(self, name: str) -> tuple[int, ...] | None:
        """Returns the shape of a value, None if it is not wholly known."""
        if name in self._constants:
            return tuple(self._constants[name].dims)
        found = self._types.get(name)
        if found is None and self._outer:
            return self._outer.shape(name)
        if found is None or not found.HasField("shape"):
            return None
        dims = found.shape.dim
        return (
            tuple(d.dim_value for d in dims) if all(d.HasField("dim_value") for d in dims) else None
        )

    def element(self, name: str) -> int:
        """Returns ONNX's number for the element type of a value, 0 if it is not known."""
        if name in self._constants:
            return int(self._constants[name].data_type)
        if name in self._types:
            return int(self._types[name].elem_type)
        return self._outer.element(name) if self._outer else 0

    def dtype(self, name: str) -> np.dtype[Any]:
        """Returns the element type of a value as NumPy has it, that of objects if it is not known."""
        from onnx import helper

        element = self.element(name)
        return np.dtype(helper.tensor_dtype_to_np_dtype(element) if element else object)

    def constant(self, name: str) -> Array | None:
        """Returns the value of an initializer or a Constant node, None for anything else."""
        found: Array | None = None
        if name in self._constants:
            found = self._to_array(self._constants[name])
        elif name not in self._types and self._outer:
            found = self._outer.constant(name)
        return found

    def initializer(self, value: Array, like: Any) -> str:
        """Adds an initializer, or a Constant node in a branch or body, named after a node; returns its name."""
        from onnx import helper, numpy_helper

        name = self.new(like)
        tensor = numpy_helper.from_array(np.asarray(value), name)
        if self._outer or self._is_body:
            # There, shapes are inferred only from the graph's own constants.
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        else:
            self.proto.initializer.append(tensor)
        return name

    def add(self, kind: str, inputs: Sequence[str | Array], like: Any, **attributes: Any) -> str:
        """Adds a node with one output and returns the output's name.

        Args:
          kind: the op.
          inputs: names, or arrays that become initializers.
          like: the node that it helps to replace, whose name it gets.
          attributes: the op's.
        """
        from onnx import helper

        names = [each if isinstance(each, str) else self.initializer(each, like) for each in inputs]
        output = self.new(like)
        self.nodes.append(
            helper.make_node(kind, names, [output], name=node_name(like), **attributes)
        )
        return output

    def bits(self, value: str, to: int, like: Any, shape: Sequence[int] | None) -> str:
        """Adds a BitCast, whose type and shape it declares: ONNX infers none in opsets that have no such op."""
        from onnx import helper

        output = self.add("BitCast", [value], like, to=to)
        self.proto.value_info.append(helper.make_tensor_value_info(output, to, shape))
        return output

    @contextlib.contextmanager
    def body(self) -> Iterator[list[Any]]:
        """Yields the list of the nodes that are added in this block, for the body of a loop."""
        outside, self.nodes, self._is_body = self.nodes, [], True
        try:
            yield self.nodes
        finally:
            self.nodes, self._is_body = outside, False

    def rename(self, value: str, wanted: str) -> None:
        """Gives the output of the last node, which nothing reads yet, the name that others read."""
        assert self.nodes[-1].output[0] == value
        self.nodes[-1].output[0] = wanted

    def replaced(self, node: Any, makers: Mapping[str, Maker]) -> bool:
        """Lets the maker for a node's op write it with others; returns whether it did.

        A maker gets this graph, the node and the shape of its first input, which must be known. It adds nodes, and
        returns the value that the last one makes, "" or None if it leaves the node.
        """
        make = makers.get(node.op_type)
        shape = self.shape(node.input[0]) if make else None
        made = make(self, node, shape) if make and shape is not None else None
        if made:
            self.rename(made, node.output[0])
        return bool(made)

    def finish(self) -> None:
        """Replaces the nodes of the graph."""
        del self.proto.node[:]
        self.proto.node.extend(self.nodes)

    def new(self, like: Any) -> str:
        """Returns a name that no value of the graph has."""
        number = len(self._taken)
        while (name := f"{like.output[0]}_{number}") in self._taken:
            number += 1
        self._taken.add(name)
        return name


def evaluated(model: Any, nodes: list[Any], initializers: list[Any], output: str) -> Array | None:
    """Returns a value that no input decides; None if ONNX's reference cannot compute it.

    Args:
      model: the ModelProto, for its opsets.
      nodes: those that compute the value, in order.
      initializers: TensorProtos that they read.
      output: name of the value.
    """
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    wanted = helper.make_tensor_value_info(output, TensorProto.UNDEFINED, None)
    part = helper.make_graph(nodes, "part", [], [wanted], initializers)
    made = helper.make_model(part, opset_imports=model.opset_import, ir_version=model.ir_version)
    try:
        (value,) = ReferenceEvaluator(made).run(None, {})
    except Exception:  # It raises all kinds for what it cannot compute.
        return None
    return np.asarray(value)


def node_name(node: Any) -> str:
    """Returns a node's own name, or one that says which value it computes."""
    return node.name or f"the node of {next(filter(None, node.output), node.op_type)}"


def attributes(node: Any) -> dict[str, Any]:
    """Returns a node's attributes by name."""
    from onnx import helper

    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def set_attributes(node: Any, **changes: Any) -> None:
    """Replaces attributes of a node."""
    from onnx import helper

    kept = [item for item in node.attribute if item.name not in changes]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in changes.items())


def rename(node: Any, names: Mapping[str, str]) -> None:
    """Renames what a node and its branches read and write; a branch may have values of the same names."""
    for values in (node.input, node.output):
        values[:] = [names.get(value, value) for value in values]
    for item in node.attribute:
        for graph in (item.g, *item.graphs):
            own = {value.name for value in (*graph.input, *graph.initializer)}
            own |= {output for inner in graph.node for output in inner.output}
            free = {name: new for name, new in names.items() if name not in own}
            for inner in graph.node:
                rename(inner, free)
            for output in graph.output:
                output.name = free.get(output.name, output.name)
