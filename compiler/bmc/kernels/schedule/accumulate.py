"""Writes the loops that are summed, for one block of rows whose sums stay in registers.

Each step loads one group of `b` and, for each row, one number of `a`, and multiplies and adds. The taps of a window
are steps that read many of the same numbers, so they are loaded once. Where both operands have lanes, as in a
depthwise convolution, each step multiplies groups.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import Borders, step
from bmc.kernels.padding.masks import Masks
from bmc.kernels.problem.product import A, B, Loop, Product, Unsupported
from bmc.kernels.problem.roles import merged, offsets, overlap
from bmc.kernels.schedule import depthwise
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.schedule.columns import Columns, load_number
from bmc.kernels.schedule.row_block import REGISTERS, Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.tree import fits

# Taps where both operands have lanes. All of them are unrolled.
_MOST_PAIRS = 49
# Instructions around the steps that share a mask, about.
_MASKED = 8
# Instructions in an unrolled loop, about.
_UNROLLED = 128
# Steps in that of panels with all masks, which are fewer.
_UNROLLED_NEAR = 4
# Instructions to load and store the sums of a row between turns.
_AGAIN = 4
# Groups of sums of at most so many registers wait for numbers that are loaded one at a time.
_LOADED_AHEAD = 4


class Accumulate:
    """Writes the sums of blocks.

    Args:
      out: receives the text.
      product: what is computed.
      inner_rows: the innermost loop of rows.
      borders: those of the image.
      masks: those of the lanes, None if all of them are in the image.
      choice: whether the taps of a window share loads, which takes registers with addresses, and how many steps
        are unrolled.
      turns: how often they are computed for the same rows, each time some more of them.

    Raises:
      Unsupported: a window of groups is too large.
    """

    def __init__(
        self,
        out: Assembly,
        product: Product,
        inner_rows: Loop,
        borders: Borders,
        masks: Masks | None,
        choice: Choice,
        turns: int = 1,
    ) -> None:
        self._out = out
        self._product = product
        self._inner_rows = inner_rows
        self._turns = turns
        self._unroll = choice.unroll
        self._shares = bool(choice.reuses)
        self._borders = borders
        self._masks = masks
        crossing = [loop for loop in product.summed if borders.crossed(loop)]
        crossing += (*masks.vertical, *masks.horizontal) if masks else ()
        self._taps, others = _window(
            product, inner_rows, borders.horizontal, crossing, bool(choice.reuses)
        )
        # Those of which each iteration may lie outside come first.
        self._loops = (*crossing, *others)
        # Where there are masks: the loops of panels that are near the other edge, and those with the same mask.
        self._near, self._others = self._loops, others
        if masks and not masks.is_flat:
            none = Loop(1, (0,) * len(product.dtypes))
            self._others = merged([*masks.vertical, *others]) or (none,)
            self._loops = (*masks.horizontal, *self._others)
        self._columns = Columns(
            out, product, masks is not None, self._taps, (self._loops[-1], self._near[-1])
        )
        # Whether both operands have lanes.
        self.is_depthwise = product.lanes.strides[A] != 0
        if self.is_depthwise and math.prod(loop.extent for loop in product.summed) > _MOST_PAIRS:
            raise Unsupported("a large window")
        if (product.scheme.extends_floats and masks) or (
            product.scheme.extends_a and self.is_depthwise
        ):
            raise Unsupported("an image of f16 with weights of f32")

    @property
    def distances(self) -> list[int]:
        """The distances that fit into no instruction, so that blocks need them in registers."""
        found = {
            step
            for loop in (self._loops[-1], self._near[-1])
            for step in loop.strides[: B + 1]
            if not fits(step)
        }
        if not self._product.is_contiguous:
            found.add(self._product.lanes.strides[B])
        return sorted(found)

    def cost(self, most: int, lmul: int, lanes: int) -> float:
        """Returns the instructions for each row in blocks of at most so many, without those of loops."""
        steps = math.prod(loop.extent for loop in self._product.summed) // self._taps.extent
        blocks = math.ceil(self._inner_rows.extent / most)
        column = self._columns.cost(lmul, lanes)
        if self.is_depthwise:
            return steps * self._pairs(most, lmul, column) / self._inner_rows.extent
        executed = steps * self._step(math.ceil(self._inner_rows.extent / blocks), column)
        executed += (
            _MASKED * math.prod(each.extent for each in self._masks.horizontal)
            if self._masks
            else 0
        )
        again = _AGAIN if self._turns > 1 else 0
        return self._turns * (blocks * executed / self._inner_rows.extent + again)

    def floats(self, rows: int) -> int:
        """Returns how many numbers of `a` are in float registers at a time, at most, in blocks of so many rows."""
        if self.is_depthwise or not self._product.scheme.is_float:
            return 0
        return min(len(offsets(self._inner_rows, self._taps, rows)), rows + self._taps.extent)

    def _pairs(self, most: int, lmul: int, column: float) -> float:
        """Instructions at the taps along a line, in all blocks of a line of rows; arguments as of the two beside."""
        scheme = self._product.scheme
        total = 0.0
        for count, rows, out_of_bounds in self._borders.blocks(most):
            free = (
                depthwise.weights(lmul, REGISTERS - rows * lmul, scheme.widens)
                if self._shares
                else 0
            )
            load = (2 if scheme.extends_a or scheme.extends_floats else column, column)
            total += count * depthwise.cost(
                self._inner_rows, self._taps, (rows, out_of_bounds), load, free
            )
        return total

    def _step(self, rows: int, column: float) -> float:
        """Instructions of one step of the innermost sum, without the loop around it.

        Args:
          rows: of the block.
          column: instructions to load a group of `b`.
        """
        taps = self._taps.extent
        return len(offsets(self._inner_rows, self._taps, rows)) + taps * (column + rows)

    def write(self, block: Block, a: str, b: str) -> None:
        """Emits the sums of a block, whose operands begin at the addresses in two registers."""
        if self.is_depthwise:
            depthwise.Depthwise(
                self._out, self._product, self._inner_rows, self._borders, self._shares
            ).write(block, a, b)
        else:
            self._write(block, a, b)

    def _write(self, block: Block, a: str, b: str) -> None:
        """Multiplies lanes with one number."""
        out = self._out
        rows = len(block.registers)
        innermost = self._loops[-1]
        lmul = block.lanes.lmul
        taken = self._step(rows, self._columns.cost(lmul, 0))
        unroll = self._unroll or max(1, int(_UNROLLED // taken))
        shared = self._columns.steps(lmul, innermost)
        unroll = max(shared, unroll - unroll % shared)
        if innermost.extent < (unroll if self._unroll else 2 * unroll):
            unroll = innermost.extent
        # The bytes of `a` that one turn of the unrolled loop visits by the offsets of loads.
        reach = unroll * innermost.strides[A] if fits(innermost.strides[A]) else 0
        while not fits(reach):
            unroll -= 1
            reach = unroll * innermost.strides[A]
        # The smallest offset that each pointer serves.
        starts: list[int] = []
        for offset in self._offsets(block):
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
            at = _Pointers(block, pointers, columns, innermost)
            if self._masks is None:
                self._nested(self._loops, unroll, at)
            else:
                self._masked(self._masks, unroll, at)

    def _masked(self, masks: Masks, unroll: int, at: _Pointers) -> None:
        """Multiplies with the masks of a panel."""
        out = self._out
        with out.registers(1) as (mask,):
            out.move(mask, at.block.masks)
            block = replace(at.block, masks=mask)
            far = replace(at, block=block, masked=len(self._others))
            if masks.is_flat:
                self._nested(self._loops, unroll, far)
                return
            innermost = self._near[-1]
            near = replace(
                far,
                innermost=innermost,
                masked=len(self._near) - len(masks.vertical) - len(masks.horizontal),
            )

            def all_masks() -> None:
                out.add(mask, masks.behind)
                steps = min(unroll, _UNROLLED_NEAR, innermost.extent)
                self._nested(self._near, steps, near)

            masks.unless_near(
                block.lanes, lambda: self._nested(self._loops, unroll, far), all_masks
            )

    def _nested(self, loops: tuple[Loop, ...], unroll: int, at: _Pointers) -> None:
        out = self._out
        first, *rest = loops
        if self._masks is not None and len(loops) == at.masked:
            self._mask(self._masks, at.block)
        if not rest:
            count, left = divmod(first.extent, unroll)
            out.repeat(count, lambda: self._steps(unroll, at))
            if left:
                self._steps(left, at)
            return
        inner = rest[0]
        edge = self._borders.crossed(first)

        def move(done: int) -> None:
            for number, registers in ((A, at.a.values()), (B, at.b)):
                for register in registers:
                    out.add(register, first.strides[number] - done * inner.strides[number])

        def inside() -> None:
            self._nested(tuple(rest), unroll, at)
            move(inner.extent)

        def outside() -> None:
            if at.block.pad_value:
                self._nested(tuple(rest), 1, replace(at, block=at.block.outside))
                move(inner.extent)
            else:
                move(0)

        if edge is None:
            out.repeat(first.extent, inside)
            return
        with out.registers(2) as (index, limit):
            out.move(index, at.block.positions[edge.number])
            out.set(limit, edge.extent)

            def body() -> None:
                out.within(index, limit, inside, outside)
                out.add(index, step(first, edge.number))

            out.repeat(first.extent, body)

    def _mask(self, masks: Masks, block: Block) -> None:
        """Emits the load of the next mask into v0, and fills the lanes that it leaves out."""
        out = self._out
        out.emit(rvv.load_mask("v0", block.masks))
        out.add(block.masks, masks.slot)
        wide = f"v{self._columns.wide(block.lanes.lmul)}"
        out.emit(rvv.splat(wide, block.pad_value) if block.pad_value else rvv.zeros(wide))

    def groups(self, lmul: int) -> int:
        """Returns how many groups of so many registers the sums leave free."""
        if self.is_depthwise:
            # Of both operands, and what they are widened from.
            return 2 + (lmul == 1 and not self._product.scheme.is_float)
        return self._columns.groups(lmul)

    def _steps(self, count: int, at: _Pointers) -> None:
        """Emits `count` steps of the innermost sum, each with all taps."""
        step = at.innermost.strides[A]
        away = 0
        for number in range(count):
            self._one_step(number, count, away, at)
            away += step
            if number == count - 1 or not fits(step):
                for pointer in at.a.values():
                    self._out.add(pointer, away, at.block.constants.get(away, ""))
                away = 0

    def _one_step(self, number: int, count: int, away: int, at: _Pointers) -> None:
        """Emits one of `count` steps, which reads `a` so many bytes behind the pointers."""
        out = self._out
        is_float = self._product.scheme.is_float
        wide = self._columns.wide(at.block.lanes.lmul)
        numbers: dict[int, str] = {}
        for tap, column in enumerate(at.b):
            self._columns.load(column, at.block, at.innermost, number, count)
            later = self._offsets(at.block, tap + 1)
            out_of_bounds = at.block.out_of_bounds
            for row, register in enumerate(at.block.registers):
                if (row, tap) in out_of_bounds:
                    if at.block.pad_value:
                        out.emit(
                            rvv.multiply_add("vwmacc", f"v{register}", at.block.pad_value, "v0")
                        )
                    continue
                offset = self._offset(row, tap)
                rows = range(row, len(at.block.registers))
                wanted = [self._offset(r, tap) for r in rows if (r, tap) not in out_of_bounds]
                if row == 0 or offset not in numbers:
                    self._numbers(wanted, away, at, numbers)
                multiply, number_ = self._product.scheme.multiply, numbers[offset]
                out.emit(rvv.multiply_add(multiply, f"v{register}", number_, f"v{wide}"))
                if offset not in later:
                    unused = numbers.pop(offset)
                    if is_float:
                        out.give_float(unused)
                    else:
                        out.release(unused)

    def _numbers(
        self, wanted: list[int], away: int, at: _Pointers, numbers: dict[int, str]
    ) -> None:
        """Loads the first of some numbers of `a`, and those behind it that are better loaded now.

        An in-order core completes a load after the vector instructions before it, and multiplies when the load is
        complete. Multiplications of large groups take longer than that.
        """
        out = self._out
        is_float = self._product.scheme.is_float
        ahead = not is_float and at.block.lanes.lmul <= _LOADED_AHEAD
        for offset in dict.fromkeys(wanted):
            if offset in numbers:
                continue
            if offset != wanted[0] and not (ahead and out.has_registers):
                return
            start = max(each for each in at.a if each <= offset)
            numbers[offset] = out.take_float() if is_float else out.register()
            load_number(out, self._product, numbers[offset], offset - start + away, at.a[start])

    def _offsets(self, block: Block, first: int = 0) -> list[int]:
        """Returns the distances in `a` of the numbers that a block reads from this tap on."""
        rows, taps = range(len(block.registers)), range(first, self._taps.extent)
        found = (
            self._offset(row, tap)
            for row in rows
            for tap in taps
            if (row, tap) not in block.out_of_bounds
        )
        return sorted(set(found))

    def _offset(self, row: int, tap: int) -> int:
        return row * self._inner_rows.strides[A] + tap * self._taps.strides[A]


@dataclass(frozen=True)
class _Pointers:
    """Registers with addresses.

    Attributes:
      a: addresses in `a` by their distance from the first row's.
      b: the address in `b` of each tap.
      innermost: the innermost loop.
      masked: how many of the loops have the same mask.
    """

    block: Block
    a: dict[int, str]
    b: list[str]
    innermost: Loop
    masked: int = 0


def _window(
    product: Product, inner_rows: Loop, across: Loop | None, crossing: list[Loop], shares: bool
) -> tuple[Loop, tuple[Loop, ...]]:
    """Returns the loop over taps that read the same numbers for other rows, and the other sums without `crossing`.

    Taps that lie outside of the image for some rows are that loop.
    """
    none = Loop(1, (0,) * len(product.dtypes))
    left = [loop for loop in product.summed if loop not in crossing]
    best = none
    for loop in left if shares else ():
        if overlap(inner_rows, loop, 3) < 1 and (best is none or loop.extent > best.extent):
            best = loop
    best = across or best
    return best, merged([loop for loop in left if loop is not best]) or (none,)
