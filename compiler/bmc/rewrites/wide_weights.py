"""Stores weights of int8 in 16 bits where many pixels read each of them.

Products of int8 are multiplied in 16 bits. A kernel of bmc's own extends each group of weights again for every three
rows, which is one of eight instructions and a quarter of the modeled cycles. In 16 bits the weights are loaded as they
are multiplied. That takes a byte of flash for each, so the weights that most rows read come first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import contraction, ir_util
from bmc.kernels.product import FEWEST_LANES
from bmc.rewrites.context import Context, Shape

_B = 1
# A weight that fewer rows read stays in 8 bits: it saves less than a fifth of an instruction per byte of flash.
_FEWEST_ROWS = 32
# Bytes of flash that a model's weights may take more, unless tuning.json says otherwise.
_MOST_BYTES = 96 * 1024
_RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")


@dataclass(frozen=True)
class _Weight:
    """A weight that one product reads.

    Attributes:
      product: the product, whose lanes are the weight's last axis.
      load: what loads the weight.
      reshapes: what gives the loaded weight its axes, in order.
      rows: how many rows of the product read each number.
      size: its bytes.
    """

    product: ir_util.Op
    load: ir_util.Op
    reshapes: tuple[ir_util.Op, ...]
    rows: int
    size: int

    @property
    def name(self) -> str:
        return ir_util.string(self.load, "global")

    @property
    def shape(self) -> Shape:
        return contraction.shape(self.product)


def apply(module: Any, context: Context) -> None:
    """Widens weights; records them and their products in `context`."""
    most = context.tuning.wide_weights
    left = _MOST_BYTES if most is None else most
    globals_ = {ir_util.string(op, "sym_name"): op for op in ir_util.all_of(module, "util.global")}
    loads = [ir_util.string(op, "global") for op in ir_util.all_of(module, "util.global.load")]
    found = [
        weight
        for op in ir_util.walk(module.operation)
        if (weight := _weight(op)) is not None
        and weight.rows >= _FEWEST_ROWS
        and weight.shape not in context.decisions.narrow
        and loads.count(weight.name) == 1
        and "is_mutable" not in globals_[weight.name].attributes
    ]
    for weight in sorted(found, key=lambda each: -each.rows):
        if weight.size <= left:
            left -= weight.size
            context.widened |= {weight.name}
            context.wide |= {weight.shape}
            _widen(globals_[weight.name], weight)


def _weight(op: ir_util.Op) -> _Weight | None:
    """Returns the weight of a product of int8 whose lanes are its output channels; None for anything else."""
    found = contraction.read(op)
    if found is None or not found.result or not found.b or found.result[-1] != found.b[-1]:
        return None
    types = [str(value.type.element_type) for value in op.operands]
    is_signed = all(each.name != "arith.extui" for each in ir_util.walk(op))
    if types != ["i8", "i8", "i32"] or not is_signed:
        return None
    extents = contraction.extents(op)
    reshapes: list[ir_util.Op] = []
    value = op.operands[_B]
    while len(ir_util.uses(value)) == 1:
        maker = ir_util.definition(value)
        if maker is not None and maker.name == "util.global.load":
            rows = math.prod(extents[loop] for loop in found.result if loop not in found.b)
            if extents[found.result[-1]] < FEWEST_LANES:
                return None
            size = ir_util.tensor_bytes(value.type)
            return _Weight(op, maker, tuple(reversed(reshapes)), rows, size)
        if maker is None or maker.name not in _RESHAPES:
            return None
        reshapes.append(maker)
        value = maker.operands[0]
    return None


def _widen(global_op: ir_util.Op, weight: _Weight) -> None:
    product = weight.product
    ir_util.retype_global(global_op, _wide(weight.load.results[0].type))
    value = ir_util.load_again(weight.load, _wide(weight.load.results[0].type)).results[0]
    for old in weight.reshapes:
        with ir.InsertionPoint(old), old.location:
            groups = [[int(axis) for axis in group] for group in old.attributes["reassociation"]]
            kind = _wide(old.results[0].type)
            if old.name == "tensor.collapse_shape":
                value = tensor.collapse_shape(kind, value, groups)
            else:
                value = tensor.expand_shape(kind, value, groups, [], list(kind.shape))
    product.operands[_B] = value
    product.regions[0].blocks[0].arguments[_B].set_type(value.type.element_type)
    for op in (*reversed(weight.reshapes), weight.load):
        op.erase()


def _wide(type_: Any) -> Any:
    return ir.RankedTensorType.get(type_.shape, ir.IntegerType.get_signless(16))
