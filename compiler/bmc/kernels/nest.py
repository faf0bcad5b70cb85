"""Writes the loops of a product as assembly.

The lanes are cut into panels, each as wide as a group of vector registers. For one panel, the sums of a few
rows stay in registers while the loops that are summed run: each step loads one group of `b` and, for each row,
one number of `a`, and multiplies and adds. The taps of a window are steps that read many of the same numbers,
so they are loaded once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels import epilogue
from bmc.kernels.assembly import Assembly, TooManyRegisters, fits
from bmc.kernels.epilogue import Lanes
from bmc.kernels.product import RESULT, Loop, Product, Unsupported, merged

_REGISTERS = 32
_LMULS = (1, 2, 4, 8)
_MOST_ROWS = 14
# Numbers of `a` that are in integer registers at a time.
_MOST_NUMBERS = 10
_LARGEST_WINDOW = 7
# Taps of a depthwise convolution, all of which are unrolled.
_MOST_PAIRS = 49
# Instructions in an unrolled loop, about.
_UNROLLED = 96


@dataclass(frozen=True)
class Kernel:
    """Assembly text, whose operands' addresses are in `arguments`, and the registers it changes."""

    text: str
    arguments: tuple[str, ...]
    clobbered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """`count` neighboring pieces of `lanes` lanes, each in groups of `lmul` registers, `rows` rows at a time."""

    lanes: int
    lmul: int
    rows: int
    count: int = 1


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts whose VLEN is at least `vlen` bits.

    Raises:
      Unsupported: the epilogue has operations or needs registers that there are not.
      TooManyRegisters: too many operands or loops.
    """
    for most in (_MOST_ROWS, 10, 8, 6, 4, 2):
        try:
            return _Nest(product, vlen, most).kernel()
        except TooManyRegisters:
            continue
    raise TooManyRegisters


class _Nest:
    def __init__(self, product: Product, vlen: int, most_rows: int) -> None:
        self._product = product
        self._vlen = vlen
        self._most_rows = most_rows
        self._out = Assembly(len(product.dtypes))
        self._bases = self._out.arguments
        none = Loop(1, (0,) * len(product.dtypes))
        *self._lines, self._line = product.rows or (none,)
        # Operands of the result's shape move from row to row; others have one value for each lane.
        self._moving = [
            number
            for number in range(RESULT, len(product.dtypes))
            if number == RESULT or any(loop.strides[number] for loop in product.rows)
        ]
        # Whether both operands have lanes, as in a depthwise convolution.
        self._pairs = product.lanes.strides[0] != 0
        self._taps, self._sums = _window(product, self._line, none)
        if self._pairs and math.prod(loop.extent for loop in product.sums) > _MOST_PAIRS:
            raise Unsupported("a large window")

    def kernel(self) -> Kernel:
        self._outer(self._product.outer)
        return Kernel(self._out.text(), tuple(self._bases), tuple(self._out.clobbered()))

    def _outer(self, loops: tuple[Loop, ...]) -> None:
        if not loops:
            self._panels()
            return
        first, *rest = loops
        inner = rest[0] if rest else self._product.lanes

        def body() -> None:
            self._outer(tuple(rest))
            for number, base in enumerate(self._bases):
                self._out.add(base, first.strides[number] - inner.extent * inner.strides[number])

        self._out.repeat(first.extent, body)

    def _panels(self) -> None:
        lanes = self._product.lanes
        for panel in self._cut():

            def body(panel: Panel = panel) -> None:
                self._panel(panel)
                rows = [*self._lines, self._line][0]
                for number, base in enumerate(self._bases):
                    moved = number == 0 or number in self._moving
                    done = rows.extent * rows.strides[number] if moved else 0
                    self._out.add(base, panel.lanes * lanes.strides[number] - done)

            self._out.repeat(panel.count, body)

    def _cut(self) -> list[Panel]:
        """Cuts the lanes so that a step costs the fewest instructions for each lane."""
        shapes = [
            (lmul * self._vlen // 32, lmul, rows)
            for lmul in _LMULS
            if (rows := self._rows(lmul)) > 0
        ]
        if not shapes:
            raise Unsupported("registers")
        widest, lmul, rows = shapes[-1]
        best: dict[int, tuple[float, list[Panel]]] = {0: (0.0, [])}
        for left in range(1, 2 * widest):
            choices = []
            for most, each_lmul, each_rows in shapes:
                lanes = min(most, left)
                cost, others = best[left - lanes]
                cost += self._step(each_rows) / each_rows
                choices.append((cost, [Panel(lanes, each_lmul, each_rows), *others]))
            best[left] = min(choices, key=lambda choice: choice[0])
        whole, left = divmod(self._product.lanes.extent, widest)
        if whole and left:
            whole, left = whole - 1, left + widest
        found = [Panel(widest, lmul, rows)] * whole + best[left][1]
        result: list[Panel] = []
        for panel in found:
            last = result[-1] if result else None
            if last and (last.lanes, last.lmul) == (panel.lanes, panel.lmul):
                result[-1] = Panel(panel.lanes, panel.lmul, panel.rows, last.count + 1)
            else:
                result.append(panel)
        return result

    def _rows(self, lmul: int) -> int:
        """How many rows of sums fit into the vector registers beside what else is needed."""
        # Groups of `b`, and of `a` if it has lanes, and what they are widened from.
        narrow = 1 + self._pairs + (lmul == 1 and not self._product.is_float)
        nodes = self._product.epilogue
        most = _REGISTERS // lmul - max(narrow, epilogue.temporaries(nodes, lmul))
        if self._pairs or not self._product.is_float:
            most = min(most, _MOST_NUMBERS)
        return min(most, self._most_rows, self._line.extent)

    def _step(self, rows: int) -> int:
        """Instructions of one step of the innermost sum, without the loop around it."""
        column = 2 if self._product.is_float else 3
        if self._pairs:
            return column + rows * (column + 1)
        taps = self._taps.extent
        return len(_offsets(self._line, self._taps, rows)) + taps * (column + rows)

    def _panel(self, panel: Panel) -> None:
        out = self._out
        step = self._sums[-1].strides[1]
        with out.registers(1 if fits(step) else 2) as (length, *stride):
            out.set(length, panel.lanes)
            for register in stride:
                out.set(register, step)
            lanes = Lanes(panel.lanes, panel.lmul, length)
            self._over(self._lines, _Place(panel, lanes, "".join(stride)))

    def _over(self, loops: list[Loop], place: _Place) -> None:
        """Runs over the lines of rows, and moves the addresses of what depends on rows."""
        if not loops:
            blocks = math.ceil(self._line.extent / place.panel.rows)
            rows, more = divmod(self._line.extent, blocks)
            if more:
                self._out.repeat(more, lambda: self._block(rows + 1, place))
            self._out.repeat(blocks - more, lambda: self._block(rows, place))
            return
        first, *rest = loops
        inner = rest[0] if rest else self._line

        def body() -> None:
            self._over(rest, place)
            for number in (0, *self._moving):
                done = inner.extent * inner.strides[number]
                self._out.add(self._bases[number], first.strides[number] - done)

        self._out.repeat(first.extent, body)

    def _block(self, rows: int, place: _Place) -> None:
        out = self._out
        lmul = place.panel.lmul
        groups = _REGISTERS // lmul
        sums = list(range(groups - rows, groups))
        place.lanes.use(out, 32)
        self._start(sums, lmul)
        if not self._product.is_float:
            place.lanes.use(out, 16)
        registers = [group * lmul for group in sums]
        if self._pairs:
            self._sum_pairs(rows, lmul, registers)
        else:
            self._sum(rows, place, registers)
        out.add(self._bases[0], rows * self._line.strides[0])
        if not self._product.is_float:
            place.lanes.use(out, 32)
        for row, group in enumerate(sums):
            addresses = dict(enumerate(self._bases))
            free = [g for g in range(groups) if g not in sums[row:]]
            epilogue.emit(out, self._product.epilogue, group, free, addresses, place.lanes)
            for number in self._moving:
                out.add(self._bases[number], self._line.strides[number])

    def _start(self, sums: list[int], lmul: int) -> None:
        first, *others = [f"v{group * lmul}" for group in sums]
        if self._product.initial is None:
            for register in (first, *others):
                self._out.emit(f"vmv.v.i {register}, 0")
            return
        self._out.emit(f"vle32.v {first}, ({self._bases[self._product.initial]})")
        for register in others:
            self._out.emit(f"vmv.v.v {register}, {first}")

    def _sum_pairs(self, rows: int, lmul: int, sums: list[int]) -> None:
        """Multiplies lanes with lanes, for all taps."""
        out = self._out
        is_float = self._product.is_float
        taps = [(0, 0)]
        for loop in self._product.sums:
            a, b, *_ = loop.strides
            taps = [(x + n * a, y + n * b) for x, y in taps for n in range(loop.extent)]
        half = max(1, lmul // 2)
        image, narrow = (lmul, 0) if is_float else (half, 2 * half)
        width = 32 if is_float else 8
        with out.registers(rows + 1) as (column, *pointers):
            out.move(column, self._bases[1])
            for row, pointer in enumerate(pointers):
                out.move(pointer, pointers[row - 1] if row else self._bases[0])
                out.add(pointer, self._line.strides[0] if row else 0)

            def load(to: int, pointer: str, move: int) -> None:
                out.emit(f"vle{width}.v v{to if is_float else narrow}, ({pointer})")
                out.add(pointer, move)
                if not is_float:
                    out.emit(f"vsext.vf2 v{to}, v{narrow}")

            for (a, b), (next_a, next_b) in zip(taps, [*taps[1:], taps[-1]], strict=True):
                load(0, column, next_b - b)
                for pointer, register in zip(pointers, sums, strict=True):
                    load(image, pointer, next_a - a)
                    multiply = "vfmacc.vv" if is_float else "vwmacc.vv"
                    out.emit(f"{multiply} v{register}, v{image}, v0")

    def _sum(self, rows: int, place: _Place, sums: list[int]) -> None:
        out = self._out
        offsets = _offsets(self._line, self._taps, rows)
        innermost = self._sums[-1]
        unroll = max(1, min(innermost.extent, _UNROLLED // self._step(rows)))
        while unroll > 1 and not fits(unroll * innermost.strides[0]):
            unroll -= 1
        # The smallest offset that each pointer serves.
        starts: list[int] = []
        for offset in offsets:
            if not starts or not fits(offset - starts[-1] + unroll * innermost.strides[0]):
                starts.append(offset)
        with out.registers(len(starts) + self._taps.extent) as registers:
            pointers = dict(zip(starts, registers, strict=False))
            columns = registers[len(starts) :]
            for start, pointer in pointers.items():
                out.move(pointer, self._bases[0])
                out.add(pointer, start)
            for tap, column in enumerate(columns):
                out.move(column, columns[tap - 1] if tap else self._bases[1])
                out.add(column, self._taps.strides[1] if tap else 0)
            block = _Block(rows, sums, pointers, columns, place)
            self._loops(self._sums, unroll, block)

    def _loops(self, loops: tuple[Loop, ...], unroll: int, block: _Block) -> None:
        out = self._out
        first, *rest = loops
        if not rest:
            count, left = divmod(first.extent, unroll)
            out.repeat(count, lambda: self._steps(unroll, block))
            if left:
                self._steps(left, block)
            return
        inner = rest[0]

        def body() -> None:
            self._loops(tuple(rest), unroll, block)
            for number, registers in enumerate((block.pointers.values(), block.columns)):
                for register in registers:
                    done = inner.extent * inner.strides[number]
                    out.add(register, first.strides[number] - done)

        out.repeat(first.extent, body)

    def _steps(self, count: int, block: _Block) -> None:
        """Emits `count` steps of the innermost sum, each with all taps."""
        out = self._out
        loop = self._sums[-1]
        is_float = self._product.is_float
        lmul = block.place.panel.lmul
        narrow = max(1, lmul // 2)
        for step in range(count):
            numbers: dict[int, str] = {}
            for tap, column in enumerate(block.columns):
                if is_float:
                    out.emit(f"vle32.v v0, ({column})")
                else:
                    out.emit(f"vle8.v v{narrow}, ({column})")
                out.add(column, loop.strides[1], block.place.stride)
                if not is_float:
                    out.emit(f"vsext.vf2 v0, v{narrow}")
                later = {
                    self._offset(row, other)
                    for other in range(tap + 1, self._taps.extent)
                    for row in range(block.rows)
                }
                for row, register in enumerate(block.sums):
                    offset = self._offset(row, tap)
                    if offset not in numbers:
                        start = max(each for each in block.pointers if each <= offset)
                        away = offset - start + step * loop.strides[0]
                        if is_float:
                            numbers[offset] = out.take_float()
                        else:
                            numbers[offset] = out.register()
                        load = "flw" if is_float else "lb"
                        out.emit(f"{load} {numbers[offset]}, {away}({block.pointers[start]})")
                    multiply = "vfmacc.vf" if is_float else "vwmacc.vx"
                    out.emit(f"{multiply} v{register}, {numbers[offset]}, v0")
                    if offset not in later:
                        number = numbers.pop(offset)
                        if is_float:
                            out.give_float(number)
                        else:
                            out.release(number)
        for pointer in block.pointers.values():
            out.add(pointer, count * loop.strides[0])

    def _offset(self, row: int, tap: int) -> int:
        return row * self._line.strides[0] + tap * self._taps.strides[0]


@dataclass(frozen=True)
class _Place:
    """Where a panel's blocks are: its shape, and registers with addresses.

    Attributes:
      stride: register with the bytes between two steps in `b`, where they fit into no instruction.
    """

    panel: Panel
    lanes: Lanes
    stride: str


@dataclass(frozen=True)
class _Block:
    """A block of rows.

    Attributes:
      sums: numbers of the first vector register of each row.
      pointers: addresses in `a` by their distance from the first row's.
      columns: the address in `b` of each tap.
    """

    rows: int
    sums: list[int]
    pointers: dict[int, str]
    columns: list[str]
    place: _Place


def _window(product: Product, line: Loop, none: Loop) -> tuple[Loop, tuple[Loop, ...]]:
    """Returns the loop over taps that read the same numbers for other rows, and the other sums."""
    rows = min(line.extent, 3)
    best = none
    for loop in product.sums:
        if loop.extent <= _LARGEST_WINDOW and line.strides[0]:
            shared = len(_offsets(line, loop, rows)) / (rows * loop.extent)
            if shared < 1 and (best is none or loop.extent > best.extent):
                best = loop
    others = [loop for loop in product.sums if loop is not best]
    return best, merged(others) or (none,)


def _offsets(line: Loop, taps: Loop, rows: int) -> list[int]:
    """Returns the distances of the numbers that some rows read at all taps."""
    return sorted(
        {
            row * line.strides[0] + tap * taps.strides[0]
            for row in range(rows)
            for tap in range(taps.extent)
        }
    )
