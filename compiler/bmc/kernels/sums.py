"""Writes the loops that are summed, for one block of rows whose sums stay in registers.

Each step loads one group of `b` and, for each row, one number of `a`, and multiplies and adds. The taps of a window
are steps that read many of the same numbers, so they are loaded once. Where both operands have lanes, as in a
depthwise convolution, each step multiplies groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels.assembly import Assembly, fits
from bmc.kernels.epilogue import Lanes
from bmc.kernels.product import A, B, Loop, Product, Unsupported, merged, offsets, overlap

# Taps where both operands have lanes. All of them are unrolled.
_MOST_PAIRS = 49
# Instructions in an unrolled loop, about.
_UNROLLED = 128
# Groups of sums of at most so many registers wait for numbers that are loaded one at a time.
_LOADED_AHEAD = 4


@dataclass(frozen=True)
class Block:
    """A block of rows in a panel of lanes.

    Attributes:
      registers: numbers of the first vector register of each row's sums.
      lanes: the shape of these groups.
      constants: registers with distances that fit into no instruction.
    """

    registers: list[int]
    lanes: Lanes
    constants: dict[int, str]


class Sums:
    """Writes the sums of blocks.

    Args:
      out: receives the text.
      product: what is computed.
      line: the innermost loop of rows.
      shares: whether the taps of a window share loads, which takes registers with addresses.

    Raises:
      Unsupported: a window of groups is too large.
    """

    def __init__(self, out: Assembly, product: Product, line: Loop, shares: bool) -> None:
        self._out = out
        self._product = product
        self._line = line
        self._taps, self._loops = _window(product, line, shares)
        # Whether both operands have lanes.
        self.pairs = product.lanes.strides[A] != 0
        if self.pairs and math.prod(loop.extent for loop in product.sums) > _MOST_PAIRS:
            raise Unsupported("a large window")

    @property
    def distances(self) -> list[int]:
        """The distances that fit into no instruction, so that blocks need them in registers."""
        found = {step for step in self._loops[-1].strides[: B + 1] if not fits(step)}
        if not self._product.is_contiguous:
            found.add(self._product.lanes.strides[B])
        return sorted(found)

    def cost(self, most: int) -> float:
        """Returns the instructions for each row in blocks of at most so many, without those of loops."""
        steps = math.prod(loop.extent for loop in self._product.sums)
        if not self.pairs:
            steps //= self._taps.extent
        blocks = math.ceil(self._line.extent / most)
        return (
            steps * blocks * self._step(math.ceil(self._line.extent / blocks)) / self._line.extent
        )

    def floats(self, rows: int) -> int:
        """Returns how many numbers of `a` are in float registers at a time, at most, in blocks of so many rows."""
        if self.pairs or not self._product.is_float:
            return 0
        return min(len(offsets(self._line, self._taps, rows)), rows + self._taps.extent)

    def _step(self, rows: int) -> int:
        """Instructions of one step of the innermost sum, without the loop around it."""
        column = 2 if self._product.is_float else 3
        if self.pairs:
            return column + rows * (column + 1)
        taps = self._taps.extent
        return len(offsets(self._line, self._taps, rows)) + taps * (column + rows)

    def write(self, block: Block, a: str, b: str) -> None:
        """Emits the sums of a block, whose operands begin at the addresses in two registers."""
        if self.pairs:
            self._write_pairs(block, a, b)
        else:
            self._write(block, a, b)

    def _write_pairs(self, block: Block, a: str, b: str) -> None:
        """Multiplies lanes with lanes, for all taps."""
        out = self._out
        is_float = self._product.is_float
        lmul = block.lanes.lmul
        taps = [(0, 0)]
        for loop in self._product.sums:
            taps = [
                (x + n * loop.strides[A], y + n * loop.strides[B])
                for x, y in taps
                for n in range(loop.extent)
            ]
        half = max(1, lmul // 2)
        image, narrow = (lmul, 0) if is_float else (half, 2 * half)
        width = 32 if is_float else 8
        with out.registers(len(block.registers) + 1) as (column, *pointers):
            out.move(column, b)
            for row, pointer in enumerate(pointers):
                out.move(pointer, pointers[row - 1] if row else a)
                out.add(pointer, self._line.strides[A] if row else 0)

            def load(to: int, pointer: str, move: int) -> None:
                out.emit(f"vle{width}.v v{to if is_float else narrow}, ({pointer})")
                out.add(pointer, move)
                if not is_float:
                    out.emit(f"vsext.vf2 v{to}, v{narrow}")

            for (x, y), (next_x, next_y) in zip(taps, [*taps[1:], taps[-1]], strict=True):
                load(0, column, next_y - y)
                for pointer, register in zip(pointers, block.registers, strict=True):
                    load(image, pointer, next_x - x)
                    multiply = "vfmacc.vv" if is_float else "vwmacc.vv"
                    out.emit(f"{multiply} v{register}, v{image}, v0")

    def _write(self, block: Block, a: str, b: str) -> None:
        """Multiplies lanes with one number."""
        out = self._out
        rows = len(block.registers)
        innermost = self._loops[-1]
        unroll = max(1, _UNROLLED // self._step(rows))
        if innermost.extent < 2 * unroll:
            unroll = innermost.extent
        # The bytes of `a` that one turn of the unrolled loop visits by the offsets of loads.
        reach = unroll * innermost.strides[A] if fits(innermost.strides[A]) else 0
        while not fits(reach):
            unroll -= 1
            reach = unroll * innermost.strides[A]
        # The smallest offset that each pointer serves.
        starts: list[int] = []
        for offset in offsets(self._line, self._taps, rows):
            if not starts or not fits(offset - starts[-1] + reach):
                starts.append(offset)
        with out.registers(len(starts) + self._taps.extent) as registers:
            pointers = dict(zip(starts, registers, strict=False))
            columns = registers[len(starts) :]
            for start, pointer in pointers.items():
                out.move(pointer, a)
                out.add(pointer, start)
            for tap, column in enumerate(columns):
                out.move(column, columns[tap - 1] if tap else b)
                out.add(column, self._taps.strides[B] if tap else 0)
            self._nested(self._loops, unroll, _Pointers(block, pointers, columns))

    def _nested(self, loops: tuple[Loop, ...], unroll: int, at: _Pointers) -> None:
        out = self._out
        first, *rest = loops
        if not rest:
            count, left = divmod(first.extent, unroll)
            out.repeat(count, lambda: self._steps(unroll, at))
            if left:
                self._steps(left, at)
            return
        inner = rest[0]

        def body() -> None:
            self._nested(tuple(rest), unroll, at)
            for number, registers in ((A, at.a.values()), (B, at.b)):
                for register in registers:
                    done = inner.extent * inner.strides[number]
                    out.add(register, first.strides[number] - done)

        out.repeat(first.extent, body)

    def _steps(self, count: int, at: _Pointers) -> None:
        """Emits `count` steps of the innermost sum, each with all taps."""
        step = self._loops[-1].strides[A]
        away = 0
        for number in range(count):
            self._one_step(away, at)
            away += step
            if number == count - 1 or not fits(step):
                for pointer in at.a.values():
                    self._out.add(pointer, away, at.block.constants.get(away, ""))
                away = 0

    def _one_step(self, away: int, at: _Pointers) -> None:
        """Emits a step that reads `a` so many bytes behind the pointers."""
        out = self._out
        is_float = self._product.is_float
        numbers: dict[int, str] = {}
        for tap, column in enumerate(at.b):
            self._load(column, at.block)
            later = {
                self._offset(row, other)
                for other in range(tap + 1, self._taps.extent)
                for row in range(len(at.block.registers))
            }
            wanted = [self._offset(row, tap) for row in range(len(at.block.registers))]
            for row, register in enumerate(at.block.registers):
                offset = wanted[row]
                if offset not in numbers:
                    self._numbers(wanted[row:], away, at, numbers)
                multiply = "vfmacc.vf" if is_float else "vwmacc.vx"
                out.emit(f"{multiply} v{register}, {numbers[offset]}, v0")
                if offset not in later:
                    number = numbers.pop(offset)
                    if is_float:
                        out.give_float(number)
                    else:
                        out.release(number)

    def _numbers(
        self, wanted: list[int], away: int, at: _Pointers, numbers: dict[int, str]
    ) -> None:
        """Loads the first of some numbers of `a`, and those behind it that are better loaded with it.

        An in-order core completes a load after the vector instructions before it, and multiplies when the load is
        complete. Multiplications of large groups take longer than that.
        """
        out = self._out
        is_float = self._product.is_float
        ahead = not is_float and at.block.lanes.lmul <= _LOADED_AHEAD
        for offset in dict.fromkeys(wanted):
            if offset in numbers:
                continue
            if offset != wanted[0] and not (ahead and out.has_registers):
                return
            start = max(each for each in at.a if each <= offset)
            numbers[offset] = out.take_float() if is_float else out.register()
            load = "flw" if is_float else "lb"
            out.emit(f"{load} {numbers[offset]}, {offset - start + away}({at.a[start]})")

    def _load(self, column: str, block: Block) -> None:
        """Emits the load of a group of `b` into v0, and moves its address."""
        out = self._out
        is_float = self._product.is_float
        width = 32 if is_float else 8
        to = "v0" if is_float else f"v{max(1, block.lanes.lmul // 2)}"
        if self._product.is_contiguous:
            out.emit(f"vle{width}.v {to}, ({column})")
        else:
            apart = block.constants[self._product.lanes.strides[B]]
            out.emit(f"vlse{width}.v {to}, ({column}), {apart}")
        step = self._loops[-1].strides[B]
        out.add(column, step, block.constants.get(step, ""))
        if not is_float:
            out.emit(f"vsext.vf2 v0, {to}")

    def _offset(self, row: int, tap: int) -> int:
        return row * self._line.strides[A] + tap * self._taps.strides[A]


@dataclass(frozen=True)
class _Pointers:
    """Registers with addresses.

    Attributes:
      a: addresses in `a` by their distance from the first row's.
      b: the address in `b` of each tap.
    """

    block: Block
    a: dict[int, str]
    b: list[str]


def _window(product: Product, line: Loop, shares: bool) -> tuple[Loop, tuple[Loop, ...]]:
    """Returns the loop over taps that read the same numbers for other rows, and the other sums."""
    none = Loop(1, (0,) * len(product.dtypes))
    best = none
    for loop in product.sums if shares else ():
        if overlap(line, loop, 3) < 1 and (best is none or loop.extent > best.extent):
            best = loop
    others = [loop for loop in product.sums if loop is not best]
    return best, merged(others) or (none,)
