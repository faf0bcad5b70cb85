"""Writes the summed loops of depthwise products: `a` and `b` are both loaded as vectors.

All taps of a window are unrolled. Pixels that several rows read at different taps are loaded, and widened, only once
if there are enough registers to keep the weights of these taps.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.padding.borders import Borders, VerticalEdge, step
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.schedule.pixel_sharing import live_weights, operands, weight_groups
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import REGISTERS
from bmc.kernels.unsupported import Unsupported


class Depthwise:
    """Writes the summed loops of row blocks.

    Args:
      out, product, inner_rows, borders: as in Accumulate.
      shares: whether rows may share loads of `a`.

    Raises:
      Unsupported: the image has more than one vertical edge.
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
            raise Unsupported("an image that is padded along too many axes")

    def write(self, block: Block, a: str, b: str) -> None:
        """Emits the summed loops of a row block; registers `a` and `b` hold the addresses of its operands."""
        out = self._out
        window_rows = self._window_rows()
        vertical = self._borders.vertical
        shared = self._may_share and all(self._is_shared(taps, block) for _, taps in window_rows)
        rows = 1 if shared else len(block.accumulators)
        with (
            out.registers(1) as (b_pointer,),
            out.registers(len(vertical)) as limit_registers,
            out.registers(rows) as a_pointers,
        ):
            numbers = (edge.number for edge in vertical)
            limits = dict(zip(numbers, limit_registers, strict=True))
            for edge in vertical:
                out.set(limits[edge.number], edge.extent)
            out.move(b_pointer, b)
            for row, pointer in enumerate(a_pointers):
                out.move(pointer, a_pointers[row - 1] if row else a)
                out.add(pointer, self._inner_rows.strides[A] if row else 0)
            pointers = _Pointers(a_pointers, b_pointer, limits, shared)
            if block.out_of_bounds and len(vertical) == 1 and len(window_rows) > 1:
                self._as_loop(vertical[0], window_rows, block, pointers)
                return
            for number, (vertical_indices, taps) in enumerate(window_rows):
                end = window_rows[number + 1][1][0] if number + 1 < len(window_rows) else taps[-1]
                self._window_row(vertical_indices, [*taps, end], block, pointers)

    def _as_loop(
        self,
        edge: VerticalEdge,
        window_rows: list[tuple[_VerticalIndices, list[_Tap]]],
        block: Block,
        pointers: _Pointers,
    ) -> None:
        """Emits all rows of the window as a loop: slower but shorter, for the few blocks at both ends of a line."""
        out = self._out
        # The second row of the window tells how far each iteration moves.
        taps, end = window_rows[0][1], window_rows[1][1][0]
        ((_, index_step),) = window_rows[1][0]
        with out.registers(1) as (index,):
            out.move(index, block.positions[edge.number])

            def body() -> None:
                self._within(index, edge, [*taps, end], block, pointers)
                out.add(index, index_step)

            out.repeat(len(window_rows), body)

    def _window_rows(self) -> list[tuple[_VerticalIndices, list[_Tap]]]:
        """Returns the rows of the window: taps with the same indices along vertical edges, and these indices."""
        borders = self._borders
        vertical_loops = [loop for loop in self._product.summed if borders.crossed(loop)]
        other_loops = [loop for loop in self._product.summed if not borders.crossed(loop)]
        window_rows: list[tuple[_VerticalIndices, list[_Tap]]] = []
        for outer in _indices(vertical_loops):
            vertical_indices = [
                (edge, number * step(loop, edge.number))
                for loop, number in zip(vertical_loops, outer, strict=True)
                if (edge := borders.crossed(loop))
            ]
            taps = []
            for inner in _indices(other_loops):
                iteration = list(
                    zip((*vertical_loops, *other_loops), (*outer, *inner), strict=True)
                )
                a, b = (sum(n * loop.strides[each] for loop, n in iteration) for each in (A, B))
                index = sum(n for loop, n in iteration if loop is borders.horizontal)
                taps.append(_Tap(a, b, index))
            window_rows.append((vertical_indices, taps))
        return window_rows

    def _window_row(
        self,
        vertical_indices: _VerticalIndices,
        taps: list[_Tap],
        block: Block,
        pointers: _Pointers,
    ) -> None:
        """Emits one row of the window. The last of `taps` is not computed: the pointers move there."""
        if not vertical_indices:
            self._multiply(taps, block, pointers)
            return
        ((edge, vertical_index),) = vertical_indices
        with self._out.registers(1) as (index,):
            self._out.emit(rvv.add_immediate(index, block.positions[edge.number], vertical_index))
            self._within(index, edge, taps, block, pointers)

    def _within(
        self, index: str, edge: VerticalEdge, taps: list[_Tap], block: Block, pointers: _Pointers
    ) -> None:
        """Emits one row of the window, and a branch that skips the image if register `index` is outside of `edge`."""
        out = self._out

        def outside() -> None:
            if block.pad_value:
                self._multiply_pad_value(taps, block, pointers.b)
            out.add(pointers.b, taps[-1].b - taps[0].b)
            for pointer in pointers.a:
                out.add(pointer, taps[-1].a - taps[0].a)

        def inside() -> None:
            self._multiply(taps, block, pointers)

        out.within(index, pointers.limits[edge.number], inside, outside)

    def _multiply_pad_value(self, taps: list[_Tap], block: Block, b: str) -> None:
        """Emits the products of the pad value and the weights of all taps but the last, and leaves the pointer."""
        out = self._out
        weight, narrow, *_ = groups = self._take(block.lanes.lmul, 2)
        moves = [after.b - tap.b for tap, after in zip(taps, taps[1:-1], strict=False)]

        def multiply_tap(move: int) -> None:
            if not self._product.scheme.extends_integers:
                out.emit(rvv.transfer(False, 16, weight, b))
                out.add(b, move)
            else:
                out.emit(rvv.transfer(False, 8, narrow, b))
                out.add(b, move)
                out.emit(rvv.extend(2, weight, narrow))
            for accumulator in block.accumulators:
                self._multiply_pad(accumulator, block, weight)

        for move, equal_moves in itertools.groupby(moves):
            out.repeat(len(list(equal_moves)), functools.partial(multiply_tap, move))
        multiply_tap(taps[0].b - taps[-2].b)
        out.vectors.give(*groups)

    def _take(self, lmul: int, count: int) -> list[str]:
        """Takes groups for operands, and one for their int8 sources if there are any."""
        widens = self._product.scheme.widens
        size = max(1, lmul // 2) if widens else lmul
        return [self._out.vectors.take(size, lowest=True) for _ in range(count + widens)]

    def _multiply(self, taps: list[_Tap], block: Block, pointers: _Pointers) -> None:
        """Emits the products of all taps but the last, where the pointers are left: tap by tap, and row by row."""
        if pointers.shared:
            self._multiply_shared(taps, block, pointers)
            return
        out = self._out
        weight, image, *narrow = groups = self._take(block.lanes.lmul, 2)
        *taps, end = taps

        def load(number: int, to: str, pointer: str, move: int) -> None:
            width = WIDTHS[self._product.dtypes[number]]
            out.emit(rvv.transfer(False, 8 * width, narrow[0] if width == 1 else to, pointer))
            out.add(pointer, move)
            if width == 1:
                out.emit(rvv.extend(2, to, narrow[0]))

        def load_weight(pointer: str, move: int) -> None:
            if self._product.scheme.extends_floats:
                load(B, image, pointer, move)
                out.extend(block.lanes, self._product.dtypes[B], weight, image)
            else:
                load(B, weight, pointer, move)

        # Byte offsets in `a` that each row's pointer visits: its taps inside the image, then the end.
        offsets = []
        for row, pointer in enumerate(pointers.a):
            offsets.append(
                [tap.a for tap in taps if (row, tap.horizontal) not in block.out_of_bounds]
            )
            offsets[row].append(end.a)
            out.add(pointer, offsets[row][0] - taps[0].a)
        for tap, following in zip(taps, [*taps[1:], end], strict=True):
            load_weight(pointers.b, following.b - tap.b)
            for row, accumulator in enumerate(block.accumulators):
                if (row, tap.horizontal) not in block.out_of_bounds:
                    current = offsets[row].pop(0)
                    load(A, image, pointers.a[row], offsets[row][0] - current)
                    multiply = self._product.scheme.multiply
                    out.emit(rvv.multiply_add(multiply, accumulator, image, weight))
                elif block.pad_value:
                    self._multiply_pad(accumulator, block, weight)
        out.vectors.give(*groups)

    def _readers(self, taps: list[_Tap], block: Block) -> dict[int, list[tuple[int, int]]]:
        """Returns the (row, index in `taps`) pairs that read each byte offset in `a`, sorted by offset."""
        readers_at: dict[int, list[tuple[int, int]]] = {}
        for number, tap in enumerate(taps):
            for row in range(len(block.accumulators)):
                if (row, tap.horizontal) not in block.out_of_bounds:
                    offset = row * self._inner_rows.strides[A] + tap.a
                    readers_at.setdefault(offset, []).append((row, number))
        return dict(sorted(readers_at.items()))

    def _is_shared(self, taps: list[_Tap], block: Block) -> bool:
        """Whether rows read the same pixels, and there are registers for all weights that this keeps live."""
        readers_at = self._readers(taps, block)
        free = REGISTERS - len(block.accumulators) * block.lanes.lmul
        free = weight_groups(block.lanes.lmul, free, self._product.scheme.widens)
        readers = list(readers_at.values())
        return len(readers_at) < sum(map(len, readers)) and live_weights(readers) <= free

    def _multiply_shared(self, taps: list[_Tap], block: Block, pointers: _Pointers) -> None:
        """As _multiply(), but pixel by pixel: each is loaded once for all rows and taps that read it."""
        out = self._out
        (pointer,) = pointers.a
        *taps, end = taps
        widens = self._product.scheme.widens
        size, _ = operands(block.lanes.lmul, widens)
        pixel, *narrow = groups = self._take(block.lanes.lmul, 1)
        multiply = self._product.scheme.multiply
        held: dict[int, str] = {}
        a_offset, b_offset = taps[0].a, taps[0].b

        def load(number: int, to: str, address: str) -> None:
            width = WIDTHS[self._product.dtypes[number]]
            out.emit(rvv.transfer(False, 8 * width, to if width > 1 else narrow[0], address))
            if width == 1:
                out.emit(rvv.extend(2, to, narrow[0]))

        def load_weight(to: str) -> None:
            if self._product.scheme.extends_floats:
                # The group is free: its pixels have been multiplied.
                load(B, pixel, pointers.b)
                out.extend(block.lanes, self._product.dtypes[B], to, pixel)
            else:
                load(B, to, pointers.b)

        readers_at = self._readers(taps, block)
        last = {tap: offset for offset, readers in readers_at.items() for _, tap in readers}
        for offset, readers in readers_at.items():
            for _, number in readers:
                if number in held:
                    continue
                held[number] = out.vectors.take(size)
                out.add(pointers.b, taps[number].b - b_offset)
                b_offset = taps[number].b
                load_weight(held[number])
                self._multiply_out_of_bounds(taps[number], held[number], block)
            out.add(pointer, offset - a_offset)
            a_offset = offset
            load(A, pixel, pointer)
            for row, number in readers:
                accumulator = block.accumulators[row]
                out.emit(rvv.multiply_add(multiply, accumulator, pixel, held[number]))
            out.vectors.give(*(held.pop(tap) for tap in list(held) if last[tap] == offset))
        for number, tap in enumerate(taps):
            if number not in last and block.pad_value:
                out.add(pointers.b, tap.b - b_offset)
                b_offset = tap.b
                load(B, pixel, pointers.b)
                self._multiply_out_of_bounds(tap, pixel, block)
        out.vectors.give(*groups)
        out.add(pointers.b, end.b - b_offset)
        out.add(pointer, end.a - a_offset)

    def _multiply_pad(self, accumulator: str, block: Block, weight: str) -> None:
        multiply = self._product.scheme.multiply
        self._out.emit(rvv.multiply_add(multiply, accumulator, block.pad_value, weight))

    def _multiply_out_of_bounds(self, tap: _Tap, weight: str, block: Block) -> None:
        """Emits the products of the pad value and a group of weights, for the rows whose `tap` is outside the image."""
        for row, accumulator in enumerate(block.accumulators):
            if block.pad_value and (row, tap.horizontal) in block.out_of_bounds:
                self._multiply_pad(accumulator, block, weight)


@dataclass(frozen=True, slots=True)
class _Tap:
    """A tap: its byte offsets in `a` and `b`, and its index in the row of the window."""

    a: int
    b: int
    horizontal: int


@dataclass(frozen=True)
class _Pointers:
    """Registers with addresses and limits.

    Attributes:
      a: addresses in `a`: one for each row, or only the first row's if rows share loads.
      b: address in `b`.
      limits: extents of the vertical edges, by edge number.
      shared: whether rows share loads.
    """

    a: list[str]
    b: str
    limits: dict[int, str]
    shared: bool


# Vertical edges, and by how many indices a tap is away from the first one.
_VerticalIndices = list[tuple[VerticalEdge, int]]


def _indices(loops: list[Loop]) -> Iterator[tuple[int, ...]]:
    """Yields the indices of all iterations of nested loops."""
    return itertools.product(*(range(loop.extent) for loop in loops))
