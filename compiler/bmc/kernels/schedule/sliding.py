"""Writes sliding depthwise convolutions: the image is planar (CHW), and lanes are the pixels of a line.

An image line is loaded once for all result lines of a block that read it. Its horizontal taps read the same register
group, slid by one lane for each tap. The pixel that slides in is the pad value, or one of the next panel. With a stride
of several pixels, a segment load separates the pixels by their phase (index modulo stride), and each phase slides by
itself. No masks are needed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.problem.product import RESULT, A, B, Edge, Loop, Product
from bmc.kernels.schedule.columns import load_number
from bmc.kernels.schedule.sliding_lines import Lines, Panel
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Constants, Kernel
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import REGISTERS, Lanes
from bmc.kernels.unsupported import Unsupported

_LMULS = (1, 2, 4, 8)
# Registers that one segment load writes at most.
_MOST_LOADED = 8
# Result lines of a block, and panels, at most; each panel has its own text.
_MOST_ROWS, _MOST_PANELS = 8, 4
_FLOATS = 31
# Integer registers for lengths, addresses, and loop counters.
_RESERVED_REGISTERS = 8
# Estimated instructions around each block, and each panel.
_BLOCK_COST = 6


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits.

    Raises:
      Unsupported: the product is not a depthwise convolution of planes, or its window, stride or lines are too large.
      TooManyRegisters: the window has too many taps.
    """
    return _Sliding(product, vlen).kernel()


def cost(product: Product, vlen: int, epilogue_cost: int) -> float:
    """Estimates the instructions that write()'s kernel executes, with `epilogue_cost` of them for each accumulator."""
    return _Sliding(product, vlen).cost(epilogue_cost)


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a plane is cut: `panels` panels of `lanes` lanes in `lmul` registers, and blocks of `rows` result lines."""

    lanes: int
    panels: int
    lmul: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Blocks:
    """`count` blocks of `rows` result lines; of the image lines that each reads, `out_of_bounds` are outside."""

    count: int
    rows: int
    out_of_bounds: frozenset[int]


def _with_line_edge(product: Product) -> Product:
    """Returns a product whose padding has an edge across lines, which all are inside, if it only has one along them."""
    padding = product.padding
    if padding is None or len(padding.edges) != 1:
        return product
    outside = [loop for loop in (*product.outer, *product.grid[:-1]) if not loop.strides[A]]
    moving = [
        loop for loop in (*outside, *product.summed) if loop.extent > 1 and not any(loop.steps)
    ]
    if not moving:
        return product
    line = math.gcd(*(loop.strides[B] for loop in moving))

    def step(loop: Loop) -> int:
        return loop.strides[B] // line if loop in moving else 0

    lines = 1 + sum(step(loop) * (loop.extent - 1) for loop in moving)
    outer, grid, summed = (
        tuple(replace(loop, steps=(*loop.steps, step(loop))) for loop in group)
        for group in (product.outer, product.grid, product.summed)
    )
    edges = (*padding.edges, Edge(0, lines))
    return replace(
        product, outer=outer, grid=grid, summed=summed, padding=replace(padding, edges=edges)
    )


class _Sliding:
    """Writes one kernel."""

    def __init__(self, product: Product, vlen: int) -> None:
        product = _with_line_edge(product)
        self._product = product
        self._vlen = vlen
        self._width = WIDTHS[product.dtypes[B]]
        padding = product.padding
        if not padding or padding.operand != B or len(padding.edges) != 2 or product.start_offsets:
            raise Unsupported("sliding over an image without padding, or over a part of one")
        summed = [loop for loop in product.summed if loop.extent > 1]
        weights = product.dtypes[A]
        if product.rows or product.lanes.strides[A] or len(summed) != 2 or weights not in TYPES:
            raise Unsupported("sliding for a product that is not depthwise")
        if product.scheme.is_float and (product.scheme.widens or product.scheme.extends_floats):
            raise Unsupported("sliding along lines of 16 bits with f32 accumulators")
        self._pad_value = int(padding.value)
        if padding.value and product.scheme.is_float:
            raise Unsupported("an image that is padded with floats other than zero")
        *other_lanes, self._x = product.grid
        results = [*product.outer, *other_lanes]
        # `down` and `along` are the numbers of the vertical and the horizontal edge. self._y is the loop over result
        # lines; self._down and self._along are the loops over vertical and horizontal taps.
        along = next((n for n, step in enumerate(self._x.steps) if step), 0)
        down = 1 - along
        none = Loop(1, (0,) * len(product.dtypes), (0, 0))
        self._y = next((loop for loop in results if loop.steps[down]), none)
        self._planes = [loop for loop in results if loop is not self._y]
        self._edges: tuple[Edge, Edge] = (padding.edges[down], padding.edges[along])
        taps = [[each for each in summed if each.steps[n]] for n in (down, along)]
        padded_planes = any(any(each.steps) for each in self._planes)
        if padded_planes or [len(each) for each in taps] != [1, 1]:
            raise Unsupported("a sliding window with axes other than the image's")
        ((self._down,), (self._along,)) = taps
        self._stride, self._skip = self._x.steps[along], self._y.steps[down]
        if (
            (self._down.steps[down], self._along.steps[along]) != (1, 1)
            or self._along.strides[B] != self._width
            or self._x.strides[B] != self._stride * self._width
            or self._y.strides[B] != self._skip * self._down.strides[B]
        ):
            raise Unsupported("a sliding window with gaps")
        initial = product.initial
        if initial is not None and (product.lanes.strides[initial] or self._y.strides[initial]):
            raise Unsupported("sliding accumulators with different initial values")
        self._lines = Lines(product, self._stride, self._along.extent, self._edges[1])
        if self._x.extent * self._stride > self._edges[1].extent:
            raise Unsupported("sliding along lines whose last pixels are outside the image")
        shape = min(self._shapes(), key=self._cost, default=None)
        if shape is None:
            raise Unsupported("sliding along lines that are too long")
        self._shape = shape
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        self._constants: Constants = {}
        left = _FLOATS if product.scheme.is_float else self._out.left - _RESERVED_REGISTERS
        if self._along.extent * self._down.extent > left:
            raise Unsupported("a sliding window with too many taps")

    def cost(self, epilogue_cost: int) -> float:
        planes = math.prod(loop.extent for loop in self._planes)
        shape = self._shape
        return planes * (self._cost(shape) + shape.panels * self._y.extent * epilogue_cost)

    def _shapes(self) -> Iterator[_Shape]:
        """Yields the ways to cut a plane for which there are enough registers."""
        for lmul in _LMULS:
            panels = math.ceil(self._x.extent / (lmul * self._vlen // self._product.scheme.bits))
            if panels > _MOST_PANELS or self._stride * self._lines.narrow(lmul) > _MOST_LOADED:
                continue
            needs = one_row.temporaries(self._product.epilogue, lmul)
            groups = min(
                (REGISTERS - self._lines.operands(lmul)) // lmul, REGISTERS // lmul - needs
            )
            if groups > 0:
                lanes = math.ceil(self._x.extent / panels)
                yield _Shape(lanes, panels, lmul, min(groups, _MOST_ROWS, self._y.extent))

    def _cost(self, shape: _Shape) -> float:
        """Estimates the instructions for a plane, without its epilogue's operations."""
        wide = 1 if self._product.scheme.is_float else 1 + self._stride
        total = 0
        for blocks in self._blocks(shape.rows):
            lines = (blocks.rows - 1) * self._skip + self._down.extent - len(blocks.out_of_bounds)
            slides = len(self._lines.slides) - self._stride
            multiplied = blocks.rows * self._down.extent * self._along.extent
            epilogue = blocks.rows * (len(self._product.epilogue) + 3)
            executed = _BLOCK_COST + lines * (1 + wide + slides) + multiplied + epilogue
            total += blocks.count * executed
        taps = self._down.extent * self._along.extent
        return shape.panels * float(total + _BLOCK_COST) + 2 * taps

    def _blocks(self, most: int) -> list[_Blocks]:
        """Cuts the result lines into blocks of at most `most`."""
        extent = self._y.extent
        count = math.ceil(extent / most)
        rows, larger = divmod(extent, count)
        blocks: list[_Blocks] = []
        first, is_inside = 0, self._edges[0].has
        for number in range(count):
            size = rows + (number < larger)
            lines = range((size - 1) * self._skip + self._down.extent)
            start = first * self._skip
            out_of_bounds = frozenset(line for line in lines if not is_inside(start + line))
            first += size
            if blocks and (blocks[-1].rows, blocks[-1].out_of_bounds) == (size, out_of_bounds):
                blocks[-1] = _Blocks(blocks[-1].count + 1, size, out_of_bounds)
            else:
                blocks.append(_Blocks(1, size, out_of_bounds))
        return blocks

    def kernel(self) -> Kernel:
        out, product = self._out, self._product
        taps = self._down.extent * self._along.extent
        floats = _FLOATS - taps if product.scheme.is_float else _FLOATS
        self._constants = hoisted(out, product.epilogue, floats)
        # Start at the first line that the window reads, which may be above the image.
        out.add(self._bases[B], -self._edges[0].low * self._down.strides[B])
        take = out.take_float if product.scheme.is_float else out.register
        weights = [take() for _ in range(taps)]
        pad_value = ""
        if self._pad_value:
            pad_value = out.register()
            out.set(pad_value, self._pad_value)
        pointers = loops.Pointers(list(enumerate(self._bases)))
        loops.repeat(out, pointers, self._planes, lambda: self._plane(weights, pad_value))
        return out.kernel()

    def _move(self, loop: Loop, iterations: int) -> None:
        loops.Pointers(list(enumerate(self._bases))).move(self._out, loop, iterations)

    def _plane(self, weights: list[str], pad_value: str) -> None:
        """Emits one plane: panel by panel, each from its first line to the last."""
        out, shape = self._out, self._shape
        strided, bits = self._product.strided, self._product.scheme.bits
        self._load_weights(weights)
        done = 0
        for _ in range(shape.panels):
            count = min(shape.lanes, self._x.extent - done)
            with out.registers(1) as (length,):
                out.set(length, count)
                lanes = Lanes(count, shape.lmul, length, strided, bits=bits)
                panel = Panel(lanes, done, weights, pad_value)
                for blocks in self._blocks(shape.rows):

                    def block(blocks: _Blocks = blocks, panel: Panel = panel) -> None:
                        self._block(blocks, panel)

                    out.repeat(blocks.count, block)
            self._move(self._y, -self._y.extent)
            self._move(self._x, count)
            done += count
        self._move(self._x, -done)

    def _load_weights(self, weights: list[str]) -> None:
        out = self._out
        taps = itertools.product(range(self._down.extent), range(self._along.extent))
        with out.registers(1) as (address,):
            out.move(address, self._bases[A])
            base = 0
            for weight, (down, along) in zip(weights, taps, strict=True):
                offset = down * self._down.strides[A] + along * self._along.strides[A]
                if not fits(offset - base):
                    out.add(address, offset - base)
                    base = offset
                load_number(out, self._product, weight, offset - base, address)

    def _block(self, blocks: _Blocks, panel: Panel) -> None:
        """Emits one block of result lines, and moves the addresses behind it."""
        out, product, lanes = self._out, self._product, panel.lanes
        accumulators = [out.vectors.take(lanes.lmul) for _ in range(blocks.rows)][::-1]
        groups = self._lines.take(out.vectors, lanes.lmul)
        out.use(lanes, lanes.bits)
        self._start(accumulators)
        if not product.scheme.is_float:
            out.use(lanes, 16)
        with out.registers(1) as (line,):
            out.move(line, self._bases[B])
            current = 0
            for number in range((blocks.rows - 1) * self._skip + self._down.extent):
                # Accumulators that read this line, and the vertical tap at which they do.
                readers = {
                    accumulators[row]: number - row * self._skip
                    for row in range(blocks.rows)
                    if 0 <= number - row * self._skip < self._down.extent
                }
                if number in blocks.out_of_bounds:
                    self._lines.multiply_pad_value(out, readers, panel, groups)
                elif readers:
                    out.add(line, (number - current) * self._down.strides[B])
                    current = number
                    self._lines.multiply_line(out, line, readers, panel, groups)
        if not product.scheme.is_float:
            out.use(lanes, lanes.bits)
        numbers = range(RESULT, len(self._bases))
        steps = {n: self._y.strides[n] for n in numbers if self._y.strides[n]}
        out.vectors.give(*filter(None, (groups.slid, groups.phases, groups.sources)))
        addresses = self._bases.__getitem__
        emit(out, product.epilogue, accumulators, addresses, lanes, self._constants, steps)
        out.add(self._bases[B], blocks.rows * self._y.strides[B])
        for number in (A, *(n for n in numbers if n not in steps)):
            out.add(self._bases[number], blocks.rows * self._y.strides[number])

    def _start(self, accumulators: list[str]) -> None:
        """Emits the initial values of accumulators."""
        out, initial = self._out, self._product.initial
        if initial is None:
            for accumulator in accumulators:
                out.emit(rvv.zeros(accumulator))
            return
        with out.registers(1) as (number,):
            # The type does not matter: an integer register holds the bits of floats as well.
            out.load(number, 0, self._bases[initial], self._product.scheme.bits)
            for accumulator in accumulators:
                out.emit(rvv.splat(accumulator, number))
