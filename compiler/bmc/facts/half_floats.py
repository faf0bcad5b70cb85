"""Tells whether a model computes in 16-bit floats."""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util


def found(module: Any) -> bool:
    """Whether any operand or result in a model is an f16 or bf16, or a tensor of them."""
    ops = ir_util.walk(module.operation)
    types = {value.type for op in ops for value in (*op.operands, *op.results)}
    return any(_element(each) in ("f16", "bf16") for each in types)


def _element(each: Any) -> str:
    return str(each.element_type) if isinstance(each, ir.ShapedType) else str(each)
