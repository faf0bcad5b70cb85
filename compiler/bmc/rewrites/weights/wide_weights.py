"""Stores weights of int8 in 16 bits where many pixels read each of them.

Products of int8 are multiplied in 16 bits. A kernel of bmc's own extends each group of weights again for every three
rows, which is one of eight instructions and a quarter of the modeled cycles. In 16 bits the weights are loaded as they
are multiplied. That takes a byte of flash for each, so the weights that most rows read come first.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util
from bmc.kernels.problem.product import FEWEST_LANES
from bmc.rewrites.context import Context
from bmc.rewrites.weights import product_weights
from bmc.rewrites.weights.product_weights import ProductWeight

_B = 1
# A weight that fewer rows read stays in 8 bits: it saves less than a fifth of an instruction per byte of flash.
_FEWEST_ROWS = 32
# Bytes of flash that a model's weights may take more, unless tuning.json says otherwise.
_MOST_BYTES = 96 * 1024


def apply(module: Any, context: Context) -> None:
    """Widens weights; records them and their products in `context`."""
    most = context.tuning.wide_weights
    left = _MOST_BYTES if most is None else most
    found = [
        (rows, weight)
        for weight in product_weights.find(module)
        if (rows := _rows_of(weight)) >= _FEWEST_ROWS
        and not weight.shapes & context.decisions.narrow
    ]
    for _, weight in sorted(found, key=lambda each: -each[0]):
        if weight.size <= left:
            left -= weight.size
            context.widened |= {weight.name}
            context.wide |= weight.shapes
            product_weights.retype(weight, ir.IntegerType.get_signless(16))


def _rows_of(weight: ProductWeight) -> int:
    """Returns how many rows read each number of a weight, 0 unless all products that read it are as _rows() says."""
    rows = [_rows(op) if place == _B else 0 for op, place in weight.products]
    return sum(rows) if all(rows) else 0


def _rows(op: ir_util.Op) -> int:
    """Returns how many rows of a product of int8 whose lanes are output channels read each weight, 0 for others."""
    found = contraction.read(op)
    if found is None or not found.result or not found.b or found.result[-1] != found.b[-1]:
        return 0
    types = [str(value.type.element_type) for value in op.operands]
    is_signed = all(each.name != "arith.extui" for each in ir_util.walk(op))
    extents = contraction.extents(op)
    if types != ["i8", "i8", "i32"] or not is_signed or extents[found.result[-1]] < FEWEST_LANES:
        return 0
    return math.prod(extents[loop] for loop in found.result if loop not in found.b)
