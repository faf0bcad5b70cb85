"""Shifts as PyTorch does, also by counts that an integer does not have bits for, and changes bits by a number.

In torch-mlir's linalg they are the machine's shifts, which take the count modulo the width or are undefined. PyTorch
leaves nothing of a number that is shifted so far, or only its sign: a negative count is one that is too large.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends.torch_windows import call


def apply(program: Any) -> None:
    """Changes shifts in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    left = (aten.bitwise_left_shift, aten.__lshift__)
    right = (aten.bitwise_right_shift, aten.__rshift__)
    for node in list(program.graph.nodes):
        packet = getattr(node.target, "overloadpacket", None)
        if packet in (*left, *right):
            made = _shift(program.graph, node, packet in left)
            node.replace_all_uses_with(made)
            program.graph.erase_node(node)
        elif node.target is aten.bitwise_xor.Scalar:
            # torch-mlir knows it of tensors only.
            x, number = node.args
            filled = call(program.graph, node, aten.full_like.default, (x, number))
            node.target, node.args = aten.bitwise_xor.Tensor, (x, filled)


def _shift(graph: Any, node: Any, is_left: bool) -> Any:
    import torch

    aten = torch.ops.aten

    def add(op: Any, *args: Any) -> Any:
        return call(graph, node, op, args)

    dtype = node.meta["val"].dtype
    bits = torch.iinfo(dtype).bits
    # Operands of other types or shapes crash torch-mlir.
    given = next(each for each in node.args if isinstance(each, torch.fx.Node))
    shape = list(node.meta["val"].shape)
    like = add(aten.expand.default, add(aten.to.dtype, given, dtype), shape)
    x, count = (
        add(aten.expand.default, add(aten.to.dtype, each, dtype), shape)
        if isinstance(each, torch.fx.Node)
        else add(aten.full_like.default, like, each)
        for each in node.args
    )
    is_none = add(aten.ge.Scalar, count, bits)
    if dtype.is_signed:
        is_none = add(aten.logical_or.default, is_none, add(aten.lt.Scalar, count, 0))
    # A shift to the right by all bits but one leaves the sign of a signed number.
    count = add(aten.where.self, is_none, add(aten.full_like.default, count, bits - 1), count)
    op = aten.bitwise_left_shift.Tensor if is_left else aten.bitwise_right_shift.Tensor
    if not dtype.is_signed and not is_left:  # torch-mlir shifts its sign in.
        x, count = (add(aten.to.dtype, each, torch.int32) for each in (x, count))
        shifted = add(aten.to.dtype, add(op, x, count), dtype)
    else:
        shifted = add(op, x, count)
    if not is_left and dtype.is_signed:
        return shifted
    return add(aten.where.self, is_none, add(aten.zeros_like.default, shifted), shifted)
