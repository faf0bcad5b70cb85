"""Finds the weights that products read, and gives them other element types."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, contraction, ir_util, names


@dataclass(frozen=True)
class ProductWeight:
    """A weight that one product reads.

    Attributes:
      product: the product.
      place: which of its operands the weight is.
      load: what loads the weight.
      reshapes: what gives the loaded weight its axes, in order.
    """

    product: ir_util.Op
    place: int
    load: ir_util.Op
    reshapes: tuple[ir_util.Op, ...]

    @property
    def name(self) -> str:
        return ir_util.string(self.load, "global")

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the product, as ir/contraction.py returns it."""
        return contraction.shape(self.product)

    @property
    def size(self) -> int:
        """Bytes."""
        return ir_util.tensor_bytes(self.load.results[0].type)


def find(product: ir_util.Op, place: int) -> ProductWeight | None:
    """Returns the weight that is an operand of a product, if nothing else reads it there."""
    reshapes: list[ir_util.Op] = []
    value = product.operands[place]
    while len(ir_util.uses(value)) == 1:
        maker = ir_util.definition(value)
        if maker is not None and maker.name == names.GLOBAL_LOAD:
            return ProductWeight(product, place, maker, tuple(reversed(reshapes)))
        if maker is None or maker.name not in names.RESHAPES:
            return None
        reshapes.append(maker)
        value = maker.operands[0]
    return None


def loaded_once(module: Any) -> dict[str, ir_util.Op]:
    """Returns the globals, by name, that never change and of which there is one load."""
    loads = Counter(
        ir_util.string(op, "global") for op in ir_util.all_of(module, names.GLOBAL_LOAD)
    )
    globals_ = {ir_util.string(op, "sym_name"): op for op in ir_util.all_of(module, names.GLOBAL)}
    return {
        name: op
        for name, op in globals_.items()
        if loads[name] == 1 and "is_mutable" not in op.attributes
    }


def retype(global_op: ir_util.Op, weight: ProductWeight, element: Any) -> None:
    """Gives a weight another element type, from the global to the argument of the product's body."""
    product, place = weight.product, weight.place

    def typed(type_: Any) -> Any:
        return ir.RankedTensorType.get(type_.shape, element)

    kind = typed(weight.load.results[0].type)
    ir_util.retype_global(global_op, kind)
    value = build.load_again(weight.load, kind)
    for old in weight.reshapes:
        with ir.InsertionPoint(old), old.location:
            groups = [[int(axis) for axis in group] for group in old.attributes["reassociation"]]
            kind = typed(old.results[0].type)
            if old.name == names.COLLAPSE_SHAPE:
                value = tensor.collapse_shape(kind, value, groups)
            else:
                value = tensor.expand_shape(kind, value, groups, [], list(kind.shape))
    product.operands[place] = value
    product.regions[0].blocks[0].arguments[place].set_type(element)
    for op in (*reversed(weight.reshapes), weight.load):
        op.erase()
