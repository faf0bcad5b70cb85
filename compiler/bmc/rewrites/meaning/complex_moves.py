"""Rewrites moves of complex numbers that crash IREE (docs/upstream/iree-complex-pads.md).

These are paddings, and conversions of bits to the type that they have.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util


def apply(module: Any, _: object = None) -> None:
    """Rewrites such operations of StableHLO."""
    for op in ir_util.all_of(module, "stablehlo.bitcast_convert"):
        if op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
    for op in ir_util.all_of(module, "stablehlo.pad"):
        if isinstance(op.results[0].type.element_type, ir.ComplexType):
            _pad_parts(op)


def _pad_parts(op: ir_util.Op) -> None:
    """Pads real and imaginary parts one by one."""
    kind = op.results[0].type
    part = ir.RankedTensorType.get(kind.shape, kind.element_type.element_type)
    padded = []
    with ir.InsertionPoint(op), op.location:
        for name in ("stablehlo.real", "stablehlo.imag"):
            halves = [
                build.op(name, ir.RankedTensorType.get(v.type.shape, part.element_type), v)
                for v in op.operands
            ]
            padded.append(build.again(op, [part], halves).results[0])
        made = build.op("stablehlo.complex", kind, *padded)
    op.results[0].replace_all_uses_with(made)
    op.erase()
