"""Ops on bytes that crash torch-mlir's lowering to linalg, or that it gets wrong.

- Matrix products, convolutions, products and differences with a number and arange() are of 32-bit integers, whose
  lowest bits are the same.
- Truth values beside bytes become bytes. Signed bytes beside unsigned ones become 32-bit integers, as both do.
- A float becomes an unsigned byte by way of an integer, because the largest signed byte is 127.
- Bytes that the model returns whatever its inputs are: torch-mlir takes constants of unsigned ones for signed ones.
- A power of integers that is a float is one of floats. A power by a small integer is products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bmc.frontends import torch_places
from bmc.frontends.torch_windows import call

# Ops of two tensors, whose elements become of one type.
_OF_TWO = (
    "add",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "eq",
    "ge",
    "gt",
    "le",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "sub",
)
# Products by squaring take at most ten multiplications for these.
_LARGEST_EXPONENT = 64


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    wider = (aten.mm.default, aten.bmm.default, aten.convolution.default, aten.arange.start_step)
    with_number = (aten.mul.Scalar, aten.mul.Tensor, aten.sub.Scalar, aten.sub.Tensor)
    for node in list(program.graph.nodes):
        by_number = node.target in with_number and not isinstance(node.args[1], torch.fx.Node)
        if node.target in wider or by_number:
            widen(program.graph, node)
        elif node.target is torch.ops.prims.convert_element_type.default:
            _converted(program.graph, node)
        elif node.target is aten.cat.default:
            node.args = (_of_one_type(program.graph, node, node.args[0]), *node.args[1:])
        elif node.target is aten.where.self:
            node.args = (node.args[0], *_of_one_type(program.graph, node, node.args[1:]))
        elif getattr(getattr(node.target, "overloadpacket", None), "__name__", "") in _OF_TWO:
            node.args = tuple(_of_one_type(program.graph, node, node.args))
        elif node.target is aten.pow.Tensor_Scalar:
            _power(program.graph, node)
    _returned_constants(program)


def _returned_constants(program: Any) -> None:
    import torch

    aten, graph = torch.ops.aten, program.graph
    given = {node for node in graph.nodes if node.name in program.graph_signature.user_inputs}
    for node in graph.nodes:
        reads = given.intersection(node.all_input_nodes)
        if reads and not torch_places.op_name(node.target).endswith("_like"):
            given.add(node)
    end = graph.output_node()
    for node in end.all_input_nodes:
        if node not in given and node.meta["val"].dtype == torch.uint8:
            whole = call(graph, end, aten.to.dtype, (node, torch.int32))
            # torch-mlir would make a constant of a conversion alone.
            low = call(graph, end, aten.bitwise_and.Scalar, (whole, 255))
            end.replace_input_with(node, call(graph, end, aten.to.dtype, (low, torch.uint8)))


def widen(graph: Any, node: Any) -> None:
    """Computes an op on bytes with 32-bit integers, and takes the lowest bits of its result."""
    import torch

    to = torch.ops.aten.to.dtype
    dtype = node.meta["val"].dtype
    if dtype not in (torch.int8, torch.uint8):
        return
    node.args = tuple(
        call(graph, node, to, (each, torch.int32)) if isinstance(each, torch.fx.Node) else each
        for each in node.args
    )
    if "dtype" in node.kwargs:
        node.kwargs = {**node.kwargs, "dtype": torch.int32}
    meta = {key: item for key, item in node.meta.items() if key != "tensor_meta"}
    node.meta = {**meta, "val": meta["val"].to(torch.int32)}
    with graph.inserting_after(node):
        narrow = graph.call_function(to, (node, dtype))
    narrow.meta = meta
    node.replace_all_uses_with(narrow, delete_user_cb=lambda user: user is not narrow)


def _converted(graph: Any, node: Any) -> None:
    import torch

    value = node.args[0]
    if node.meta["val"].dtype == torch.uint8 and value.meta["val"].dtype.is_floating_point:
        aten = torch.ops.aten
        whole = call(graph, node, aten.to.dtype, (value, torch.int32))
        # torch-mlir makes one conversion of two.
        byte = call(graph, node, aten.bitwise_and.Scalar, (whole, 255))
        node.args = (byte, *node.args[1:])


def _of_one_type(graph: Any, node: Any, operands: Sequence[Any]) -> list[Any]:
    """Returns the operands of an op, of which truth values become bytes if the others are bytes."""
    import torch

    to = torch.ops.aten.to.dtype
    nodes = [each for each in operands if isinstance(each, torch.fx.Node)]
    types = {each.meta["val"].dtype for each in nodes}
    if types == {torch.int8, torch.uint8}:
        return [call(graph, node, to, (each, torch.int32)) for each in nodes]
    if torch.bool not in types or len(types) != 2 or not types & {torch.int8, torch.uint8}:
        return list(operands)
    (byte,) = types - {torch.bool}
    return [
        call(graph, node, to, (each, byte)) if each.meta["val"].dtype == torch.bool else each
        for each in nodes
    ]


def _power(graph: Any, node: Any) -> None:
    import torch

    aten = torch.ops.aten
    x, exponent = node.args
    dtype = node.meta["val"].dtype
    if x.meta["val"].dtype != dtype:
        x = call(graph, node, aten.to.dtype, (x, dtype))
        node.args = (x, exponent)
    if dtype.is_floating_point or not 0 <= exponent <= _LARGEST_EXPONENT:
        return
    made, square = None, x
    if exponent == 0:
        made = call(graph, node, aten.ones_like.default, (x,))
    while exponent:
        if exponent % 2:
            made = square if made is None else call(graph, node, aten.mul.Tensor, (made, square))
        exponent //= 2
        if exponent:
            square = call(graph, node, aten.mul.Tensor, (square, square))
    node.replace_all_uses_with(made)
    graph.erase_node(node)
