"""Stores weights in f16 that f16 holds exactly: `stored_weights = "f16"`.

A model file may have its weights in f16, which the import makes f32. In f16 they take half of the flash. Products
extend them while they read them, and compute in f32 as before. No number is rounded.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import build
from bmc.rewrites.context import Context
from bmc.rewrites.weights import product_weights

_F32 = ["f32", "f32", "f32"]


def apply(module: Any, context: Context) -> None:
    """Rewrites the products that read such weights; records the weights in `context`.

    Raises:
      BmcError: there are none.
    """
    exact = context.exact_halves or frozenset()
    found = [
        weight
        for weight in product_weights.find(module)
        if all(
            [str(value.type.element_type) for value in op.operands] == _F32
            for op, _ in weight.products
        )
        and not weight.shapes & context.decisions.whole
        and weight.name in exact
    ]
    if not found:
        raise BmcError(
            "no-f16-weights",
            "none of the model's weights can be stored as f16: f16 must hold each of its numbers exactly, and a kernel"
            " of bmc's own must read it in products only",
            hint="leave out stored_weights",
        )
    for weight in found:
        context.halved |= {weight.name}
        context.extended |= weight.shapes
        product_weights.retype(weight, ir.F16Type.get())
        for op, place in weight.products:
            _extend(op.regions[0].blocks[0], place)


def _extend(body: Any, place: int) -> None:
    argument = body.arguments[place]
    with ir.InsertionPoint.at_block_begin(body), body.owner.location:
        wide = build.op("arith.extf", ir.F32Type.get(), argument)
    argument.replace_all_uses_except(wide, wide.owner.operation)
