"""Writes the loops of a product as assembly.

The lanes are cut into panels, each as wide as a group of vector registers. For one panel, the sums of a block of rows
stay in registers while the loops that are summed run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from bmc.kernels.assembly import Assembly, Kernel, TooManyRegisters
from bmc.kernels.block import REGISTERS, Block
from bmc.kernels.borders import Borders, Missing, step
from bmc.kernels.choice import DEFAULT, Choice
from bmc.kernels.constants import Constants, hoisted
from bmc.kernels.lanes import Lanes
from bmc.kernels.masks import Masks
from bmc.kernels.panels import LMULS, MOST_ROWS, Panel, cut
from bmc.kernels.product import RESULT, WIDTHS, A, B, Loop, Product, Unsupported
from bmc.kernels.rows import emit
from bmc.kernels.stage import Stage
from bmc.kernels.sums import Sums

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
                found.append(_Nest(product, vlen, replace(tried, rows=most)).kernel())
                break
            except TooManyRegisters as reason:
                problem = reason
            except Unsupported as reason:
                problem = reason
                break
    if not found:
        raise problem
    return min(found, key=lambda kernel: kernel.cost)


def cost(product: Product, vlen: int, behind: int) -> float:
    """Returns about how many instructions a kernel executes, with `behind` for each complete group of sums.

    Raises:
      Unsupported: as write().
    """
    found = []
    problem = Unsupported("no such choice")
    for tried in _ways(product, Choice(rows=MOST_ROWS, shares=True)):
        try:
            found.append(_Nest(product, vlen, tried).cost(behind))
        except Unsupported as reason:
            problem = reason
    if not found:
        raise problem
    return min(found)


def _ways(product: Product, choice: Choice) -> Iterator[Choice]:
    """Yields the choices in which taps share loads or do not, and `b` waits in 16 bits or does not."""
    sharing = (True, False) if product.padding is None else (True,)  # Always, where it has borders.
    for stages in (True, False) if product.dtypes[B] == "i8" else (False,):
        for shares in sharing:
            if choice.shares in (None, shares) and choice.stages in (None, stages):
                yield replace(choice, shares=shares, stages=stages)


class _Nest:
    """The choice has a number of rows, whether the taps of a window share loads, and whether `b` waits in 16 bits."""

    def __init__(self, product: Product, vlen: int, choice: Choice) -> None:
        self._product = product
        self._vlen = vlen
        self._choice = choice
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        none = Loop(1, (0,) * len(product.dtypes))
        *lines, self._line = product.rows or (none,)
        self._stage = self._staged(choice)
        # What the sums of blocks read.
        staged = self._stage.product if self._stage else product
        self._borders = Borders(staged, self._line)
        padding = product.padding
        if padding and padding.value and product.is_float:
            raise Unsupported("an image that is padded with other floats than zeros")
        if (
            product.initial is not None
            and 8 * WIDTHS[product.dtypes[product.initial]] != product.bits
        ):
            raise Unsupported("sums of f32 that start from f16")
        self._filler = int(padding.value) if padding else 0
        has_masks = padding is not None and padding.operand == B
        self._masks = Masks(self._out, staged, vlen) if has_masks else None
        # Loops in which masks stay the same are inside of what computes them.
        inside = [loop for loop in product.outer if self._masks and not any(loop.steps)]
        self._around = tuple(loop for loop in product.outer if loop not in inside)
        self._lines = [*inside, *lines]
        # Operands of the result's shape move from row to row; others have one value for each lane.
        self._moving = [
            number
            for number in range(B, len(product.dtypes))
            if number == RESULT or any(loop.strides[number] for loop in (*self._lines, self._line))
        ]
        self._sums = Sums(self._out, staged, self._line, self._borders, self._masks, choice)
        self._panels = cut(staged, self._sums, self._line, vlen, choice)
        # Registers with the epilogue's floats.
        self._constants: Constants = {}
        self._width = product.bits // 8
        in_memory = [p.rows * p.lanes * self._width for p in self._panels if p.behind]
        # The masks are behind the sums, and what is in 16 bits behind these.
        self._sums_bytes = max(in_memory, default=0)
        self._scratch_bytes = self._sums_bytes
        if self._masks is not None:
            self._scratch_bytes += self._masks.bytes
        self._staged_at = -(-self._scratch_bytes // _ALIGNMENT) * _ALIGNMENT
        if self._stage is not None:
            self._scratch_bytes = self._staged_at + self._stage.bytes
        self._scratch = self._out.argument() if self._scratch_bytes else ""

    def _staged(self, choice: Choice) -> Stage | None:
        if not choice.stages:
            return None
        widest = (choice.lmul or LMULS[-1]) * self._vlen // 32
        lanes = min(widest, self._product.lanes.extent)
        return Stage(self._out, self._product, self._vlen, lanes)

    def kernel(self) -> Kernel:
        out = self._out
        left = _FLOATS - self._sums.floats(max(panel.rows for panel in self._panels))
        self._constants = hoisted(out, self._product.epilogue, left)
        padding = self._product.padding
        if padding is not None:
            out.add(self._bases[padding.operand], padding.offset)
        if self._masks is not None:
            self._masks.start()
        self._outer(self._around)
        clobbered, scratch = tuple(out.clobbered()), self._scratch_bytes
        return Kernel(out.text(), tuple(out.arguments), clobbered, scratch, cost=self.cost(0))

    def cost(self, behind: int) -> float:
        loops = (*self._around, *self._lines, self._line)
        rows = math.prod(loop.extent for loop in loops)
        total = rows * sum(panel.count * (panel.cost + behind) for panel in self._panels)
        outer = math.prod(loop.extent for loop in self._around)
        for panel in self._panels:
            masks = self._masks.cost if self._masks else 0
            stage = self._stage.cost(panel.lanes) if self._stage else 0
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
            self._out.set(self._masks.first, 0)
        for panel in self._panels:

            def body(panel: Panel = panel) -> None:
                self._panel(panel)
                rows = [*self._lines, self._line][0]
                for number, base in enumerate(self._bases):
                    moved = number == 0 or number in self._moving
                    done = rows.extent * rows.strides[number] if moved else 0
                    self._out.add(base, panel.lanes * lanes.strides[number] - done)
                if self._masks is not None:
                    self._out.add(self._masks.first, panel.lanes)

            self._out.repeat(panel.count, body)

    def _panel(self, panel: Panel) -> None:
        out = self._out
        distances = self._sums.distances
        down, filler = self._borders.down, self._filler
        values = [*distances, *(edge.start for edge in down), *([filler] if filler else [])]
        masks = int(self._masks is not None)
        with (
            out.registers(1 + len(values)) as (length, *registers),
            out.registers(masks) as addresses,
            out.registers(int(self._stage is not None)) as staged,
        ):
            out.set(length, panel.lanes)
            for register, value in zip(registers, values, strict=True):
                out.set(register, value)
            constants = dict(zip(distances, registers, strict=False))
            numbers = [edge.number for edge in down]
            positions = dict(zip(numbers, registers[len(distances) :], strict=False))
            lanes = Lanes(
                panel.lanes, panel.lmul, length, self._product.apart, bits=self._product.bits
            )
            place = _Place(
                panel.rows,
                panel.behind,
                lanes,
                constants,
                positions,
                registers[-1] if filler else "",
                *(addresses or [""]),
                *(staged or [self._bases[B]]),
            )
            if self._masks is not None:
                out.move(place.masks, self._scratch)
                out.add(place.masks, self._sums_bytes)
                self._masks.write(lanes, place.masks)
            if self._stage is not None:
                out.move(place.b, self._scratch)
                out.add(place.b, self._staged_at)
                first, positions = (
                    (self._masks.first, self._masks.positions) if self._masks else ("", {})
                )
                self._stage.write(self._bases[B], first, positions, lanes.count, place.b)
            self._over(self._lines, place)

    def _over(self, loops: list[Loop], place: _Place) -> None:
        """Runs over the lines of rows, and moves the addresses of what depends on rows."""
        if not loops:
            for count, rows, missing in self._borders.blocks(place.rows):

                def block(rows: int = rows, missing: Missing = missing) -> None:
                    self._block(rows, missing, place)

                self._out.repeat(count, block)
            return
        first, *rest = loops
        inner = rest[0] if rest else self._line

        def body() -> None:
            self._over(rest, place)
            for number in (0, *self._moving):
                done = inner.extent * inner.strides[number]
                self._out.add(self._bases[number], first.strides[number] - done)
            for number, position in place.positions.items():
                done = inner.extent * step(inner, number) if rest else 0
                self._out.add(position, step(first, number) - done)

        self._out.repeat(first.extent, body)

    def _block(self, rows: int, missing: Missing, place: _Place) -> None:
        out = self._out
        lmul = place.lanes.lmul
        groups = REGISTERS // lmul
        sums = list(range(groups - rows, groups))
        bits = place.lanes.bits
        place.lanes.use(out, bits)
        self._start(sums, lmul)
        masked = "mu" if self._masks else "ma"
        if self._masks or not self._product.keeps_width:
            place.lanes.use(out, bits if self._product.keeps_width else 16, masked)
        registers = [group * lmul for group in sums]
        block = Block(
            registers,
            place.lanes,
            place.constants,
            missing,
            place.positions,
            place.filler,
            place.masks,
        )
        self._sums.write(block, self._bases[A], place.b)
        out.add(self._bases[A], rows * self._line.strides[A])
        if self._masks or not self._product.keeps_width:
            place.lanes.use(out, bits)
        if place.behind:
            self._store(block)
            out.repeat(rows, lambda: self._row(place))
            out.add(self._scratch, -rows * place.lanes.count * self._width)
            return
        steps = {
            number: self._line.strides[number]
            for number in self._moving
            if self._line.strides[number]
        }
        self._epilogue(sums, list(range(groups - rows)), place.lanes, steps)

    def _epilogue(
        self, sums: list[int], free: list[int], lanes: Lanes, steps: dict[int, int]
    ) -> None:
        nodes, addresses = self._product.epilogue, self._bases.__getitem__
        emit(self._out, nodes, sums, free, addresses, lanes, self._constants, steps)

    def _store(self, block: Block) -> None:
        """Stores the sums of a block, and leaves its address as it was."""
        with self._out.registers(1) as (to,):
            self._out.move(to, self._scratch)
            for register in block.registers:
                self._out.emit(f"vse{block.lanes.bits}.v v{register}, ({to})")
                self._out.add(to, block.lanes.count * self._width)

    def _row(self, place: _Place) -> None:
        """Emits the epilogue of a row of sums in memory, and moves to the next one."""
        out = self._out
        count = place.lanes.count
        widest = place.behind * self._vlen // place.lanes.bits
        whole, left = divmod(count, widest)
        if whole:
            out.repeat(whole, lambda: self._piece(widest, place.behind))
        if left:
            self._piece(left, place.behind)
        strides = self._product.lanes.strides
        for number in range(RESULT, len(self._bases)):
            moved = self._line.strides[number] if number in self._moving else 0
            out.add(self._bases[number], moved - count * strides[number])

    def _piece(self, count: int, lmul: int) -> None:
        """Emits the epilogue of some lanes, and moves to those behind them."""
        out = self._out
        *free, group = range(REGISTERS // lmul)
        with out.registers(1) as (length,):
            out.set(length, count)
            bits = self._product.bits
            lanes = Lanes(count, lmul, length, self._product.apart, bits=bits)
            lanes.use(out, bits)
            out.emit(f"vle{bits}.v v{group * lmul}, ({self._scratch})")
            out.add(self._scratch, count * self._width)
            self._epilogue([group], free, lanes, {})
        for number in range(RESULT, len(self._bases)):
            out.add(self._bases[number], count * self._product.lanes.strides[number])

    def _start(self, sums: list[int], lmul: int) -> None:
        out = self._out
        initial = self._product.initial
        first, *others = [f"v{group * lmul}" for group in sums]
        if initial is None:
            for register in (first, *others):
                out.emit(f"vmv.v.i {register}, 0")
        elif self._product.lanes.strides[initial]:
            out.emit(f"vle{self._product.bits}.v {first}, ({self._bases[initial]})")
            for register in others:
                out.emit(f"vmv.v.v {register}, {first}")
        else:
            with out.registers(1) as (number,):
                for row, register in enumerate((first, *others)):
                    # A float's bits are an integer's.
                    place = row * self._line.strides[initial]
                    out.load(number, place, self._bases[initial], self._product.bits)
                    out.emit(f"vmv.v.x {register}, {number}")


@dataclass(frozen=True)
class _Place:
    """What the blocks of a panel share.

    Attributes:
      rows: how many rows a block has at most.
      behind: LMUL of the epilogue, as in Panel.
      constants, positions, filler, masks: as in Block.
      b: register with the address of the panel in `b`.
    """

    rows: int
    behind: int
    lanes: Lanes
    constants: dict[int, str]
    positions: dict[int, str]
    filler: str
    masks: str
    b: str
