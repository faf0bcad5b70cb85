"""Adds the bias of some convolutions after them instead of before.

IREE turns a product of dequantized values into an integer product if its sum starts from zeros. It moves
the bias out of an ordinary convolution by itself, but not a bias that was reshaped into groups, and not the
constant that is left of the bias of one output channel.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.ir import build, ir_util, names


def apply(module: Any, _: object) -> None:
    """Rewrites convolutions that start from such a bias."""
    for op in [op for op in ir_util.walk(module.operation) if _starts_from_bias(op)]:
        _detach(op)


def _starts_from_bias(op: ir_util.Op) -> bool:
    if not op.name.startswith("linalg.conv_"):
        return False
    # Integers are the product already.
    if isinstance(ir_util.element_type(op.results[0].type), ir.IntegerType):
        return False
    owner = op.operands[2].owner
    if isinstance(owner, ir.Block):
        return False
    return owner.name == names.EXPAND_SHAPE or (
        owner.name == "arith.constant" and not _is_zero(owner.attributes["value"])
    )


def _is_zero(value: Any) -> bool:
    return (
        isinstance(value, ir.DenseFPElementsAttr)
        and value.is_splat
        and ir.FloatAttr(value.get_splat_value()).value == 0
    )


def _detach(convolution: ir_util.Op) -> None:
    bias, result = convolution.operands[2], convolution.results[0]
    element = result.type.element_type
    with ir.InsertionPoint(convolution), convolution.location:
        empty = tensor.empty(result.type.shape, element)
        zeros = linalg.fill(build.number(0.0, element), outs=[empty])
    convolution.operands[2] = zeros
    with ir.InsertionPoint.after(convolution), convolution.location:
        total = build.same("arith.addf", result, bias)
    result.replace_all_uses_except(total, total.owner.operation)
