"""Constant floats are truncated before they become integers.

bmc evaluates constant expressions with IREE's interpreter, which rounds a float to the nearest integer where
the model truncates it: 2.8 would become 3 (docs/upstream/iree-vm-float-to-int.md). An integral float becomes
the right integer.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

# Zero, maximum, floor, minimum, ceiling and sum.
_ARITH = (
    "arith.constant", "arith.maximumf", "math.floor", "arith.minimumf", "math.ceil", "arith.addf",
)  # fmt: skip
_STABLEHLO = (
    "stablehlo.constant", "stablehlo.maximum", "stablehlo.floor", "stablehlo.minimum",
    "stablehlo.ceil", "stablehlo.add",
)  # fmt: skip


def apply(module: Any, _: object) -> None:
    """Rewrites the conversions of constant expressions."""
    constants = ir_util.constant_expressions(module)
    for op in list(ir_util.walk(module.operation)):
        if op.name == "stablehlo.convert" and _truncates(op) and op in constants:
            _truncate(op, _STABLEHLO)
        elif op.name == "arith.fptosi" and ir_util.whole(op) in constants:
            _truncate(op, _ARITH)


def _truncates(op: ir_util.Op) -> bool:
    source, result = (str(ir_util.element_type(v.type)) for v in (op.operands[0], op.results[0]))
    # A conversion to i1 compares with 0.
    return source.startswith(("f", "bf")) and "i" in result and result != "i1"


def _truncate(op: ir_util.Op, names: tuple[str, ...]) -> None:
    """Replaces the operand x by floor(max(x, 0)) + ceil(min(x, 0)): the interpreter has neither trunc nor sign."""
    constant, maximum, floor, minimum, ceil, add = names
    x = op.operands[0]
    with ir.InsertionPoint(op), op.location:
        number = "0.0" if x.type == ir_util.element_type(x.type) else "dense<0.0>"
        zero = build.op(constant, x.type, value=ir.Attribute.parse(f"{number} : {x.type}"))
        positive = build.same(floor, build.same(maximum, x, zero))
        negative = build.same(ceil, build.same(minimum, x, zero))
        op.operands[0] = build.same(add, positive, negative)
