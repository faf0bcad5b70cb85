"""Kernels that compute each element from one element of each operand, or only move elements.

IREE moves bytes one at a time where their order changes, and at most a few registers of anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels import epilogue
from bmc.kernels.arranging import merged, needed, with_scalars
from bmc.kernels.assembly import Assembly, Kernel
from bmc.kernels.choice import DEFAULT, Choice
from bmc.kernels.clips import clipped
from bmc.kernels.constants import Constants, hoisted
from bmc.kernels.halves import typed
from bmc.kernels.lanes import Lanes, transfer
from bmc.kernels.operations import Operations
from bmc.kernels.product import (
    RESULT,
    TYPES,
    WIDTHS,
    Loop,
    Node,
    Unsupported,
    apart,
    is_half,
)
from bmc.kernels.views import STORE, View, dtype_of, loops_of, maps_of, source_of, substituted

_REGISTERS = 32
_FLOATS = 31
# Integer registers for lengths, distances, and the turns of loops.
_COUNTERS = 8
# With more operands, their addresses are in memory.
_MOST_ARGUMENTS = 8
# Fewer elements than this are not worth a group of registers.
_FEWEST = 8
# Lines of lanes in one turn of the innermost loop, if they only move.
_TURNS = 4
# To compare loops: lanes of a group, instructions around its operations, and those that an element costs in memory if
# its neighbors are elsewhere.
_LANES = 64
_AROUND = 8
_GAP = 0.25
_NAMES = ("linalg.generic", "linalg.transpose", "linalg.broadcast", "linalg.copy")


@dataclass(frozen=True)
class Elementwise:
    """result[outer, lane] = value(operands[outer, lane]).

    Attributes:
      dtypes: element type of each operand, by their numbers in the nodes; the first two are nothing.
      outer: loops around the lanes.
      lanes: the loop that runs in vectors.
      nodes: the values; the last one is stored.
    """

    dtypes: tuple[str, ...]
    outer: tuple[Loop, ...]
    lanes: Loop
    nodes: tuple[Node, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, of which each may be cut."""
        return (*self.outer, self.lanes)

    def cut(self, number: int, extent: int) -> Elementwise:
        """Returns a piece: so many iterations of one of the loops, beginning anywhere."""
        *outer, lanes = (
            replace(loop, extent=extent) if each == number else loop
            for each, loop in enumerate(self.loops)
        )
        return replace(self, outer=tuple(outer), lanes=lanes)


def read(function: ir_util.Op, lanes: int = 0) -> tuple[Elementwise, tuple[Any, ...]]:
    """Returns what a dispatch function does, and its operands: the result first, as buffers or constants.

    Args:
      function: the dispatch.
      lanes: which of its loops runs in vectors, from 0, the one that seems to be the cheapest.

    Raises:
      Unsupported: it does anything else.
    """
    ops = list(ir_util.walk(function))
    stores = [op for op in ops if op.name == STORE]
    computes = [op for op in ops if op.name.startswith(("linalg.", "iree_linalg_ext."))]
    computes = [op for op in computes if op.name not in ("linalg.yield", "linalg.index")]
    if len(computes) == 1 and not stores and not computes[0].results:
        # It works on buffers.
        *_, value = computes[0].operands
        stored = {value: value}
    elif stores and all(op.parent.name == "func.func" for op in stores) and len(computes) < 2:
        stored = {op.operands[0]: op.operands[1] for op in stores}
        value = stores[0].operands[0]
    else:
        raise Unsupported("a dispatch that is not one operation")
    rank = value.type.rank
    loops = [ir.AffineExpr.get_dim(n) for n in range(rank)]
    # Takes the place of the result.
    views = [View(stored[value], ir.AffineMap.get(rank, 0, loops))]

    def add(view: View) -> int:
        views.append(view)
        return RESULT + len(views) - 1

    def view_of(operand: Any, indices: list[Any]) -> View:
        return View(operand, ir.AffineMap.get(rank, 0, indices))

    def table(operand: Any) -> int:
        zeros = [ir.AffineExpr.get_constant(0)] * operand.type.rank
        return add(view_of(source_of(operand), zeros))

    operations = Operations(table)

    def load(operand: Any, indices: list[Any]) -> int:
        dtype = dtype_of(operand)
        if dtype not in TYPES:
            raise Unsupported(f"an operation that reads {dtype}")
        number = add(view_of(source_of(operand), indices))
        return operations.node(Node("load", dtype, operand=number))

    if computes:
        (op,) = computes
        made = list(op.results) or [value]
        if op.name not in _NAMES or not set(stored) <= set(made):
            raise Unsupported(f"a dispatch with {op.name}")
        if "reduction" in str(op.attributes.get("iterator_types", "")):
            raise Unsupported("a reduction")
        maps = maps_of(op)
        inputs, results = maps[: -len(made)], maps[-len(made) :]
        loops = loops_of(results[made.index(value)], loops)
        block = op.regions[0].blocks[0]
        known = {
            argument: load(operand, substituted(map_, loops))
            for argument, operand, map_ in zip(block.arguments, op.operands, inputs, strict=False)
            if list(argument.uses)
        }
        *body, end = [each.operation for each in block.operations]
        for each in body:
            operations.add(each, known)
        computed = [
            (operations.value(last, known), view_of(stored[each], substituted(map_, loops)))
            for each, last, map_ in zip(made, end.operands, results, strict=True)
            if each in stored
        ]
        views[0] = operations.store(computed, add)
    elif len(stores) == 1:
        load(value, loops)
    else:
        raise Unsupported("several results that are only moved")
    dtypes = ("", "", *(dtype_of(view.value) for view in views))
    extents = list(value.type.shape)
    found = [
        Loop(extent, (0, 0, *(view.stride(number) for view in views)))
        for number, extent in enumerate(extents)
    ]
    it = arranged(dtypes, found, typed(clipped(operations.nodes)), lanes)
    return it, tuple(view.value for view in views)


def arranged(
    dtypes: tuple[str, ...], loops: list[Loop], nodes: Sequence[Node], number: int = 0
) -> Elementwise:
    """Chooses the loop that is lanes, as read() does; raises Unsupported if all are short."""
    found = merged(loops)
    long = [loop for loop in found if loop.extent >= _FEWEST]
    if not long:
        raise Unsupported("few elements")
    if number >= len(long):
        raise Unsupported(f"only {len(long)} loops that can be lanes")

    def seems(lanes: Loop) -> float:
        outer = tuple(loop for loop in found if loop is not lanes)
        gaps = len(apart(dtypes, lanes, range(RESULT, len(dtypes))))
        elements = lanes.extent * math.prod(loop.extent for loop in outer)
        groups = math.prod(loop.extent for loop in outer) * math.ceil(lanes.extent / _LANES)
        return groups * (_AROUND + len(nodes)) + gaps * elements * _GAP

    lanes = sorted(long, key=seems)[number]
    outer = tuple(loop for loop in found if loop is not lanes)
    return Elementwise(dtypes, outer, lanes, needed(with_scalars(tuple(nodes), lanes)))


def write(elementwise: Elementwise, vlen: int, xlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: there are operations or operands that a kernel cannot have.
    """
    return _Writer(elementwise, vlen, xlen, choice).kernel()


class _Writer:
    def __init__(self, elementwise: Elementwise, vlen: int, xlen: int, choice: Choice) -> None:
        self._it = elementwise
        self._word = xlen // 8
        operands = range(RESULT, len(elementwise.dtypes))
        self._in_memory = len(operands) > _MOST_ARGUMENTS
        self._out = Assembly(1 if self._in_memory else len(operands))
        # What moves from lanes to lanes, by an operand that moves like it: its address, or the distance from where it
        # began, which several operands share.
        self._moving = dict(zip(operands, self._out.arguments, strict=False))
        if self._in_memory:
            self._moving = {
                number: self._out.register() for number in self._distances(operands).values()
            }
            self._address = self._out.register()
        nodes = elementwise.nodes
        # Elements that only move keep their width.
        self._moves = len(nodes) == 1 and nodes[0].op == "load"
        self._bits = 8 * WIDTHS[nodes[0].dtype] if self._moves or is_half(nodes) else 32
        fits = [
            lmul
            for lmul in ((choice.lmul,) if choice.lmul else (8, 4, 2, 1))
            if self._moves or epilogue.temporaries(nodes, lmul) <= _REGISTERS // lmul
        ]
        if not fits:
            raise Unsupported("registers")
        # Elements that are no neighbors take cycles for all lanes of a group, also for those that are not in use.
        enough = [lmul for lmul in fits if lmul * vlen >= elementwise.lanes.extent * self._bits]
        self._lmul = (enough or fits[:1])[-1]
        self._widest = self._lmul * vlen // self._bits
        self._apart = apart(
            elementwise.dtypes, elementwise.lanes, range(RESULT, len(elementwise.dtypes))
        )
        self._constants: Constants = {}

    def kernel(self) -> Kernel:
        out = self._out
        if self._in_memory:
            for register in self._moving.values():
                out.set(register, 0)
        self._constants = hoisted(out, self._it.nodes, _FLOATS, _COUNTERS)
        whole, left = divmod(self._it.lanes.extent, self._widest)
        with out.registers(1) as (length,):
            count = left or self._widest
            lanes = Lanes(count, self._lmul, length, self._apart, bits=self._bits)
            if whole + bool(left) == 1:
                self._use(lanes)
                self._over(self._it.outer, 0, lambda: self._piece(lanes))
            else:

                def line() -> None:
                    if whole:
                        full = replace(lanes, count=self._widest)
                        self._use(full)
                        out.repeat(whole, lambda: self._move(full))
                    if left:
                        self._use(lanes)
                        self._move(lanes)

                self._over(self._it.outer, self._it.lanes.extent, line)
        return out.kernel(in_memory=self._in_memory)

    def _distances(self, operands: range) -> dict[tuple[int, ...], int]:
        """Returns an operand for each way in which some of them move."""
        loops = (*self._it.outer, self._it.lanes)
        strides = {tuple(loop.strides[n] for loop in loops): n for n in operands}
        return {each: number for each, number in strides.items() if any(each)}

    def _at(self, operand: int) -> str:
        """Returns the register with an operand's address."""
        out = self._out
        if not self._in_memory:
            return self._moving[operand]
        loops = (*self._it.outer, self._it.lanes)
        load, place = "ld" if self._word == 8 else "lw", (operand - RESULT) * self._word
        out.emit(f"{load} {self._address}, {place}({out.arguments[0]})")
        for number, distance in self._moving.items():
            if all(loop.strides[number] == loop.strides[operand] for loop in loops):
                out.emit(f"add {self._address}, {self._address}, {distance}")
        return self._address

    def _use(self, lanes: Lanes) -> None:
        self._out.set(lanes.length, lanes.count)
        lanes.use(self._out, self._bits)

    def _over(self, loops: tuple[Loop, ...], moved: int, line: Callable[[], None]) -> None:
        """Runs over all lines of lanes; each moves the addresses by so many lanes."""
        if not loops:
            line()
            return
        first, *rest = loops
        inner = rest[0] if rest else self._it.lanes
        done = inner.extent if rest else moved

        def body() -> None:
            self._over(tuple(rest), moved, line)
            for number, address in self._moving.items():
                self._out.add(address, first.strides[number] - done * inner.strides[number])

        def several(times: int) -> None:
            for _ in range(times):
                body()

        times = _TURNS if self._moves and not rest else 1
        turns, left = divmod(first.extent, times)
        if turns:
            self._out.repeat(turns, lambda: several(times))
        several(left)

    def _move(self, lanes: Lanes) -> None:
        """Emits some lanes, and moves to those behind them."""
        self._piece(lanes)
        for number, address in self._moving.items():
            self._out.add(address, lanes.count * self._it.lanes.strides[number])

    def _piece(self, lanes: Lanes) -> None:
        if not self._moves:
            groups = list(range(_REGISTERS // self._lmul))
            epilogue.emit(self._out, self._it.nodes, -1, groups, self._at, lanes, self._constants)
            return
        number = self._it.nodes[0].operand
        for name, operand in (("vl", number), ("vs", RESULT)):
            address = self._at(operand)
            transfer(self._out, name, self._bits, 0, operand, address, lanes)
