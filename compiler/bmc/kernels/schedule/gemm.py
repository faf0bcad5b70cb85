"""Writes the loops of a product as assembly.

The lanes are cut into panels, each as wide as a group of vector registers. For one panel, the sums of a block of rows
stay in registers while the loops that are summed run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.epilogue.constants import Constants, hoisted
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.padding.borders import Borders, OutOfBounds, step
from bmc.kernels.padding.masks import Masks
from bmc.kernels.problem.product import LANES, RESULT, A, B, Loop, Product, Unsupported
from bmc.kernels.schedule.accumulate import Accumulate
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.schedule.k_blocks import KBlocks, k_blocked
from bmc.kernels.schedule.panels import LMULS, MOST_ROWS, Panel, cut
from bmc.kernels.schedule.row_block import REGISTERS, Block, Place
from bmc.kernels.schedule.spill import Spill
from bmc.kernels.schedule.widen import TooLarge, Widened
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Kernel, TooManyRegisters
from bmc.kernels.tree.lanes import Lanes

# Registers for the sums' numbers and for constants; the epilogue needs one more.
_FLOATS = 31
# Where a panel of 16 bits begins in the scratch memory.
_ALIGNMENT = 16


def write(product: Product, vlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: the epilogue has operations or needs registers that there are not.
      TooManyRegisters: too many operands or loops.
    """
    found = []
    problem = Unsupported("no such choice")
    for tried in _ways(product, choice):
        for most in (MOST_ROWS, 10, 8, 6, 4, 2) if choice.rows is None else (choice.rows,):
            try:
                found.append(_Gemm(product, vlen, replace(tried, rows=most)).kernel())
                break
            except TooManyRegisters as reason:
                problem = reason
            except Unsupported as reason:
                problem = reason
                break
    if not found:
        raise problem
    return min(found, key=lambda kernel: kernel.executed)


def cost(product: Product, vlen: int, epilogue_cost: int) -> float:
    """Returns about how many instructions a kernel executes, with `epilogue_cost` for each complete group of sums.

    Raises:
      Unsupported: as write().
    """
    found = []
    problem = Unsupported("no such choice")
    for tried in _ways(product, Choice(rows=MOST_ROWS, reuses=True)):
        try:
            found.append(_Gemm(product, vlen, tried).cost(epilogue_cost))
        except Unsupported as reason:
            problem = reason
    if not found:
        raise problem
    return min(found)


def _ways(product: Product, choice: Choice) -> Iterator[Choice]:
    """Yields the choices in which taps share loads or do not, and `b` waits in 16 bits or does not."""
    sharing = (True, False) if product.padding is None else (True,)  # Always, where it has borders.
    for widens in (True, False) if product.dtypes[B] == "i8" else (False,):
        for reuses in sharing:
            if choice.reuses in (None, reuses) and choice.widens in (None, widens):
                yield replace(choice, reuses=reuses, widens=widens)


class _Gemm:
    """The choice has a number of rows, whether the taps of a window share loads, and whether `b` waits in 16 bits."""

    def __init__(self, product: Product, vlen: int, choice: Choice) -> None:
        self._vlen = vlen
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        self._widened, self._k_blocks = self._staged(product, choice)
        if self._k_blocks is not None:
            product, choice = self._k_blocks.product, replace(choice, spills=True)
        self._product = product
        none = Loop(1, (0,) * len(product.dtypes))
        *lines, self._inner_rows = product.rows or (none,)
        # What the sums of blocks read.
        staged = self._widened.product if self._widened else product
        self._borders = Borders(staged, self._inner_rows)
        padding = product.padding
        if padding and padding.value and product.scheme.is_float:
            raise Unsupported("an image that is padded with other floats than zeros")
        if (
            product.initial is not None
            and 8 * WIDTHS[product.dtypes[product.initial]] != product.scheme.bits
        ):
            raise Unsupported("sums of f32 that start from f16")
        self._pad_value = int(padding.value) if padding else 0
        has_masks = padding is not None and padding.operand == B
        self._masks = Masks(self._out, staged, vlen) if has_masks else None
        # Loops in which masks stay the same are inside of what computes them.
        inside = [loop for loop in product.outer if self._masks and not any(loop.steps)]
        self._around = tuple(loop for loop in product.outer if loop not in inside)
        self._row_loops = [*inside, *lines, self._inner_rows]
        # Operands of the result's shape move from row to row; others have one value for each lane.
        self._moving = [
            number
            for number in range(B, len(product.dtypes))
            if number == RESULT or any(loop.strides[number] for loop in self._row_loops)
        ]
        turns = self._k_blocks.loop.extent if self._k_blocks else 1
        self._accumulate = Accumulate(
            self._out, staged, self._inner_rows, self._borders, self._masks, choice, turns
        )
        self._panels = cut(staged, self._accumulate, self._inner_rows, vlen, choice)
        # Registers with the epilogue's floats.
        self._constants: Constants = {}
        # Rows whose sums are in memory at a time, where that is no block.
        group = self._row_loops[-self._k_blocks.group :] if self._k_blocks else ()
        self._grouped = math.prod(loop.extent for loop in group) if self._k_blocks else 0
        in_memory = [
            (self._grouped or p.rows) * p.lanes * product.scheme.bits // 8
            for p in self._panels
            if p.epilogue_lmul
        ]
        # The masks are behind the sums, and what is in 16 bits behind these.
        self._sums_bytes = max(in_memory, default=0)
        self._scratch_bytes = self._sums_bytes
        if self._masks is not None:
            self._scratch_bytes += self._masks.bytes
        self._staged_at = -(-self._scratch_bytes // _ALIGNMENT) * _ALIGNMENT
        if self._widened is not None:
            self._scratch_bytes = self._staged_at + self._widened.bytes
        self._scratch = self._out.argument() if self._scratch_bytes else ""
        self._start_offsets = {number: self._out.argument() for number in product.start_offsets}

    def _staged(self, product: Product, choice: Choice) -> tuple[Widened | None, KBlocks | None]:
        if not choice.widens:
            return None, None
        widest = (choice.lmul or LMULS[-1]) * self._vlen // 32
        lanes = min(widest, product.lanes.extent)
        try:
            return Widened(self._out, product, self._vlen, lanes), None
        except TooLarge:
            # Between the chunks, sums wait.
            if choice.spills is False:
                raise
            for chunks in k_blocked(product, lanes):
                with suppress(TooLarge):
                    return Widened(self._out, chunks.product, self._vlen, lanes), chunks
            raise

    def kernel(self) -> Kernel:
        out = self._out
        left = _FLOATS - self._accumulate.floats(max(panel.rows for panel in self._panels))
        self._constants = hoisted(out, self._product.epilogue, left)
        self._spill = Spill(
            out,
            self._product,
            self._bases,
            self._inner_rows,
            self._moving,
            self._constants,
            self._vlen,
            self._scratch,
        )
        padding = self._product.padding
        if padding is not None:
            out.add(self._bases[padding.operand], padding.offset)
        if self._masks is not None:
            self._masks.start(self._start_offsets)
        self._outer(self._around)
        return out.kernel(self._scratch_bytes, start_offsets=self._start_offsets)

    def cost(self, epilogue_cost: int) -> float:
        rows = math.prod(loop.extent for loop in (*self._around, *self._row_loops))
        total = rows * sum(panel.count * (panel.cost + epilogue_cost) for panel in self._panels)
        outer = math.prod(loop.extent for loop in self._around)
        for panel in self._panels:
            masks = self._masks.cost if self._masks else 0
            stage = self._widened.cost(panel.lanes) if self._widened else 0
            if self._k_blocks:
                stage *= self._k_blocks.loop.extent * rows // (outer * self._grouped)
            total += outer * panel.count * (masks + stage)
        return total

    def _outer(self, loops: tuple[Loop, ...]) -> None:
        if not loops:
            self._across()
            return
        first, *rest = loops
        inner = rest[0] if rest else self._product.lanes

        def body() -> None:
            self._outer(tuple(rest))
            for number, base in enumerate(self._bases):
                self._out.add(base, first.strides[number] - inner.extent * inner.strides[number])
            for number, position in (self._masks.positions if self._masks else {}).items():
                done = inner.extent * step(inner, number) if rest else 0
                self._out.add(position, step(first, number) - done)

        self._out.repeat(first.extent, body)

    def _across(self) -> None:
        lanes = self._product.lanes
        if self._masks is not None:
            if LANES in self._start_offsets:
                self._out.move(self._masks.first, self._start_offsets[LANES])
            else:
                self._out.set(self._masks.first, 0)
        for panel in self._panels:

            def body(panel: Panel = panel) -> None:
                self._panel(panel)
                rows = self._row_loops[0]
                for number, base in enumerate(self._bases):
                    moved = number == 0 or number in self._moving
                    done = rows.extent * rows.strides[number] if moved else 0
                    self._out.add(base, panel.lanes * lanes.strides[number] - done)
                if self._masks is not None:
                    self._out.add(self._masks.first, panel.lanes)

            self._out.repeat(panel.count, body)

    def _panel(self, panel: Panel) -> None:
        out = self._out
        distances = self._accumulate.distances
        down, pad_value = self._borders.vertical, self._pad_value
        values = [*distances, *(edge.start for edge in down), *([pad_value] if pad_value else [])]
        masks = int(self._masks is not None)
        with (
            out.registers(1 + len(values)) as (length, *registers),
            out.registers(masks) as addresses,
            out.registers(int(self._widened is not None)) as staged,
        ):
            out.set(length, panel.lanes)
            for register, value in zip(registers, values, strict=True):
                out.set(register, value)
            for edge, register in zip(down, registers[len(distances) :], strict=False):
                if edge.moves:
                    out.emit(rvv.add(register, register, self._start_offsets[edge.number]))
            constants = dict(zip(distances, registers, strict=False))
            numbers = [edge.number for edge in down]
            positions = dict(zip(numbers, registers[len(distances) :], strict=False))
            lanes = Lanes(
                panel.lanes,
                panel.lmul,
                length,
                self._product.strided,
                bits=self._product.scheme.bits,
            )
            place = Place(
                panel.rows,
                panel.epilogue_lmul,
                lanes,
                constants,
                positions,
                registers[-1] if pad_value else "",
                *(addresses or [""]),
                *(staged or [self._bases[B]]),
            )
            if self._masks is not None:
                out.move(place.masks, self._scratch)
                out.add(place.masks, self._sums_bytes)
                self._masks.write(lanes, place.masks)
            stage, chunks = self._widened, self._k_blocks
            inside, body = 1, lambda: self._blocks(place)
            if stage is not None:
                out.move(place.b, self._scratch)
                out.add(place.b, self._staged_at)
                if chunks is not None:
                    inside, body = chunks.group, lambda: self._in_turns(stage, chunks, place)
                else:
                    first, positions = (
                        (self._masks.first, self._masks.positions) if self._masks else ("", {})
                    )
                    stage.write(self._bases[B], first, positions, lanes.count, place.b)
            self._over(self._row_loops, inside, (A, *self._moving), place, body)

    def _over(
        self,
        loops: list[Loop],
        inside: int,
        moved: Iterable[int],
        place: Place,
        body: Callable[[], None],
    ) -> None:
        """Runs over the lines of rows but for those inside of the body, and moves the addresses of what it moved."""
        if len(loops) == inside:
            body()
            return
        first, inner, *rest = loops

        def turn() -> None:
            self._over(loops[1:], inside, moved, place, body)
            for number in moved:
                done = inner.extent * inner.strides[number]
                self._out.add(self._bases[number], first.strides[number] - done)
            for number, position in place.positions.items():
                done = inner.extent * step(inner, number) if rest else 0
                self._out.add(position, step(first, number) - done)

        self._out.repeat(first.extent, turn)

    def _blocks(self, place: Place) -> None:
        """Runs over the blocks of a line."""
        for count, rows, out_of_bounds in self._borders.blocks(place.rows):

            def block(rows: int = rows, out_of_bounds: OutOfBounds = out_of_bounds) -> None:
                self._block(rows, out_of_bounds, place)

            self._out.repeat(count, block)

    def _in_turns(self, stage: Widened, chunks: KBlocks, place: Place) -> None:
        """Computes a group of rows, one chunk of their sums after the other."""
        out = self._out
        loops, loop = self._row_loops[-chunks.group :], chunks.loop
        first = loops[0]
        a, b = self._bases[A], self._bases[B]
        place.lanes.use(out, place.lanes.bits)
        self._spill.fill(place.lanes, self._grouped)

        def turn() -> None:
            stage.write(b, "", {}, place.lanes.count, place.b)
            self._over(loops, 1, (A,), place, lambda: self._blocks(place))
            self._spill.back(place.lanes, self._grouped)
            out.add(a, loop.strides[A] - first.extent * first.strides[A])
            out.add(b, loop.strides[B])
            for number, position in place.positions.items() if len(loops) > 1 else ():
                out.add(position, -first.extent * step(first, number))

        out.repeat(loop.extent, turn)
        out.add(a, -loop.extent * loop.strides[A])
        out.add(b, -loop.extent * loop.strides[B])

        def line() -> None:
            count, lmul = place.lanes.count, place.epilogue_lmul
            out.repeat(self._inner_rows.extent, lambda: self._spill.row(count, lmul))
            out.add(a, self._inner_rows.extent * self._inner_rows.strides[A])

        self._over(loops, 1, (A, *self._moving), place, line)
        self._spill.back(place.lanes, self._grouped)

    def _block(self, rows: int, out_of_bounds: OutOfBounds, place: Place) -> None:
        out = self._out
        lmul = place.lanes.lmul
        groups = REGISTERS // lmul
        sums = list(range(groups - rows, groups))
        bits = place.lanes.bits
        place.lanes.use(out, bits)
        registers = [group * lmul for group in sums]
        block = Block(
            registers,
            place.lanes,
            place.constants,
            out_of_bounds,
            place.positions,
            place.pad_value,
            place.masks,
        )
        if self._k_blocks is not None:
            self._spill.load(block)
        else:
            self._spill.start(registers)
        masked = "mu" if self._masks else "ma"
        if self._masks or self._product.scheme.widens:
            place.lanes.use(out, 16 if self._product.scheme.widens else bits, masked)
        self._accumulate.write(block, self._bases[A], place.b)
        out.add(self._bases[A], rows * self._inner_rows.strides[A])
        if self._masks or self._product.scheme.widens:
            place.lanes.use(out, bits)
        if place.epilogue_lmul:
            self._spill.store(block)
            if self._k_blocks is not None:
                self._spill.back(place.lanes, -rows)
                return
            out.repeat(rows, lambda: self._spill.row(place.lanes.count, place.epilogue_lmul))
            self._spill.back(place.lanes, rows)
            return
        steps = {
            number: self._inner_rows.strides[number]
            for number in self._moving
            if self._inner_rows.strides[number]
        }
        nodes, addresses = self._product.epilogue, self._bases.__getitem__
        free = list(range(groups - rows))
        emit(out, nodes, sums, free, addresses, place.lanes, self._constants, steps)
