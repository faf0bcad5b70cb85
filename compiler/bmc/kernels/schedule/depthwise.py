"""Writes the sums of blocks whose lanes are multiplied with lanes, as in a depthwise convolution.

All taps of a window are unrolled. What several rows read at different taps is loaded once for them, and extended if it
is int8, if there are registers for the weights of these taps.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.padding.borders import Borders, OutOfBounds, VerticalEdge, step
from bmc.kernels.problem.product import A, B, Loop, Product, Unsupported
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly


class Depthwise:
    """Writes the sums of blocks. Arguments are those of Accumulate; `shares` tells whether rows may share loads.

    Raises:
      Unsupported: more than one edge is crossed from line to line.
    """

    def __init__(
        self, out: Assembly, product: Product, inner_rows: Loop, borders: Borders, shares: bool
    ) -> None:
        self._out = out
        self._product = product
        self._inner_rows = inner_rows
        self._borders = borders
        self._may_share = shares
        if len(borders.vertical) > 1:
            raise Unsupported("an image that is padded along so many axes")

    def write(self, block: Block, a: str, b: str) -> None:
        """Emits the sums of a block, whose operands begin at the addresses in two registers."""
        out = self._out
        groups = self._groups()
        down = self._borders.vertical
        shared = self._may_share and all(self._is_shared(taps, block) for _, taps in groups)
        rows = 1 if shared else len(block.registers)
        with out.registers(rows + 1 + len(down)) as (column, *registers):
            pointers = registers[len(down) :]
            limits = {
                edge.number: register for edge, register in zip(down, registers, strict=False)
            }
            for edge in down:
                out.set(limits[edge.number], edge.extent)
            out.move(column, b)
            for row, pointer in enumerate(pointers):
                out.move(pointer, pointers[row - 1] if row else a)
                out.add(pointer, self._inner_rows.strides[A] if row else 0)
            at = _Pairs(column, pointers, limits, shared)
            if block.out_of_bounds and len(down) == 1 and len(groups) > 1:
                self._looped(down[0], groups, block, at)
                return
            for number, (crossings, taps) in enumerate(groups):
                end = groups[number + 1][1][0] if number + 1 < len(groups) else None
                self._group(crossings, [*taps, end or taps[-1]], block, at)

    def _looped(
        self,
        edge: VerticalEdge,
        groups: list[tuple[_Crossings, list[_Tap]]],
        block: Block,
        at: _Pairs,
    ) -> None:
        """Writes all groups as one text, which is shorter; blocks at the ends of lines are few."""
        out = self._out
        (_, taps), (((_, away),), (end, *_)), *_ = groups
        with out.registers(1) as (index,):
            out.move(index, block.positions[edge.number])

            def body() -> None:
                self._within(index, edge, [*taps, end], block, at)
                out.add(index, away)

            out.repeat(len(groups), body)

    def _groups(self) -> list[tuple[_Crossings, list[_Tap]]]:
        """Returns all taps, those together that cross edges from line to line at the same indices."""
        borders = self._borders
        crossing = [loop for loop in self._product.summed if borders.crossed(loop)]
        others = [loop for loop in self._product.summed if not borders.crossed(loop)]
        groups: list[tuple[_Crossings, list[_Tap]]] = []
        for outer in _indices(crossing):
            crossings = [
                (edge, number * step(loop, edge.number))
                for loop, number in zip(crossing, outer, strict=True)
                if (edge := borders.crossed(loop))
            ]
            taps = []
            for inner in _indices(others):
                places = list(zip((*crossing, *others), (*outer, *inner), strict=True))
                x, y = (sum(n * loop.strides[each] for loop, n in places) for each in (A, B))
                taps.append(_Tap(x, y, sum(n for loop, n in places if loop is borders.horizontal)))
            groups.append((crossings, taps))
        return groups

    def _group(self, crossings: _Crossings, taps: list[_Tap], block: Block, at: _Pairs) -> None:
        """Multiplies at all taps but the last one, where the addresses are then."""
        if not crossings:
            self._multiply(taps, block, at)
            return
        ((edge, away),) = crossings
        with self._out.registers(1) as (index,):
            self._out.emit(rvv.add_immediate(index, block.positions[edge.number], away))
            self._within(index, edge, taps, block, at)

    def _within(
        self, index: str, edge: VerticalEdge, taps: list[_Tap], block: Block, at: _Pairs
    ) -> None:
        """Multiplies with the image or with what is around it, whichever is at an index along an edge."""
        out = self._out

        def outside() -> None:
            if block.pad_value:
                self._fill(taps, block, at.column)
            out.add(at.column, taps[-1].b - taps[0].b)
            for pointer in at.rows:
                out.add(pointer, taps[-1].a - taps[0].a)

        inside = lambda: self._multiply(taps, block, at)  # noqa: E731
        out.within(index, at.limits[edge.number], inside, outside)

    def _fill(self, taps: list[_Tap], block: Block, column: str) -> None:
        """Multiplies with what is read outside of the image at all taps but the last one, but does not move."""
        out = self._out
        half = max(1, block.lanes.lmul // 2)
        moves = [after.b - tap.b for tap, after in zip(taps, taps[1:-1], strict=False)]

        def one(move: int) -> None:
            if not self._product.scheme.extends_integers:
                out.emit(rvv.transfer(False, 16, "v0", column))
                out.add(column, move)
            else:
                out.emit(rvv.transfer(False, 8, f"v{2 * half}", column))
                out.add(column, move)
                out.emit(rvv.extend(2, "v0", f"v{2 * half}"))
            for register in block.registers:
                out.emit(rvv.multiply_add("vwmacc", f"v{register}", block.pad_value, "v0"))

        for move, alike in itertools.groupby(moves):
            out.repeat(len(list(alike)), functools.partial(one, move))
        one(taps[0].b - taps[-2].b)

    def _multiply(self, taps: list[_Tap], block: Block, at: _Pairs) -> None:
        """Multiplies at all taps but the last one."""
        if at.shared:
            self._multiply_shared(taps, block, at)
            return
        out = self._out
        lmul = block.lanes.lmul
        half = max(1, lmul // 2)
        image, narrow = (half, 2 * half) if self._product.scheme.widens else (lmul, 0)
        *taps, end = taps

        def load(number: int, to: int, pointer: str, move: int) -> None:
            width = WIDTHS[self._product.dtypes[number]]
            out.emit(rvv.transfer(False, 8 * width, f"v{narrow if width == 1 else to}", pointer))
            out.add(pointer, move)
            if width == 1:
                out.emit(rvv.extend(2, f"v{to}", f"v{narrow}"))

        def load_weight(pointer: str, move: int) -> None:
            if self._product.scheme.extends_floats:
                load(B, image, pointer, move)
                extend(out, block, f"v{image}", "v0")
            else:
                load(B, 0, pointer, move)

        # Where each row's address goes, tap by tap.
        ways = []
        for row, pointer in enumerate(at.rows):
            ways.append([tap.a for tap in taps if (row, tap.x) not in block.out_of_bounds])
            ways[row].append(end.a)
            out.add(pointer, ways[row][0] - taps[0].a)
        for tap, following in zip(taps, [*taps[1:], end], strict=True):
            load_weight(at.column, following.b - tap.b)
            for row, register in enumerate(block.registers):
                if (row, tap.x) not in block.out_of_bounds:
                    x = ways[row].pop(0)
                    load(A, image, at.rows[row], ways[row][0] - x)
                    multiply = self._product.scheme.multiply
                    out.emit(rvv.multiply_add(multiply, f"v{register}", f"v{image}", "v0"))
                elif block.pad_value:
                    out.emit(rvv.multiply_add("vwmacc", f"v{register}", block.pad_value, "v0"))

    def _places(self, taps: list[_Tap], block: Block) -> dict[int, list[tuple[int, int]]]:
        """Returns which rows multiply what is at each distance in `a`, with the numbers of their taps."""
        places: dict[int, list[tuple[int, int]]] = {}
        for number, tap in enumerate(taps):
            for row in range(len(block.registers)):
                if (row, tap.x) not in block.out_of_bounds:
                    place = row * self._inner_rows.strides[A] + tap.a
                    places.setdefault(place, []).append((row, number))
        return dict(sorted(places.items()))

    def _is_shared(self, taps: list[_Tap], block: Block) -> bool:
        """Whether rows read the same numbers, and there are registers for the weights of the taps that do."""
        places = self._places(taps, block)
        free = weights(block.lanes.lmul, min(block.registers), self._product.scheme.widens)
        readers = list(places.values())
        return len(places) < sum(map(len, readers)) and _at_a_time(readers) <= free

    def _multiply_shared(self, taps: list[_Tap], block: Block, at: _Pairs) -> None:
        """Multiplies at all taps but the last one: what is at one place after the other, for all rows that read it."""
        out = self._out
        (pointer,) = at.rows
        *taps, end = taps
        widens = self._product.scheme.widens
        size, other = _operands(block.lanes.lmul, widens)
        count = weights(block.lanes.lmul, min(block.registers), widens)
        free = [f"v{(other + number) * size}" for number in range(count)]
        multiply = self._product.scheme.multiply
        held: dict[int, str] = {}
        column, image = taps[0].b, taps[0].a

        def load(number: int, to: str, address: str) -> None:
            width = WIDTHS[self._product.dtypes[number]]
            out.emit(rvv.transfer(False, 8 * width, to if width > 1 else f"v{size}", address))
            if width == 1:
                out.emit(rvv.extend(2, to, f"v{size}"))

        def load_weight(to: str) -> None:
            if self._product.scheme.extends_floats:
                # The image that is there has been multiplied.
                load(B, "v0", at.column)
                extend(out, block, "v0", to)
            else:
                load(B, to, at.column)

        places = self._places(taps, block)
        last = {tap: place for place, readers in places.items() for _, tap in readers}
        for place, readers in places.items():
            for _, number in readers:
                if number in held:
                    continue
                held[number] = free.pop()
                out.add(at.column, taps[number].b - column)
                column = taps[number].b
                load_weight(held[number])
                self._fill_out_of_bounds(taps[number], held[number], block)
            out.add(pointer, place - image)
            image = place
            load(A, "v0", pointer)
            for row, number in readers:
                out.emit(rvv.multiply_add(multiply, f"v{block.registers[row]}", "v0", held[number]))
            free += [held.pop(tap) for tap in list(held) if last[tap] == place]
        for number, tap in enumerate(taps):
            if number not in last and block.pad_value:
                out.add(at.column, tap.b - column)
                column = tap.b
                load(B, "v0", at.column)
                self._fill_out_of_bounds(tap, "v0", block)
        out.add(at.column, end.b - column)
        out.add(pointer, end.a - image)

    def _fill_out_of_bounds(self, tap: _Tap, weight: str, block: Block) -> None:
        """Multiplies with what is read outside of the image, for the rows that are outside at a tap."""
        for row, register in enumerate(block.registers):
            if block.pad_value and (row, tap.x) in block.out_of_bounds:
                self._out.emit(rvv.multiply_add("vwmacc", f"v{register}", block.pad_value, weight))


def cost(
    inner_rows: Loop,
    taps: Loop,
    block: tuple[int, OutOfBounds],
    load: tuple[float, float],
    free: int,
) -> float:
    """Returns the instructions at the taps along one line of a window, about.

    Args:
      line: the loop over rows.
      taps: those of the window that the rows may share.
      block: its rows, and what they miss.
      load: instructions to load a group of `a`, and one of `b`.
      free: how many groups of weights there are registers for, 0 if rows do not share what they read.
    """
    rows, out_of_bounds = block
    places: dict[int, list[tuple[int, int]]] = {}
    for row, tap in itertools.product(range(rows), range(taps.extent)):
        if (row, tap) not in out_of_bounds:
            place = row * inner_rows.strides[A] + tap * taps.strides[A]
            places.setdefault(place, []).append((row, tap))
    readers = [each for _, each in sorted(places.items())]
    products = sum(map(len, readers))
    read = len(readers) if _at_a_time(readers) <= free else products
    image, weight = load
    return weight * taps.extent + image * read + products


def extend(out: Assembly, block: Block, source: str, to: str) -> None:
    """Emits the extension of a group of f16 to f32."""
    block.lanes.use(out, 16)
    out.emit(rvv.extend_float(to, source))
    block.lanes.use(out, 32)


def weights(lmul: int, free: int, widens: bool) -> int:
    """Returns how many groups of weights there are at a time in so many registers, beside one of the image."""
    size, other = _operands(lmul, widens)
    return max(0, free // size - other)


def _operands(lmul: int, widens: bool) -> tuple[int, int]:
    """Returns the registers of a group of operands, and how many of these are not weights.

    One is the image, and int8 has another one that it is extended from.
    """
    return (max(1, lmul // 2), 2) if widens else (lmul, 1)


def _at_a_time(places: list[list[tuple[int, int]]]) -> int:
    """Returns the same of the rows and taps that read each place."""
    taps = [{tap for _, tap in readers} for readers in places]
    return max(
        (
            len(set().union(*taps[: number + 1]) & set().union(*taps[number:]))
            for number in range(len(taps))
        ),
        default=0,
    )


@dataclass(frozen=True, slots=True)
class _Tap:
    """One place of a window: its distances in `a` and `b`, and its number along a line."""

    a: int
    b: int
    x: int


@dataclass(frozen=True)
class _Pairs:
    """Registers.

    Attributes:
      column: the address in `b`.
      rows: the address in `a` for each row, or of the first one if they share what they read.
      limits: how many indices are in the image along each edge from line to inner_rows, by its number.
      shared: whether they do.
    """

    column: str
    rows: list[str]
    limits: dict[int, str]
    shared: bool


# Edges from line to line, and the index of a tap along each.
_Crossings = list[tuple[VerticalEdge, int]]


def _indices(loops: list[Loop]) -> Iterator[tuple[int, ...]]:
    """Yields the numbers of all iterations."""
    return itertools.product(*(range(loop.extent) for loop in loops))
