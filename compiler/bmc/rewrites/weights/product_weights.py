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
    """A weight that never changes, and that only products read: one, or those of several strips.

    Attributes:
      products: each product, with the place of the weight among its operands.
      global_op: the global that has the weight.
      load: what loads the weight.
      reshapes: what gives the loaded weight its axes, in order.
    """

    products: tuple[tuple[ir_util.Op, int], ...]
    global_op: ir_util.Op
    load: ir_util.Op
    reshapes: tuple[ir_util.Op, ...]

    @property
    def name(self) -> str:
        return ir_util.string(self.load, "global")

    @property
    def shapes(self) -> set[tuple[int, ...]]:
        """Of the products, as ir/contraction.py returns them."""
        return {contraction.shape(product) for product, _ in self.products}

    @property
    def size(self) -> int:
        """Bytes."""
        return ir_util.tensor_bytes(self.load.results[0].type)


def find(module: Any) -> list[ProductWeight]:
    """Returns the weights of products, in the order of the first product of each."""
    globals_ = _loaded_once(module)
    products: dict[ir_util.Op, list[tuple[ir_util.Op, int]]] = {}
    for op in ir_util.walk(module.operation):
        if contraction.read(op) is None:
            continue
        for place in (0, 1):
            load = _load(op.operands[place])
            if load is not None and ir_util.string(load, "global") in globals_:
                products.setdefault(load, []).append((op, place))
    found = []
    for load, those in products.items():
        readers, reshapes = _readers(load.results[0])
        if len(readers) == len(those):
            global_op = globals_[ir_util.string(load, "global")]
            found.append(ProductWeight(tuple(those), global_op, load, tuple(reshapes)))
    return found


def _load(value: Any) -> ir_util.Op | None:
    """Returns what loads a value that is at most reshaped, None for others."""
    maker = ir_util.definition(value)
    while maker is not None and maker.name in names.RESHAPES:
        maker = ir_util.definition(maker.operands[0])
    return maker if maker is not None and maker.name == names.GLOBAL_LOAD else None


def _readers(value: Any) -> tuple[list[ir_util.Op], list[ir_util.Op]]:
    """Returns what reads a value, also through reshapes, and those reshapes, each behind the one that it reads."""
    readers: list[ir_util.Op] = []
    reshapes: list[ir_util.Op] = []
    for reader, _ in ir_util.uses(value):
        if reader.name in names.RESHAPES:
            more, further = _readers(reader.results[0])
            readers += more
            reshapes += [reader, *further]
        else:
            readers.append(reader)
    return readers, reshapes


def _loaded_once(module: Any) -> dict[str, ir_util.Op]:
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


def retype(weight: ProductWeight, element: Any) -> None:
    """Gives a weight another element type, from the global to the arguments of the products' bodies."""

    def typed(type_: Any) -> Any:
        return ir.RankedTensorType.get(type_.shape, element)

    kind = typed(weight.load.results[0].type)
    ir_util.retype_global(weight.global_op, kind)
    again = {weight.load.results[0]: build.load_again(weight.load, kind)}
    for old in weight.reshapes:
        with ir.InsertionPoint(old), old.location:
            value = again[old.operands[0]]
            groups = [[int(axis) for axis in group] for group in old.attributes["reassociation"]]
            kind = typed(old.results[0].type)
            if old.name == names.COLLAPSE_SHAPE:
                again[old.results[0]] = tensor.collapse_shape(kind, value, groups)
            else:
                sizes = list(kind.shape)
                again[old.results[0]] = tensor.expand_shape(kind, value, groups, [], sizes)
    for product, place in weight.products:
        product.operands[place] = again[product.operands[place]]
        product.regions[0].blocks[0].arguments[place].set_type(element)
    for op in (*reversed(weight.reshapes), weight.load):
        op.erase()
