"""Reads a dispatch function on buffers as a product, if it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util
from bmc.kernels.dtypes import FLOATS, TYPES, WIDTHS
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Padding, Product, Unsupported
from bmc.kernels.problem.roles import arranged
from bmc.kernels.read import padding, rescales
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.requantize import clipped
from bmc.kernels.read.views import (
    STORE,
    View,
    dtype_of,
    loops_of,
    maps_of,
    plain,
    source_of,
    substituted,
    terms_of,
)
from bmc.kernels.scheme import SCHEMES


@dataclass(frozen=True)
class Computation:
    """A product with the loops that IREE gave it, before it is decided what each of them does.

    Attributes:
      loops: outermost first.
      summed: numbers of the loops that are summed.
      dtypes, initial, epilogue, padding: as in Product.
      operands: buffers, or constant tensors; the first two are the factors, the third is the result.
      windows: the loops over pixels of the result along which a window slides, each with the loop over its taps.
    """

    dtypes: tuple[str, ...]
    loops: tuple[Loop, ...]
    summed: frozenset[int]
    initial: int | None
    epilogue: tuple[Node, ...]
    padding: Padding | None
    operands: tuple[Any, ...]
    windows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Dispatch:
    """A product and its operands: buffers, or constant tensors."""

    product: Product
    operands: tuple[Any, ...]


@dataclass(frozen=True)
class _Computed:
    """A tensor of values that are computed from sums.

    Attributes:
      number: of the node.
      indices: where each value is, as functions of the root's loops.
    """

    number: int
    indices: tuple[Any, ...]


def read(function: ir_util.Op, lanes: int = 0, narrow: bool = False) -> Dispatch:
    """Returns what a dispatch function computes.

    Args:
      function: the dispatch.
      lanes: which of the loops that can be lanes is, as in arranging.arranged().
      narrow: whether to read weights in 16 bits as if they were stored in 8, to compare.

    Raises:
      Unsupported: it is not one product with an epilogue that this package can write.
    """
    found = _narrowed(computation(function)) if narrow else computation(function)
    product, swapped = arranged(
        found.dtypes,
        list(found.loops),
        found.summed,
        found.initial,
        found.epilogue,
        found.padding,
        number=lanes,
    )
    first, second, *others = found.operands
    return Dispatch(product, (second, first, *others) if swapped else found.operands)


def _narrowed(found: Computation) -> Computation:
    factors = [2 if dtype == "i16" else 1 for dtype in found.dtypes]

    def narrowed(loop: Loop) -> Loop:
        strides = zip(loop.strides, factors, strict=True)
        return replace(loop, strides=tuple(stride // factor for stride, factor in strides))

    return replace(
        found,
        dtypes=tuple("i8" if dtype == "i16" else dtype for dtype in found.dtypes),
        loops=tuple(map(narrowed, found.loops)),
    )


def computation(function: ir_util.Op) -> Computation:
    """Returns what a dispatch function computes; raises Unsupported if it is not one product with an epilogue."""
    return Reader(function).computation()


class Reader:
    """Reads one operation that sums, and what follows it.

    Attributes:
      ops: all operations of the dispatch function.
      views: the operands; the first two and the result have the numbers of a product's.
      operations: what happens to the sums.
      known: operations that have been read.
    """

    def __init__(self, function: ir_util.Op) -> None:
        self.ops = list(ir_util.walk(function))
        self.views: list[View] = []
        self.operations = Operations(self.table)
        self.known: set[Any] = set()
        # What is padded of the first two operands.
        self._padded: dict[int, padding.Padded] = {}

    def computation(self) -> Computation:
        root = self.only([op for op in self.ops if contraction.read(op) is not None])
        maps = maps_of(root)
        a, b, start = root.operands
        types = (dtype_of(a), dtype_of(b), dtype_of(start))
        is_signed = all(op.name != "arith.extui" for op in ir_util.walk(root))
        if types not in SCHEMES or not (is_signed or types[0] in FLOATS):
            raise Unsupported(f"a product of {' and '.join(types)}")
        self.views = [self._factor(number, each, maps[number]) for number, each in ((A, a), (B, b))]
        # Takes the place of the result, whose map is known at the end.
        self.views.append(self.views[0])
        written = plain(maps[RESULT])
        initial = self.initial(start, written)
        self.finish(root, written)
        return self._computation(root, initial)

    def finish(self, root: Any, written: list[Any]) -> None:
        """Reads what happens to the sums of an operation, and that nothing else happens.

        Args:
          root: the operation.
          written: the loops of its result's axes.
        """
        self.known.add(root)
        self.operations.node(Node("sum", dtype_of(root.results[0])))
        computed = self._elementwise(root.results[0], written)
        self._stores([op for op in self.ops if op.name == STORE], computed)
        for op in self.ops:
            if (
                op.name.startswith(("linalg.", "iree_linalg_ext."))
                and op.name != "linalg.yield"
                and op not in self.known
            ):
                raise Unsupported(f"a dispatch with {op.name}")

    def _factor(self, number: int, value: Any, map_: Any) -> View:
        """Returns the buffer of a factor of the product, which may be padded."""
        padded = padding.read(value, map_)
        if padded is None:
            return View(source_of(value), map_, WIDTHS)
        self._padded[number] = padded
        return padded.view

    @staticmethod
    def only(ops: list[Any]) -> Any:
        if len(ops) != 1 or ops[0].parent.name != "func.func":
            raise Unsupported("a dispatch that is not one sum")
        return ops[0]

    def initial(self, start: Any, written: list[Any]) -> int | None:
        """Returns the operand with the sums' first values, None if they are zeros."""
        maker = ir_util.definition(start)
        filler = _filler(maker)
        if filler is not None:
            value = ir_util.definition(filler)
            if value is None or value.name != "arith.constant" or rescales.number(value) != 0:
                raise Unsupported("sums that start from a number")
            self.known.add(maker)
            return None
        if (
            maker is None
            or maker.name not in ("linalg.generic", "linalg.broadcast")
            or len(maker.operands) != 2
        ):
            raise Unsupported("sums that start from something computed")
        block = maker.regions[0].blocks[0]
        if len(block.operations) != 1 or block.operations[0].operands[0] != block.arguments[0]:
            raise Unsupported("sums that start from something computed")
        self.known.add(maker)
        source, result = maps_of(maker)
        return self.operand(maker.operands[0], substituted(source, loops_of(result, written)))

    def _map(self, indices: Sequence[Any]) -> Any:
        return ir.AffineMap.get(self.views[0].map.n_dims, 0, list(indices))

    def operand(self, value: Any, indices: list[Any]) -> int:
        """Returns the number of an operand that is read at these functions of the root's loops."""
        view = View(source_of(value), self._map(indices))
        for number, known in enumerate(self.views):
            if number > RESULT and known.value == view.value and known.map == view.map:
                return number
        return self._add(view)

    def table(self, value: Any) -> int:
        """Returns the number of an operand that is read at computed places."""
        return self.operand(value, [ir.AffineExpr.get_constant(0)] * value.type.rank)

    def _elementwise(self, sums: Any, written: list[Any]) -> dict[Any, _Computed]:
        """Adds the nodes of what is computed from the sums; returns the tensors of these values."""
        computed = {sums: _Computed(0, tuple(written))}
        for op in self.ops:
            read = [operand for operand in op.operands if operand in computed]
            if not read or op.name == STORE:
                continue
            if op.name != "linalg.generic" or op.parent.name != "func.func":
                raise Unsupported("sums that are read by something else")
            if "reduction" in str(op.attributes["iterator_types"]):
                raise Unsupported("sums that are summed again")
            maps = maps_of(op)
            place = list(op.operands).index(read[0])
            loops = loops_of(maps[place], list(computed[read[0]].indices))
            computed |= self._body(op, computed, [substituted(map_, loops) for map_ in maps])
            self.known.add(op)
        return computed

    def _stores(self, stores: list[Any], computed: dict[Any, _Computed]) -> None:
        """Makes the value that is computed last the result, and adds stores of the others."""
        if any(op.parent.name != "func.func" or op.operands[0] not in computed for op in stores):
            raise Unsupported("a store of something else")
        results = [(computed[op.operands[0]], op.operands[1]) for op in stores]
        self.views[RESULT] = self.operations.store(
            [(each.number, View(buffer, self._map(each.indices))) for each, buffer in results],
            self._add,
        )

    def _add(self, view: View) -> int:
        self.views.append(view)
        return len(self.views) - 1

    def _body(
        self, op: Any, computed: dict[Any, _Computed], indices: list[list[Any]]
    ) -> dict[Any, _Computed]:
        """Adds the nodes of one operation; returns its results."""
        inputs = list(op.operands)[: -len(op.results)]
        block = op.regions[0].blocks[0]
        known: dict[Any, int] = {}
        for place, operand in enumerate(inputs):
            argument = block.arguments[place]
            if operand in computed:
                if tuple(indices[place]) != computed[operand].indices:
                    raise Unsupported("sums that are read at other places")
                known[argument] = computed[operand].number
            elif list(argument.uses):
                dtype = dtype_of(operand)
                if dtype not in TYPES:
                    raise Unsupported(f"an epilogue that reads {dtype}")
                loaded = self.operand(operand, indices[place])
                known[argument] = self.operations.node(Node("load", dtype, operand=loaded))
        *operations, end = [each.operation for each in block.operations]
        for each in operations:
            self.operations.add(each, known)
        numbers = [self.operations.value(value, known) for value in end.operands]
        places = map(tuple, indices[len(inputs) :])
        return dict(zip(op.results, map(_Computed, numbers, places), strict=True))

    def _computation(self, root: Any, initial: int | None) -> Computation:
        if len(self._padded) > 1:
            raise Unsupported("two operands that are padded")
        ((image, padded),) = self._padded.items() or ((A, None),)
        loops = [
            Loop(
                extent,
                tuple(view.stride(number) for view in self.views),
                padded.steps(number) if padded else (),
            )
            for number, extent in enumerate(extents(root))
        ]
        written = {term for index in self.views[RESULT].map.results for term in terms_of(index)}
        return Computation(
            dtypes=tuple(dtype_of(view.value) for view in self.views),
            loops=tuple(loops),
            summed=frozenset(range(len(loops))) - written,
            initial=initial,
            epilogue=typed(clipped(self.operations.nodes)),
            padding=padded.padding(image) if padded else None,
            operands=tuple(view.value for view in self.views),
            windows=_windows(root),
        )


def _filler(maker: Any) -> Any:
    """Returns the number that is all that an operation writes, None if it writes anything else."""
    if maker is None or maker.name == "linalg.fill":
        return maker and maker.operands[0]
    if maker.name != "linalg.generic" or len(maker.operands) != 1:
        return None
    *others, end = maker.regions[0].blocks[0].operations
    return None if others else end.operands[0]


def _windows(root: Any) -> tuple[tuple[int, int], ...]:
    product = contraction.read(root)
    assert product is not None
    return tuple((axis.loop, axis.tap) for axis in product.windows if axis.tap is not None)


def extents(root: Any) -> list[int]:
    """How often each loop runs."""
    extents = contraction.extents(root)
    count = maps_of(root)[0].n_dims
    if sorted(extents) != list(range(count)) or any(extent < 1 for extent in extents.values()):
        raise Unsupported("loops of unknown extents")
    return [extents[loop] for loop in range(count)]
