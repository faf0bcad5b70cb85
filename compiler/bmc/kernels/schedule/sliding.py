"""Writes depthwise convolutions of planes, whose lanes are the pixels of a line.

A line of the image is loaded once for all lines of a block that read it. Taps along the line read the same group of
registers, moved by one lane: what moves in at its end is around the image, or a pixel of the next panel. If lanes are
several pixels stride, one instruction loads what is between them into groups of their own. So there are no masks.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import Constants, hoisted
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.problem.product import RESULT, A, B, Edge, Loop, Product, Unsupported
from bmc.kernels.schedule.columns import load_number
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel
from bmc.kernels.tree.lanes import Lanes
from bmc.kernels.tree.tree import fits

_REGISTERS = 32
_LMULS = (1, 2, 4, 8)
# Registers that an instruction loads, at most.
_MOST_LOADED = 8
# Lines of a block, and panels, each with a text of its own.
_MOST_ROWS, _MOST_PANELS = 8, 4
_FLOATS = 31
# Integer registers for lengths, addresses, and the turns of loops.
_COUNTERS = 8
# Instructions around a block, about.
_AROUND = 6


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: it is another product, or its window, stride or lines are too large.
      TooManyRegisters: the window has too many taps.
    """
    return _Sliding(product, vlen).kernel()


def cost(product: Product, vlen: int, epilogue_cost: int) -> float:
    """Returns about how many instructions a kernel executes, with `epilogue_cost` for each complete group of sums.

    Raises:
      Unsupported: as write().
    """
    return _Sliding(product, vlen).cost(epilogue_cost)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a plane is cut: `panels` of at most `lanes` lanes in groups of `lmul` registers, `rows` lines at a time."""

    lanes: int
    panels: int
    lmul: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Blocks:
    """`count` neighboring blocks of so many rows; `out_of_bounds` are the lines of the image that they do not have."""

    count: int
    rows: int
    out_of_bounds: frozenset[int]


@dataclass(frozen=True, slots=True)
class _Panel:
    """Neighboring lanes: how many, and the number of the first one. Registers have the weights, and what is around."""

    lanes: Lanes
    first: int
    weights: list[str]
    pad_value: str


class _Sliding:
    def __init__(self, product: Product, vlen: int) -> None:
        self._product = product
        self._vlen = vlen
        self._width = WIDTHS[product.dtypes[B]]
        padding = product.padding
        if (
            padding is None
            or padding.operand != B
            or len(padding.edges) != 2
            or product.start_offsets
        ):
            raise Unsupported("lines of an image without padding, or of a part of one")
        summed = [loop for loop in product.summed if loop.extent > 1]
        if (
            product.rows
            or product.lanes.strides[A]
            or len(summed) != 2
            or product.dtypes[A] not in TYPES
        ):
            raise Unsupported("lines that several channels read")
        if product.scheme.is_float and (product.scheme.widens or product.scheme.extends_floats):
            raise Unsupported("lines of f16 whose sums are f32")
        self._pad_value = int(padding.value)
        if padding.value and product.scheme.is_float:
            raise Unsupported("an image that is padded with other floats than zeros")
        *around, self._x = product.grid
        loops = [*product.outer, *around]
        # The edges down and along the lines, the loop over lines, and those over taps.
        along = next((n for n, step in enumerate(self._x.steps) if step), 0)
        down = 1 - along
        self._y = next((loop for loop in loops if loop.steps[down]), None) or Loop(
            1, (0,) * len(product.dtypes), (0, 0)
        )
        self._around = [loop for loop in loops if loop is not self._y]
        self._edges: tuple[Edge, Edge] = (padding.edges[down], padding.edges[along])
        taps = [[each for each in summed if each.steps[n]] for n in (down, along)]
        if [len(each) for each in taps] != [1, 1] or any(any(each.steps) for each in self._around):
            raise Unsupported("lines of a window with other axes")
        ((self._down,), (self._along,)) = taps
        self._stride, self._skip = self._x.steps[along], self._y.steps[down]
        if (
            (self._down.steps[down], self._along.steps[along]) != (1, 1)
            or self._along.strides[B] != self._width
            or self._x.strides[B] != self._stride * self._width
            or self._y.strides[B] != self._skip * self._down.strides[B]
        ):
            raise Unsupported("lines of a window that has gaps")
        initial = product.initial
        if initial is not None and (product.lanes.strides[initial] or self._y.strides[initial]):
            raise Unsupported("lines whose sums start from different values")
        # For each tap along a line: the group that it reads, and by how many lanes that is moved.
        low = self._edges[1].low
        self._moves = [divmod(tap - low, self._stride) for tap in range(self._along.extent)]
        if len({phase for _, phase in self._moves}) < self._stride:
            raise Unsupported("lines of which some pixels are not read")
        if self._x.extent * self._stride > self._edges[1].extent:
            raise Unsupported("lines whose last pixels are not in the image")
        shape = min(self._shapes(), key=self._cost, default=None)
        if shape is None:
            raise Unsupported("lines that are too long")
        self._shape = shape
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        self._constants: Constants = {}
        left = _FLOATS if product.scheme.is_float else self._out.left - _COUNTERS
        if self._along.extent * self._down.extent > left:
            raise Unsupported("lines of a window with so many taps")

    def cost(self, epilogue_cost: int) -> float:
        planes = math.prod(loop.extent for loop in self._around)
        shape = self._shape
        return planes * (self._cost(shape) + shape.panels * self._y.extent * epilogue_cost)

    def _shapes(self) -> Iterator[_Shape]:
        """The ways to cut a plane for which there are registers."""
        for lmul in _LMULS:
            panels = math.ceil(self._x.extent / (lmul * self._vlen // self._product.scheme.bits))
            if panels > _MOST_PANELS or self._stride * self._narrow(lmul) > _MOST_LOADED:
                continue
            needs = one_row.temporaries(self._product.epilogue, lmul)
            groups = min((_REGISTERS - self._used(lmul)) // lmul, _REGISTERS // lmul - needs)
            if groups > 0:
                lanes = math.ceil(self._x.extent / panels)
                yield _Shape(lanes, panels, lmul, min(groups, _MOST_ROWS, self._y.extent))

    def _wide(self, lmul: int) -> int:
        """Registers of a group of pixels as it is multiplied."""
        return lmul if self._product.scheme.is_float else max(1, lmul // 2)

    def _narrow(self, lmul: int) -> int:
        """Registers of a group of pixels as it is in memory."""
        return lmul if self._product.scheme.is_float else max(1, lmul // 4)

    def _used(self, lmul: int) -> int:
        """Registers that are not for sums: a moved group, those that are not, and those of bytes behind them."""
        bytes_ = 0 if self._product.scheme.is_float else self._stride * self._narrow(lmul)
        return (1 + self._stride) * self._wide(lmul) + bytes_

    def _group(self, lmul: int, phase: int) -> int:
        """The first register of a group that is not moved."""
        return (1 + phase) * self._wide(lmul)

    def _cost(self, shape: _Shape) -> float:
        """Instructions for a plane, about."""
        wide = 1 if self._product.scheme.is_float else 1 + self._stride
        total = 0
        for blocks in self._blocks(shape.rows):
            lines = (blocks.rows - 1) * self._skip + self._down.extent - len(blocks.out_of_bounds)
            moved = len(self._moves) - self._stride
            multiplied = blocks.rows * self._down.extent * self._along.extent
            behind = blocks.rows * (len(self._product.epilogue) + 3)
            total += blocks.count * (_AROUND + lines * (1 + wide + moved) + multiplied + behind)
        taps = self._down.extent * self._along.extent
        return shape.panels * float(total + _AROUND) + 2 * taps

    def _blocks(self, most: int) -> list[_Blocks]:
        """Cuts the lines into blocks of at most so many rows."""
        extent = self._y.extent
        count = math.ceil(extent / most)
        rows, more = divmod(extent, count)
        found: list[_Blocks] = []
        first = 0
        for number in range(count):
            size = rows + (number < more)
            lines = range((size - 1) * self._skip + self._down.extent)
            start = first * self._skip
            out_of_bounds = frozenset(
                line for line in lines if not self._edges[0].has(start + line)
            )
            first += size
            if found and (found[-1].rows, found[-1].out_of_bounds) == (size, out_of_bounds):
                found[-1] = _Blocks(found[-1].count + 1, size, out_of_bounds)
            else:
                found.append(_Blocks(1, size, out_of_bounds))
        return found

    def kernel(self) -> Kernel:
        out, product = self._out, self._product
        taps = self._down.extent * self._along.extent
        self._constants = hoisted(
            out, product.epilogue, _FLOATS - taps if product.scheme.is_float else _FLOATS
        )
        # Lines begin with the first pixel that is in the image.
        out.add(self._bases[B], -self._edges[0].low * self._down.strides[B])
        take = out.take_float if product.scheme.is_float else out.register
        weights = [take() for _ in range(taps)]
        pad_value = ""
        if self._pad_value:
            pad_value = out.register()
            out.set(pad_value, self._pad_value)
        self._over(self._around, lambda: self._plane(weights, pad_value))
        return out.kernel()

    def _over(self, loops: list[Loop], body: Callable[[], None]) -> None:
        """Runs something for all turns of loops, and leaves addresses as they were."""
        if not loops:
            body()
            return
        first, *rest = loops

        def turn() -> None:
            self._over(rest, body)
            self._move(first, 1)

        self._out.repeat(first.extent, turn)
        self._move(first, -first.extent)

    def _move(self, loop: Loop, times: int) -> None:
        for base, stride in zip(self._bases, loop.strides, strict=True):
            self._out.add(base, times * stride)

    def _plane(self, weights: list[str], pad_value: str) -> None:
        out, shape = self._out, self._shape
        self._load_weights(weights)
        done = 0
        for _ in range(shape.panels):
            count = min(shape.lanes, self._x.extent - done)
            with out.registers(1) as (length,):
                out.set(length, count)
                lanes = Lanes(
                    count, shape.lmul, length, self._product.strided, bits=self._product.scheme.bits
                )
                panel = _Panel(lanes, done, weights, pad_value)
                for blocks in self._blocks(shape.rows):

                    def block(blocks: _Blocks = blocks, panel: _Panel = panel) -> None:
                        self._block(blocks, panel)

                    out.repeat(blocks.count, block)
            self._move(self._y, -self._y.extent)
            self._move(self._x, count)
            done += count
        self._move(self._x, -done)

    def _load_weights(self, weights: list[str]) -> None:
        out = self._out
        places = itertools.product(range(self._down.extent), range(self._along.extent))
        with out.registers(1) as (address,):
            out.move(address, self._bases[A])
            at = 0
            for weight, (down, along) in zip(weights, places, strict=True):
                place = down * self._down.strides[A] + along * self._along.strides[A]
                if not fits(place - at):
                    out.add(address, place - at)
                    at = place
                load_number(out, self._product, weight, place - at, address)

    def _block(self, blocks: _Blocks, panel: _Panel) -> None:
        """Emits some lines of results, and moves to those behind them."""
        out, product, lanes = self._out, self._product, panel.lanes
        groups = _REGISTERS // lanes.lmul
        sums = list(range(groups - blocks.rows, groups))
        lanes.use(out, lanes.bits)
        self._start([group * lanes.lmul for group in sums])
        if not product.scheme.is_float:
            lanes.use(out, 16)
        with out.registers(1) as (line,):
            out.move(line, self._bases[B])
            away = 0
            for number in range((blocks.rows - 1) * self._skip + self._down.extent):
                rows = {
                    row: number - row * self._skip
                    for row in range(blocks.rows)
                    if 0 <= number - row * self._skip < self._down.extent
                }
                found = {sums[row] * lanes.lmul: tap for row, tap in rows.items()}
                if number in blocks.out_of_bounds:
                    self._outside(found, panel)
                elif rows:
                    out.add(line, (number - away) * self._down.strides[B])
                    away = number
                    self._inside(line, found, panel)
        if not product.scheme.is_float:
            lanes.use(out, lanes.bits)
        steps = {
            n: self._y.strides[n] for n in range(RESULT, len(self._bases)) if self._y.strides[n]
        }
        free = list(range(groups - blocks.rows))
        at = self._bases.__getitem__
        emit(out, product.epilogue, sums, free, at, lanes, self._constants, steps)
        out.add(self._bases[B], blocks.rows * self._y.strides[B])
        for number in (A, *(n for n in range(RESULT, len(self._bases)) if n not in steps)):
            out.add(self._bases[number], blocks.rows * self._y.strides[number])

    def _start(self, registers: list[int]) -> None:
        out, initial = self._out, self._product.initial
        if initial is None:
            for register in registers:
                out.emit(rvv.zeros(f"v{register}"))
            return
        with out.registers(1) as (number,):
            # A float's bits are an integer's.
            out.load(number, 0, self._bases[initial], self._product.scheme.bits)
            for register in registers:
                out.emit(rvv.splat(f"v{register}", number))

    def _outside(self, found: dict[int, int], panel: _Panel) -> None:
        """Multiplies with a line that is around the image."""
        if not panel.pad_value:
            return
        out = self._out
        wide = self._group(panel.lanes.lmul, 0)
        out.emit(rvv.splat(f"v{wide}", panel.pad_value))
        for register, down in found.items():
            for along in range(self._along.extent):
                self._multiply(register, down, along, wide, panel)

    def _inside(self, line: str, found: dict[int, int], panel: _Panel) -> None:
        """Loads a line of the image, and multiplies it: first as it is, then moved."""
        self._load(line, panel.lanes)
        taps = {move: tap for tap, move in enumerate(self._moves)}
        for phase in range(self._stride):
            as_it_is = self._group(panel.lanes.lmul, phase)
            moves = [lanes for lanes, each in self._moves if each == phase]
            # Down, then up; the groups take turns, because no group moves up in its place.
            for way in (range(max(moves) + 1), range(-1, min(moves) - 1, -1)):
                group, other = as_it_is, 0
                for lanes in way:
                    if lanes:
                        self._slide(line, (lanes, phase), (group, other), panel)
                        group, other = other, group if lanes < 0 else other
                    for register, down in found.items():
                        if (lanes, phase) in taps:
                            self._multiply(register, down, taps[lanes, phase], group, panel)

    def _load(self, line: str, lanes: Lanes) -> None:
        out, is_float, bits = self._out, self._product.scheme.is_float, 8 * self._width
        has_segments = self._stride > 1
        to = self._group(lanes.lmul, 0 if is_float else self._stride)
        if has_segments and not is_float:
            # These may take longer if their elements have not the current width.
            lanes.use(out, 8)
        out.emit(rvv.load_segments(self._stride, bits, f"v{to}", line))
        if is_float:
            return
        if has_segments:
            lanes.use(out, 16)
        for phase in range(self._stride):
            narrow = to + phase * self._narrow(lanes.lmul)
            out.emit(rvv.extend(2, f"v{self._group(lanes.lmul, phase)}", f"v{narrow}"))

    def _slide(
        self, line: str, move: tuple[int, int], groups: tuple[int, int], panel: _Panel
    ) -> None:
        """Moves a group by one more lane into another; the pixel that comes in is in memory, or around the image."""
        out = self._out
        (lanes, phase), (source, to) = move, groups
        lane = lanes if lanes < 0 else panel.lanes.count + lanes - 1
        place = lane * self._stride + phase
        slide = functools.partial(rvv.slide, f"v{to}", f"v{source}", up=lanes < 0)
        if not 0 <= panel.first * self._stride + place < self._edges[1].extent:
            out.emit(slide(panel.pad_value or "zero"))
            return
        with out.registers(1) as (number,):
            out.load(number, place * self._width, line, 8 * self._width)
            out.emit(slide(number))

    def _multiply(self, register: int, down: int, along: int, group: int, panel: _Panel) -> None:
        weight = panel.weights[down * self._along.extent + along]
        multiply = self._product.scheme.multiply
        self._out.emit(rvv.multiply_add(multiply, f"v{register}", weight, f"v{group}"))
