"""Takes products of int8 for the matrix unit that are cheaper there, and plans its scratchpad: tiles of lines and
blocks of outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from bmc.libraries import (
    Axis,
    Call,
    Dispatch,
    Packed,
    PaddedCopy,
    Sums,
    Windows,
    padded_copy,
    per_output,
    requantization_by_output,
    windows,
)

# registers.h has all of these numbers, and README.md the cycles.
_SCRATCHPAD, _PLACE = 64 * 1024, 16
_SHAPE_WORDS = 16
_LOAD, _STORE, _MULTIPLY = range(3)
_IMAGE, _WEIGHTS, _BIASES, _RESULT = 0, 1, 2, 5
_SUMS, _INT8, _INT8_DOWN = range(3)
_START, _JOB_WORDS, _BUS_BYTES, _OUTPUTS, _RUN_BYTES = 32, 4, 8, 16, 16
# Instructions of the hart, measured: to submit a list and see that it has ended, and of C behind the sums, for each
# operation and result.
_SUBMIT, _OPERATION = 200, 2.5
# A bias, a multiplier and a shift, of 4 bytes each.
_NUMBERS, _NUMBER = 3, 4


def take(dispatch: Dispatch) -> Call | None:
    border = padded_copy(dispatch)
    bare = border.dispatch if border else dispatch
    found = windows(bare) if bare.a.dtype == "i8" and not bare.padding else None
    if found is None or found.output.result != 1 or found.output.sums != 1:
        return None
    taps = [*found.runs, Axis()] if found.is_depthwise else list(found.runs)
    if len(taps) > 3 or found.output.image not in (0, 1):
        return None
    if taps[-1].extent > 1 and taps[-1].image != 1:
        return None
    how = requantization_by_output(dispatch, found.output_loop)
    product = _Product(found, tuple([Axis()] * (3 - len(taps)) + taps), how is not None, border)
    if min(product.steps) < 0 or border and (not product.y.image or product.y.image % border.line):
        return None
    cuts = [cut for cut in product.cuts() if product.needs(cut) <= _SCRATCHPAD]
    if not cuts:
        return None
    mode = _SUMS if how is None else _INT8_DOWN if how.scale.is_down else _INT8
    limits = [how.zero, how.low, how.high] if how else [0, 0, 0]
    cut = min(cuts, key=product.cycles)
    behind = [node for node in dispatch.epilogue if node.op != "constant"] if how is None else []
    cost = _SUBMIT + product.cycles(cut) + _OPERATION * len(behind) * product.results
    # A cycle of the unit is an instruction of the hart, which mostly waits: the next layer needs this one.
    if cost >= dispatch.cost:
        return None
    jobs = _Jobs(product, cut).made()
    shape = [*product.shape, mode, *limits]
    words = [*shape, *[0] * (_SHAPE_WORDS - len(shape)), *(word for job in jobs for word in job)]
    # Lines of the padding are loaded from behind the weights.
    filler = np.full(border.line if border else 0, border.value if border else 0, np.int8)
    weights = Packed(
        dispatch.b, lambda array: np.concatenate([found.matrix(array).reshape(-1), filler])
    )
    arguments = (np.array(words, np.int32), dispatch.a, weights)
    params = {"jobs": len(jobs)}
    if how is None:
        return Call(
            "matrix_unit_sums", (*arguments, Sums()), params, pads=True, wait="matrix_unit_wait"
        )
    scale = how.scale
    numbers = [
        per_output(number, found.output.extent)
        for number in (how.bias, scale.multiplier, scale.shift)
    ]
    return Call(
        "matrix_unit_i8",
        (*arguments, *numbers, dispatch.result),
        params,
        finishes=True,
        pads=True,
        wait="matrix_unit_wait",
    )


@dataclass(frozen=True)
class _Cut:
    """How a product is cut into parts that fit.

    Attributes:
      lines: of a tile.
      outputs: of a block.
      blocks_first: whether all tiles of a block come before the next block.
    """

    lines: int
    outputs: int
    blocks_first: bool


class _Product:
    """A product as the unit sees it: lines x columns windows, of which each has tap lines x tap columns runs."""

    def __init__(
        self, found: Windows, taps: tuple[Axis, ...], is_int8: bool, border: PaddedCopy | None
    ) -> None:
        # Tiles are cut from lines.
        y, x = found.rows
        self.y, self.x = (x, y) if y.extent == 1 else (y, x)
        self.outputs, self.image_output = found.output.extent, found.output.image
        self.window, self.is_int8 = found.size, is_int8
        self.tap_y, self.tap_x, self.run = taps
        self.element, self.border = 1 if is_int8 else 4, border

    @property
    def steps(self) -> list[int]:
        """What may not be negative."""
        axes = (self.y, self.x, self.tap_y, self.tap_x)
        return [axis.image for axis in axes] + [self.to_memory(axis) for axis in axes[:2]]

    @property
    def shape(self) -> list[int]:
        """Words of the shape, up to the mode."""
        return [
            self.x.extent,
            self.y.image,
            self.x.image,
            self.image_output,
            self.tap_y.extent,
            self.tap_x.extent,
            self.run.extent,
            self.tap_y.image,
            self.tap_x.image,
        ]

    def to_memory(self, axis: Axis) -> int:
        """Bytes from one result to the next."""
        return axis.result if self.is_int8 else axis.sums * self.element

    def image_bytes(self, lines: int) -> int:
        """Bytes of the image from a tile's first one to its last one."""
        axes = (self.x, self.tap_y, self.tap_x)
        reach = sum((axis.extent - 1) * axis.image for axis in axes)
        reach += (self.outputs - 1) * self.image_output
        exact = (lines - 1) * self.y.image + reach + self.run.extent
        return -(-exact // self.border.line) * self.border.line if self.border else exact

    def image_cycles(self, lines: int) -> int:
        """About how many cycles it takes to load a tile of the image."""
        size, job = self.image_bytes(lines), _START + _JOB_WORDS
        # A line of an image with a border is a job.
        return size // _BUS_BYTES + job * (size // self.border.line + 1 if self.border else 1)

    @property
    def results(self) -> int:
        return self.y.extent * self.x.extent * self.outputs

    def weight_bytes(self, outputs: int) -> int:
        return outputs * (self.window + self.number_bytes)

    @property
    def number_bytes(self) -> int:
        return _NUMBERS * _NUMBER if self.is_int8 else 0

    def result_bytes(self, cut: _Cut) -> int:
        return cut.lines * self.x.extent * cut.outputs * self.element

    def tiles(self, cut: _Cut) -> int:
        return -(-self.y.extent // cut.lines)

    def blocks(self, cut: _Cut) -> int:
        return -(-self.outputs // cut.outputs)

    def slots(self, cut: _Cut) -> tuple[int, int, int]:
        """Places for tiles of the image, for blocks of weights and for results."""
        tiles, blocks = self.tiles(cut), self.blocks(cut)
        return min(tiles, 2), min(blocks, 2), min(tiles * blocks, 2)

    def sizes(self, cut: _Cut) -> tuple[int, int, int]:
        """Bytes of each of those places."""
        exact = (
            self.image_bytes(cut.lines),
            self.weight_bytes(cut.outputs),
            self.result_bytes(cut),
        )
        image, weights, result = (-(-size // _PLACE) * _PLACE for size in exact)
        return image, weights, result

    def needs(self, cut: _Cut) -> int:
        """Bytes of scratchpad."""
        return sum(c * size for c, size in zip(self.slots(cut), self.sizes(cut), strict=True))

    def cuts(self) -> Iterator[_Cut]:
        lines = {-(-self.y.extent // parts) for parts in range(1, self.y.extent + 1)}
        outputs = {self.outputs} | {
            _OUTPUTS << i for i in range(16) if _OUTPUTS << i < self.outputs
        }
        for tile in sorted(lines, reverse=True):
            for block in sorted(outputs, reverse=True):
                yield _Cut(tile, block, blocks_first=True)
                yield _Cut(tile, block, blocks_first=False)

    def cycles(self, cut: _Cut) -> int:
        """About how many cycles the unit takes: all of the queue that takes more, and one part of the other."""
        tiles, blocks = self.tiles(cut), self.blocks(cut)
        images = tiles * (blocks if cut.blocks_first and tiles > 2 else 1)
        weights = blocks * (1 if cut.blocks_first or blocks <= 2 else tiles)
        job = _START + _JOB_WORDS
        copied = images * self.image_cycles(cut.lines)
        copied += weights * (4 * job + self.weight_bytes(cut.outputs) // _BUS_BYTES)
        copied += tiles * blocks * (job + self.result_bytes(cut) // _BUS_BYTES)
        runs = self.run.extent if self.image_output else -(-self.run.extent // _RUN_BYTES)
        reads = self.tap_y.extent * self.tap_x.extent * runs * -(-cut.outputs // _OUTPUTS)
        multiplied = blocks * (tiles * job + self.y.extent * self.x.extent * reads)
        return max(copied, multiplied) + min(copied, multiplied) // (tiles * blocks)


@dataclass
class _Slots:
    """Places in the scratchpad for one kind of thing.

    Attributes:
      first, size, count: where they are.
      held: what is in each.
      ready: jobs of the DMA queue after which it is there.
      used: jobs of the other queue after which it is not read any more.
    """

    first: int
    size: int
    count: int
    held: list[int] = field(default_factory=lambda: [-1, -1])
    ready: list[int] = field(default_factory=lambda: [0, 0])
    used: list[int] = field(default_factory=lambda: [0, 0])
    turn: int = 0

    def place(self, slot: int) -> int:
        return self.first + slot * self.size


class _Jobs:
    """Makes the jobs of a list: while one part is multiplied, the next one is loaded."""

    def __init__(self, product: _Product, cut: _Cut) -> None:
        self._product, self._cut = product, cut
        self._jobs: list[list[int]] = []
        self._copies = self._products = 0
        slots, first = [], 0
        for count, size in zip(product.slots(cut), product.sizes(cut), strict=True):
            slots.append(_Slots(first, size, count))
            first += count * size
        self._image, self._weights, self._result = slots

    def made(self) -> list[list[int]]:
        tiles, blocks = (
            range(self._product.tiles(self._cut)),
            range(self._product.blocks(self._cut)),
        )
        if self._cut.blocks_first:
            parts = [(tile, block) for block in blocks for tile in tiles]
        else:
            parts = [(tile, block) for tile in tiles for block in blocks]
        for number, (tile, block) in enumerate(parts):
            weights = self._loaded(self._weights, block, self._load_weights)
            image = self._loaded(self._image, tile, self._load_image)
            slot = number % self._result.count
            self._multiply(tile, block, image, weights, slot)
            # What comes next is loaded before this is stored.
            if number:
                self._store(*parts[number - 1], (number - 1) % self._result.count)
        self._store(*parts[-1], (len(parts) - 1) % self._result.count)
        return self._jobs

    def _lines(self, tile: int) -> int:
        return min(self._cut.lines, self._product.y.extent - tile * self._cut.lines)

    def _outputs(self, block: int) -> int:
        return min(self._cut.outputs, self._product.outputs - block * self._cut.outputs)

    def _loaded(
        self, slots: _Slots, wanted: int, load: Callable[[int, int, int, bool], None]
    ) -> int:
        """Returns where something is, after loading it if it is nowhere."""
        if wanted in slots.held[: slots.count]:
            return slots.held.index(wanted)
        slot, slots.turn = slots.turn, (slots.turn + 1) % slots.count
        load(wanted, slots.place(slot), slots.used[slot], slots.held[slot] < 0)
        slots.held[slot], slots.ready[slot] = wanted, self._copies
        return slot

    def _copy(
        self,
        kind: int,
        after: int,
        base: int,
        offset: int,
        place: int,
        size: int,
        lines: int = 1,
        step: int = 0,
    ) -> None:
        self._jobs.append([kind, after, base, offset, place, size, lines, step])
        self._copies += 1

    def _load_weights(self, block: int, place: int, after: int, _: bool) -> None:
        product, outputs, first = self._product, self._outputs(block), block * self._cut.outputs
        size = outputs * product.window
        self._copy(_LOAD, after, _WEIGHTS, first * product.window, place, size)
        for number in range(_NUMBERS if product.is_int8 else 0):
            to = self._numbers(place) + number * outputs * _NUMBER
            self._copy(_LOAD, after, _BIASES + number, first * _NUMBER, to, outputs * _NUMBER)

    def _numbers(self, weights: int) -> int:
        """The place behind a whole block of weights."""
        return weights + self._cut.outputs * self._product.window

    def _load_image(self, tile: int, place: int, after: int, is_new: bool) -> None:
        product, border = self._product, self._product.border
        if border:
            self._load_bordered(border, tile, place, after, is_new)
            return
        offset = tile * self._cut.lines * product.y.image
        self._copy(_LOAD, after, _IMAGE, offset, place, product.image_bytes(self._lines(tile)))

    def _load_bordered(
        self, border: PaddedCopy, tile: int, place: int, after: int, is_new: bool
    ) -> None:
        """Loads lines of an image into a place that holds its border, or gets it before."""
        product, line = self._product, border.line
        first = tile * self._cut.lines * product.y.image // line - border.lines_before
        rows = range(first, first + product.image_bytes(self._lines(tile)) // line)
        if is_new or rows[0] < 0 or rows[-1] >= border.lines:
            filler = product.outputs * product.window
            self._copy(_LOAD, after, _WEIGHTS, filler, place, line, len(rows))
        for number, row in enumerate(rows):
            if 0 <= row < border.lines:
                to = place + number * line + border.before
                self._copy(_LOAD, after, _IMAGE, row * border.pitch, to, border.inside)

    def _multiply(self, tile: int, block: int, image: int, weights: int, slot: int) -> None:
        product = self._product
        slots = (self._image, image), (self._weights, weights), (self._result, slot)
        after = max(each.ready[number] for each, number in slots)
        place = self._weights.place(weights)
        channel = block * self._cut.outputs * product.image_output
        self._jobs.append(
            [
                _MULTIPLY,
                after,
                self._image.place(image) + channel,
                place,
                self._numbers(place) if product.is_int8 else 0,
                self._result.place(slot),
                self._lines(tile),
                self._outputs(block),
            ]
        )
        self._products += 1
        self._image.used[image] = self._weights.used[weights] = self._products
        self._result.used[slot] = self._products

    def _store(self, tile: int, block: int, slot: int) -> None:
        product, lines, outputs = self._product, self._lines(tile), self._outputs(block)
        y, x = product.to_memory(product.y), product.to_memory(product.x)
        columns, pixel = product.x.extent, outputs * product.element
        offset = tile * self._cut.lines * y + block * self._cut.outputs * product.element
        place, after = self._result.place(slot), self._result.used[slot]
        if columns == 1 or x == pixel:
            size = columns * pixel
            if y == size or lines == 1:
                size, lines = size * lines, 1
            self._copy(_STORE, after, _RESULT, offset, place, size, lines, y)
        else:
            for line in range(lines):
                to = place + line * columns * pixel
                self._copy(_STORE, after, _RESULT, offset + line * y, to, pixel, columns, x)
        self._result.ready[slot] = self._copies
