"""Writes the summed loops of one row block, whose accumulators stay in registers.

Each step loads one vector group of `b` and one scalar of `a` for each row, and multiplies and accumulates. Neighboring
taps of a window read many of the same scalars, which are loaded once. depthwise.py writes depthwise products, where
`a` is loaded in vectors as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import Borders, step
from bmc.kernels.padding.masks import Masks
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.problem.roles import merged, offsets, window
from bmc.kernels.schedule import depthwise, pixel_sharing
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.schedule.columns import Columns, Operand, load_number
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.loops import Pointers
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import REGISTERS
from bmc.kernels.unsupported import Unsupported

# Taps of a depthwise window. All of them are unrolled.
_LARGEST_DEPTHWISE_WINDOW = 49
# Estimated instructions to load a mask and to loop over the steps that share it.
_MASK_COST = 8
# Approximate instructions in the body of an unrolled loop.
_UNROLLED_INSTRUCTIONS = 128
# Unrolled steps for panels at the border. There are few of them, so their text is kept short.
_UNROLLED_BORDER_STEPS = 4
# Estimated instructions to load and store the accumulator of a row between two K blocks.
_SPILL_COST = 4
# Vector groups that loads of `b` take in turn, at most.
_MOST_LOADS = 2
# Largest LMUL for which scalars of `a` are loaded before they are needed; see _load_scalars().
_LARGEST_LMUL_AHEAD = 4


class Accumulate:
    """Writes the summed loops of row blocks.

    Args:
      out: receives the instructions.
      product: the product as row blocks read it: its `b` may be widened.
      inner_rows: the innermost row loop.
      borders: the taps outside the image, if `a` is padded.
      masks: the masks of the lanes, if `b` is padded.
      choice: `reuses`, whether taps share loads, which needs an address register for each tap; and `unroll`.
      k_blocks: number of K blocks, for the estimated cost of spills between them.

    Raises:
      Unsupported: the window of a depthwise product is too large, or the dtypes cannot be combined.
    """

    def __init__(
        self,
        out: Assembly,
        product: Product,
        inner_rows: Loop,
        borders: Borders,
        masks: Masks | None,
        choice: Choice,
        k_blocks: int = 1,
    ) -> None:
        self._out = out
        self._product = product
        self._inner_rows = inner_rows
        self._k_blocks = k_blocks
        self._unroll = choice.unroll
        self._loads = choice.loads or 1
        self._shares = bool(choice.reuses)
        self._borders = borders
        self._masks = masks
        crossing = [loop for loop in product.summed if borders.crossed(loop)]
        crossing += (*masks.vertical, *masks.horizontal) if masks else ()
        self._taps, others = window(
            product, inner_rows, borders.horizontal, crossing, bool(choice.reuses)
        )
        # Loops that need a branch or a mask in each iteration are the outermost ones.
        self._loops = (*crossing, *others)
        # Panels at the vertical border of a masked image run `_border_loops`, with a mask for each vertical and
        # horizontal tap. Other panels run `_loops`: their masks depend on the horizontal tap only, and
        # `_one_mask_loops` are the loops inside of it.
        self._border_loops, self._one_mask_loops = self._loops, others
        if masks and not masks.is_flat:
            none = Loop(1, (0,) * len(product.dtypes))
            self._one_mask_loops = merged([*masks.vertical, *others]) or (none,)
            self._loops = (*masks.horizontal, *self._one_mask_loops)
        self._columns = Columns(
            out, product, masks is not None, self._taps, (self._loops[-1], self._border_loops[-1])
        )
        self.is_depthwise = product.lanes.strides[A] != 0
        if (
            self.is_depthwise
            and math.prod(loop.extent for loop in product.summed) > _LARGEST_DEPTHWISE_WINDOW
        ):
            raise Unsupported("a large depthwise window")
        if (product.scheme.extends_floats and masks) or (
            product.scheme.extends_a and self.is_depthwise
        ):
            raise Unsupported("an image of 16 bits that is multiplied as f32")

    @property
    def large_strides(self) -> list[int]:
        """Strides in bytes that row blocks need in registers: they do not fit into an immediate, or are the lanes'."""
        strides = {
            stride
            for loop in (self._loops[-1], self._border_loops[-1])
            for stride in loop.strides[: B + 1]
            if not fits(stride)
        }
        if not self._product.is_contiguous:
            strides.add(self._product.lanes.strides[B])
        return sorted(strides)

    def cost(self, most: int, lmul: int, lanes: int) -> float:
        """Estimates the instructions for each row of blocks with at most `most` rows, without loop control."""
        steps = math.prod(loop.extent for loop in self._product.summed) // self._taps.extent
        blocks = math.ceil(self._inner_rows.extent / most)
        column = self._columns.cost(lmul, lanes)
        if self.is_depthwise:
            return steps * self._depthwise_step(most, lmul, column) / self._inner_rows.extent
        executed = steps * self._step(math.ceil(self._inner_rows.extent / blocks), column)
        if self._masks:
            executed += _MASK_COST * math.prod(each.extent for each in self._masks.horizontal)
        spill = _SPILL_COST if self._k_blocks > 1 else 0
        return self._k_blocks * (blocks * executed / self._inner_rows.extent + spill)

    def floats(self, rows: int) -> int:
        """Returns how many float registers a row block of `rows` rows needs for scalars of `a`."""
        if self.is_depthwise or not self._product.scheme.is_float:
            return 0
        return min(len(offsets(self._inner_rows, self._taps, rows)), rows + self._taps.extent)

    def _depthwise_step(self, most: int, lmul: int, column: float) -> float:
        """As _step(), for a depthwise product and all row blocks of the innermost row loop."""
        scheme = self._product.scheme
        total = 0.0
        for count, rows, out_of_bounds in self._borders.blocks(most):
            free = (
                pixel_sharing.weight_groups(lmul, REGISTERS - rows * lmul, scheme.widens)
                if self._shares
                else 0
            )
            load = (2 if scheme.extends_a or scheme.extends_floats else column, column)
            total += count * pixel_sharing.cost(
                self._inner_rows, self._taps, (rows, out_of_bounds), load, free
            )
        return total

    def _step(self, rows: int, column: float) -> float:
        """Estimates the instructions of one step for `rows` rows; `column` of them load a group of `b`."""
        taps = self._taps.extent
        return len(offsets(self._inner_rows, self._taps, rows)) + taps * (column + rows)

    def write(self, block: Block, a: str, b: str) -> None:
        """Emits the summed loops of a row block; registers `a` and `b` hold the addresses of its operands."""
        if self.is_depthwise:
            depthwise.Depthwise(
                self._out, self._product, self._inner_rows, self._borders, self._shares
            ).write(block, a, b)
        else:
            self._write(block, a, b)

    def _write(self, block: Block, a: str, b: str) -> None:
        out = self._out
        rows = len(block.accumulators)
        innermost = self._loops[-1]
        lmul = block.lanes.lmul
        step_cost = self._step(rows, self._columns.cost(lmul, 0))
        unroll = self._unroll or max(1, int(_UNROLLED_INSTRUCTIONS // step_cost))
        shared = self._columns.steps(lmul, innermost)
        unroll = max(shared, unroll - unroll % shared)
        if innermost.extent < (unroll if self._unroll else 2 * unroll):
            unroll = innermost.extent
        # Bytes of `a` that the immediates of loads must reach in one iteration of the unrolled loop.
        reach = unroll * innermost.strides[A] if fits(innermost.strides[A]) else 0
        while not fits(reach):
            unroll -= 1
            reach = unroll * innermost.strides[A]
        # Each pointer serves the offsets in `a` that the immediates of loads reach from its own offset.
        starts: list[int] = []
        for offset in self._offsets(block):
            if not starts or not fits(offset - starts[-1] + reach):
                starts.append(offset)
        taps = self._taps.extent
        with out.registers(len(starts)) as a_pointers, out.registers(taps) as b_pointers:
            for start, pointer in zip(starts, a_pointers, strict=True):
                out.move(pointer, a)
                out.add(pointer, start)
            for tap, pointer in enumerate(b_pointers):
                out.move(pointer, b_pointers[tap - 1] if tap else b)
                out.add(pointer, self._taps.strides[B] if tap else 0)
            a_by_offset = dict(zip(starts, a_pointers, strict=True))
            most = 1 if shared > 1 else _MOST_LOADS
            operand = self._columns.take(out.vectors, lmul, most)
            pointers = _Pointers(block, a_by_offset, b_pointers, operand, innermost)
            if self._masks is None:
                self._nested(self._loops, unroll, pointers)
            else:
                self._masked(self._masks, unroll, pointers)
            out.vectors.give(*operand.taken)

    def _masked(self, masks: Masks, unroll: int, pointers: _Pointers) -> None:
        """Emits the loops of a masked panel: a text for panels at the vertical border, and one for all others."""
        out = self._out
        with out.registers(1) as (mask,):
            out.move(mask, pointers.block.masks)
            block = replace(pointers.block, masks=mask)
            interior = replace(pointers, block=block, masked=len(self._one_mask_loops))
            if masks.is_flat:
                self._nested(self._loops, unroll, interior)
                return
            innermost = self._border_loops[-1]
            border = replace(
                interior,
                innermost=innermost,
                masked=len(self._border_loops) - len(masks.vertical) - len(masks.horizontal),
            )

            def emit_border() -> None:
                out.add(mask, masks.horizontal_bytes)
                steps = min(unroll, _UNROLLED_BORDER_STEPS, innermost.extent)
                self._nested(self._border_loops, steps, border)

            masks.if_interior(
                block.lanes, lambda: self._nested(self._loops, unroll, interior), emit_border
            )

    def _nested(self, summed: tuple[Loop, ...], unroll: int, pointers: _Pointers) -> None:
        """Emits nested loops, the innermost one unrolled. A loop over vertical taps skips those outside the image."""
        out = self._out
        first, *rest = summed
        if self._masks is not None and len(summed) == pointers.masked:
            self._mask(self._masks, pointers)
        if not rest:
            count, left = divmod(first.extent, unroll)
            out.repeat(count, lambda: self._steps(unroll, pointers))
            if left:
                self._steps(left, pointers)
            pointers.moved.move(out, first, -first.extent)
            return

        def inside() -> None:
            self._nested(tuple(rest), unroll, pointers)
            pointers.moved.move(out, first, 1)

        def outside() -> None:
            if pointers.block.pad_value:
                self._nested(tuple(rest), 1, replace(pointers, block=pointers.block.outside))
            pointers.moved.move(out, first, 1)

        edge = self._borders.crossed(first)
        if edge is None:
            out.repeat(first.extent, inside)
        else:
            with out.registers(2) as (index, limit):
                out.move(index, pointers.block.positions[edge.number])
                out.set(limit, edge.extent)

                def body() -> None:
                    out.within(index, limit, inside, outside)
                    out.add(index, step(first, edge.number))

                out.repeat(first.extent, body)
        pointers.moved.move(out, first, -first.extent)

    def _mask(self, masks: Masks, pointers: _Pointers) -> None:
        """Emits the load of the next mask into v0, and sets the groups of `b` to the pad value for masked-off lanes."""
        out, block = self._out, pointers.block
        out.emit(rvv.load_mask("v0", block.masks))
        out.add(block.masks, masks.slot)
        for load in pointers.operand.loads:
            pad_value, wide = block.pad_value, load.wide
            out.emit(rvv.splat(wide, pad_value) if pad_value else rvv.zeros(wide))

    def groups(self, lmul: int) -> int:
        """Returns how many groups of `lmul` registers must be left for operands."""
        if self.is_depthwise:
            # One for each operand. int8 sources need another one only if LMUL is 1, where they cannot overlap.
            return 2 + (lmul == 1 and not self._product.scheme.is_float)
        return self._columns.groups(lmul, self._loads)

    def _steps(self, count: int, pointers: _Pointers) -> None:
        """Emits `count` steps of the innermost loop, each with all taps."""
        stride = pointers.innermost.strides[A]
        pending = 0
        for number in range(count):
            self._one_step(number, count, pending, pointers)
            pending += stride
            if number == count - 1 or not fits(stride):
                for pointer in pointers.a.values():
                    self._out.add(pointer, pending, pointers.block.constants)
                pending = 0

    def _one_step(self, number: int, count: int, pending: int, pointers: _Pointers) -> None:
        """Emits step `number` of `count` unrolled steps, which reads `a` at `pending` bytes behind the pointers."""
        out = self._out
        is_float, multiply = self._product.scheme.is_float, self._product.scheme.multiply
        block, pad_value, loads = pointers.block, pointers.block.pad_value, pointers.operand.loads
        scalars: dict[int, str] = {}
        for tap, column in enumerate(pointers.b):
            load = loads[(number * len(pointers.b) + tap) % len(loads)]
            self._columns.load(column, load, block, pointers.innermost, number, count)
            later = self._offsets(block, tap + 1)
            out_of_bounds = block.out_of_bounds
            for row, group in enumerate(block.accumulators):
                if (row, tap) in out_of_bounds:
                    if pad_value:
                        out.emit(rvv.multiply_add(multiply, group, pad_value, load.wide))
                    continue
                offset = self._offset(row, tap)
                if row == 0 or offset not in scalars:
                    rows = range(row, len(block.accumulators))
                    wanted = [self._offset(r, tap) for r in rows if (r, tap) not in out_of_bounds]
                    self._load_scalars(wanted, pending, pointers, scalars)
                scalar = scalars[offset]
                out.emit(rvv.multiply_add(multiply, group, scalar, load.wide))
                if offset not in later:
                    unused = scalars.pop(offset)
                    if is_float:
                        out.give_float(unused)
                    else:
                        out.release(unused)

    def _load_scalars(
        self, wanted: list[int], pending: int, pointers: _Pointers, scalars: dict[int, str]
    ) -> None:
        """Loads the first scalar of the offsets `wanted` in `a`, and if it pays the next ones, ahead of their use.

        An in-order core completes a scalar load after all earlier vector instructions, so its user stalls.
        Multiplications with a large LMUL take longer than that stall. `scalars` are the loaded registers by offset.
        """
        out = self._out
        is_float = self._product.scheme.is_float
        ahead = not is_float and pointers.block.lanes.lmul <= _LARGEST_LMUL_AHEAD
        for offset in dict.fromkeys(wanted):
            if offset in scalars:
                continue
            if offset != wanted[0] and not (ahead and out.has_registers):
                return
            start = max(each for each in pointers.a if each <= offset)
            scalars[offset] = out.take_float() if is_float else out.register()
            distance = offset - start + pending
            load_number(out, self._product, scalars[offset], distance, pointers.a[start])

    def _offsets(self, block: Block, first: int = 0) -> list[int]:
        """Returns the sorted byte offsets in `a` that a row block reads at tap `first` and later ones."""
        rows, taps = range(len(block.accumulators)), range(first, self._taps.extent)
        offsets_ = {
            self._offset(row, tap)
            for row in rows
            for tap in taps
            if (row, tap) not in block.out_of_bounds
        }
        return sorted(offsets_)

    def _offset(self, row: int, tap: int) -> int:
        return row * self._inner_rows.strides[A] + tap * self._taps.strides[A]


@dataclass(frozen=True)
class _Pointers:
    """A row block and the registers with its addresses.

    Attributes:
      a: registers with addresses in `a`, by their byte offset from the first row at the first tap.
      b: registers with the address in `b` of each tap.
      operand: vector groups of `b`.
      innermost: the innermost summed loop.
      masked: how many of the innermost loops run with the same mask; 0 without masks.
    """

    block: Block
    a: dict[int, str]
    b: list[str]
    operand: Operand
    innermost: Loop
    masked: int = 0

    @property
    def moved(self) -> Pointers:
        """The addresses, which loops move."""
        return Pointers([*((A, each) for each in self.a.values()), *((B, each) for each in self.b)])
