"""Reads a dispatch function on buffers as a product."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util
from bmc.kernels.dtypes import FLOATS, SCHEMES, TYPES, WIDTHS
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Padding, Product
from bmc.kernels.problem.roles import arranged
from bmc.kernels.read import padding, rescales
from bmc.kernels.read.body import Operations
from bmc.kernels.read.halves import typed
from bmc.kernels.read.requantize import with_requantize
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
from bmc.kernels.unsupported import Unsupported


@dataclass(frozen=True)
class Computation:
    """A product with IREE's loops, before they are assigned to roles.

    Attributes:
      dtypes, initial, epilogue, padding: as in Product.
      loops: all loops, outermost first.
      summed: indices of the summed loops.
      operands: buffers or constant tensors: the two factors, the result, and the operands of the epilogue.
      windows: pairs of a loop over pixels of the result and the loop over taps of the window that slides along it.
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
    """A product and its operands: buffers or constant tensors."""

    product: Product
    operands: tuple[Any, ...]


@dataclass(frozen=True)
class _Computed:
    """A tensor that is computed from the sums.

    Attributes:
      number: number of its node.
      indices: the indices of each element, as functions of the root's loops.
    """

    number: int
    indices: tuple[Any, ...]


def read(function: ir_util.Op, lanes: int = 0, narrow: bool = False) -> Dispatch:
    """Returns the product of a dispatch function.

    Args:
      function: the function of the dispatch.
      lanes: which of the possible loops is lanes, as `number` of roles.arranged().
      narrow: whether to read int16 weights as if they were int8, to compare both.

    Raises:
      Unsupported: the function is not a single product with an epilogue, or has unsupported types or operations.
    """
    problem = _narrowed(computation(function)) if narrow else computation(function)
    product, swapped = arranged(
        problem.dtypes,
        list(problem.loops),
        problem.summed,
        problem.initial,
        problem.epilogue,
        problem.padding,
        number=lanes,
    )
    first, second, *others = problem.operands
    return Dispatch(product, (second, first, *others) if swapped else problem.operands)


def _narrowed(wide: Computation) -> Computation:
    """Returns a computation with int8 in place of int16."""
    factors = [2 if dtype == "i16" else 1 for dtype in wide.dtypes]

    def narrowed(loop: Loop) -> Loop:
        strides = zip(loop.strides, factors, strict=True)
        return replace(loop, strides=tuple(stride // factor for stride, factor in strides))

    return replace(
        wide,
        dtypes=tuple("i8" if dtype == "i16" else dtype for dtype in wide.dtypes),
        loops=tuple(map(narrowed, wide.loops)),
    )


def computation(function: ir_util.Op) -> Computation:
    """Returns the computation of a dispatch function; raises Unsupported if it is not a product with an epilogue."""
    return Reader(function).computation()


class Reader:
    """Reads the operation that sums, called the root, and its epilogue.

    Attributes:
      ops: all operations of the dispatch function.
      views: the operands, by number as in Product.
      operations: collects the nodes of the epilogue.
      known: the operations of the function that have been read.
      start: the constant that all sums start from, None if it is zero; the epilogue adds it.
    """

    def __init__(self, function: ir_util.Op) -> None:
        self.ops = list(ir_util.walk(function))
        self.views: list[View] = []
        self.operations = Operations(self.table)
        self.known: set[Any] = set()
        self.start: Any = None
        # The padded ones of the first two operands.
        self._padded_operands: dict[int, padding.Padded] = {}

    def computation(self) -> Computation:
        """Reads a product."""
        root = self.only([op for op in self.ops if contraction.read(op) is not None])
        maps = maps_of(root)
        a, b, start = root.operands
        types = (dtype_of(a), dtype_of(b), dtype_of(start).replace("bf16", "f32"))
        is_signed = all(op.name != "arith.extui" for op in ir_util.walk(root))
        is_known = any((each.a, each.b, each.accumulator) == types for each in SCHEMES)
        if not is_known or not (is_signed or types[0] in FLOATS):
            raise Unsupported(f"a product of {' and '.join(types)}")
        self.views = [self._factor(number, each, maps[number]) for number, each in ((A, a), (B, b))]
        # A placeholder for the result, whose map is read last.
        self.views.append(self.views[0])
        result_loops = plain(maps[RESULT])
        initial = self.initial(start, result_loops)
        self.finish(root, result_loops)
        return self._computation(root, initial)

    def finish(self, root: Any, result_loops: list[Any]) -> None:
        """Reads the epilogue and the stores; raises Unsupported if there are other operations.

        Args:
          root: the operation that sums.
          result_loops: its loops along the axes of its result.
        """
        self.known.add(root)
        dtype = dtype_of(root.results[0])
        total = self.operations.node(Node("sum", dtype))
        if self.start is not None:
            start = self.operations.value(self.start, {})
            name = "addf" if dtype in FLOATS else "addi"
            total = self.operations.node(Node(name, dtype, (total, start)))
        sums = _Computed(total, tuple(result_loops))
        computed = self._elementwise({root.results[0]: sums})
        self._stores([op for op in self.ops if op.name == STORE], computed)
        for op in self.ops:
            if (
                op.name.startswith(("linalg.", "iree_linalg_ext."))
                and op.name != "linalg.yield"
                and op not in self.known
            ):
                raise Unsupported(f"a dispatch with {op.name}")

    def _factor(self, number: int, value: Any, map_: Any) -> View:
        """Returns the view of a factor of the product; notes its padding if it has any."""
        padded = padding.read(value, map_)
        if padded is None:
            source, indices = source_of(value, list(map_.results))
            return View(source, ir.AffineMap.get(map_.n_dims, 0, indices), WIDTHS)
        self._padded_operands[number] = padded
        return padded.view

    @staticmethod
    def only(ops: list[Any]) -> Any:
        """Returns the only operation of a list."""
        if len(ops) != 1 or ops[0].parent.name != "func.func":
            raise Unsupported("a dispatch that is not a single product or reduction")
        return ops[0]

    def initial(self, start: Any, result_loops: list[Any]) -> int | None:
        """Returns the number of the operand with the initial values of sums, None if they are a constant.

        Args:
          start: the tensor with the initial values.
          result_loops: as in finish().
        """
        owner = ir_util.definition(start)
        fill = _filler(owner)
        if fill is not None:
            value = ir_util.definition(fill)
            if value is None or value.name != "arith.constant":
                raise Unsupported("sums with computed initial values")
            if rescales.number(value) != 0:
                self.start = fill
            self.known.add(owner)
            return None
        if (
            owner is None
            or owner.name not in ("linalg.generic", "linalg.broadcast")
            or len(owner.operands) != 2
        ):
            raise Unsupported("sums with computed initial values")
        block = owner.regions[0].blocks[0]
        if len(block.operations) != 1 or block.operations[0].operands[0] != block.arguments[0]:
            raise Unsupported("sums with computed initial values")
        self.known.add(owner)
        source, result = maps_of(owner)
        return self.operand(owner.operands[0], substituted(source, loops_of(result, result_loops)))

    def _map(self, indices: Sequence[Any]) -> Any:
        """Returns an affine map from the root's loops to indices."""
        return ir.AffineMap.get(self.views[0].map.n_dims, 0, list(indices))

    def operand(self, value: Any, indices: list[Any]) -> int:
        """Returns the number of the operand that is read at `indices`, functions of the root's loops."""
        source, indices = source_of(value, indices)
        view = View(source, self._map(indices))
        for number, known in enumerate(self.views):
            if number > RESULT and known.value == view.value and known.map == view.map:
                return number
        return self._add(view)

    def table(self, value: Any) -> int:
        """Returns the number of an operand that is read at computed indices."""
        return self.operand(value, [ir.AffineExpr.get_constant(0)] * value.type.rank)

    def _elementwise(self, sums: dict[Any, _Computed]) -> dict[Any, _Computed]:
        """Adds the nodes of the epilogue that reads sums; returns all tensors that are computed."""
        computed = dict(sums)
        for op in self.ops:
            read = [operand for operand in op.operands if operand in computed]
            if not read or op.name == STORE:
                continue
            if op.name != "linalg.generic" or op.parent.name != "func.func":
                raise Unsupported(f"sums that {op.name} reads")
            if "reduction" in str(op.attributes["iterator_types"]):
                raise Unsupported("sums that are reduced again")
            maps = maps_of(op)
            index = list(op.operands).index(read[0])
            loops = loops_of(maps[index], list(computed[read[0]].indices))
            computed |= self._body(op, computed, [substituted(map_, loops) for map_ in maps])
            self.known.add(op)
        return computed

    def _stores(self, stores: list[Any], computed: dict[Any, _Computed]) -> None:
        """Makes the value that is computed last the result, and adds store nodes for the others."""
        if any(op.parent.name != "func.func" or op.operands[0] not in computed for op in stores):
            raise Unsupported("a store of a tensor that is not computed from the sums")
        results = [(computed[op.operands[0]], op.operands[1]) for op in stores]
        self.views[RESULT] = self.operations.store(
            [(each.number, View(buffer, self._map(each.indices))) for each, buffer in results],
            self._add,
        )

    def _add(self, view: View) -> int:
        """Adds an operand; returns its number."""
        self.views.append(view)
        return len(self.views) - 1

    def _body(
        self, op: Any, computed: dict[Any, _Computed], indices: list[list[Any]]
    ) -> dict[Any, _Computed]:
        """Adds the nodes of an operation whose operands are read at `indices`; returns its results."""
        inputs = list(op.operands)[: -len(op.results)]
        block = op.regions[0].blocks[0]
        known: dict[Any, int] = {}
        for index, operand in enumerate(inputs):
            argument = block.arguments[index]
            if operand in computed:
                if tuple(indices[index]) != computed[operand].indices:
                    raise Unsupported("sums that are read at other indices")
                known[argument] = computed[operand].number
            elif list(argument.uses):
                dtype = dtype_of(operand)
                if dtype not in TYPES:
                    raise Unsupported(f"an epilogue that reads {dtype}")
                loaded = self.operand(operand, indices[index])
                known[argument] = self.operations.node(Node("load", dtype, operand=loaded))
        *operations, end = [each.operation for each in block.operations]
        for each in operations:
            self.operations.add(each, known)
        numbers = [self.operations.value(value, known) for value in end.operands]
        result_indices = map(tuple, indices[len(inputs) :])
        return dict(zip(op.results, map(_Computed, numbers, result_indices), strict=True))

    def _computation(self, root: Any, initial: int | None) -> Computation:
        if len(self._padded_operands) > 1:
            raise Unsupported("two padded operands")
        ((image, padded),) = self._padded_operands.items() or ((A, None),)
        loops = [
            Loop(
                extent,
                tuple(view.stride(number) for view in self.views),
                padded.steps(number) if padded else (),
            )
            for number, extent in enumerate(extents(root))
        ]
        parallel = {term for index in self.views[RESULT].map.results for term in terms_of(index)}
        return Computation(
            dtypes=tuple(dtype_of(view.value) for view in self.views),
            loops=tuple(loops),
            summed=frozenset(range(len(loops))) - parallel,
            initial=initial,
            epilogue=typed(with_requantize(self.operations.nodes)),
            padding=padded.padding(image) if padded else None,
            operands=tuple(view.value for view in self.views),
            windows=_windows(root),
        )


def _filler(owner: Any) -> Any:
    """Returns the value with which an operation fills its result, None if it does anything else."""
    if owner is None or owner.name == "linalg.fill":
        return owner and owner.operands[0]
    if owner.name != "linalg.generic" or len(owner.operands) != 1:
        return None
    *others, end = owner.regions[0].blocks[0].operations
    return None if others else end.operands[0]


def _windows(root: Any) -> tuple[tuple[int, int], ...]:
    product = contraction.read(root)
    assert product is not None
    return tuple((axis.loop, axis.tap) for axis in product.windows if axis.tap is not None)


def extents(root: Any) -> list[int]:
    """Returns the extent of each loop of an operation."""
    extents = contraction.extents(root)
    count = maps_of(root)[0].n_dims
    if sorted(extents) != list(range(count)) or any(extent < 1 for extent in extents.values()):
        raise Unsupported("loops of unknown extents")
    return [extents[loop] for loop in range(count)]
