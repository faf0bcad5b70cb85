"""Keeps factors that scale a whole vector as scalars.

A tile of a product adds `row[i] * column` to one vector of sums for each row i. For f32, LLVM loads row[i]
into a scalar register. For integers it first widens all rows in one short vector, then takes the elements
out again with gathers and copies. Here every element is taken out first and widened afterwards. That
gives a scalar load and a widening multiply-add (lb, vwmacc.vx): 2 vector instructions per row instead of
4 to 10.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util
from bmc.rewrites.context import Context


def apply(module: Any, _: Context) -> None:
    """Rewrites widened vectors whose elements are only read one by one."""
    for op in ir_util.all_of(module, "arith.extsi"):
        if _only_single_elements_are_read(op):
            _extend_elements(op)


def _only_single_elements_are_read(op: ir_util.Op) -> bool:
    uses = ir_util.uses(op.results[0])
    return bool(uses) and all(
        use.name == "vector.extract" and not isinstance(use.results[0].type, ir.VectorType)
        for use, _ in uses
    )


def _extend_elements(op: ir_util.Op) -> None:
    """Replaces extract(extend(vector), i) with extend(extract(vector, i))."""
    vector = op.operands[0]
    wide = op.results[0].type.element_type
    for extract, _ in ir_util.uses(op.results[0]):
        with ir.InsertionPoint(extract), extract.location:
            operands = [vector, *list(extract.operands)[1:]]
            element = build.again(extract, [vector.type.element_type], operands).result
            extract.results[0].replace_all_uses_with(build.op("arith.extsi", wide, element))
        extract.erase()
    op.erase()
