"""Writes the kernel of a product: a register-tiled GEMM or convolution.

Loop order: outer loops, panels, row loops, row blocks, summed loops. The accumulators of a row block stay in vector
registers while the summed loops run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.padding.borders import Borders
from bmc.kernels.padding.masks import Masks
from bmc.kernels.problem.product import LANES, RESULT, A, B, Loop, OutOfBounds, Product
from bmc.kernels.schedule.accumulate import Accumulate
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.kernels.schedule.k_blocks import KBlocks, k_blocked
from bmc.kernels.schedule.panels import LMULS, MOST_ROWS, Panel, cut
from bmc.kernels.schedule.row_block import PanelContext
from bmc.kernels.schedule.spill import Spill
from bmc.kernels.schedule.widen import TooLarge, Widened
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Constants, Kernel, TooManyRegisters
from bmc.kernels.tree.loops import Pointers
from bmc.kernels.tree.vectors import Lanes
from bmc.kernels.unsupported import Unsupported

# Float registers for scalars of `a` and constants of the epilogue; the epilogue needs the last one as a temporary.
_FLOATS = 31
# Bytes. Alignment of the widened panel of `b` in scratch memory.
_ALIGNMENT = 16


def write(product: Product, vlen: int, choice: Choice = DEFAULT) -> Kernel:
    """Returns the kernel that executes the fewest instructions on harts with a VLEN of at least `vlen` bits.

    Raises: as chosen().
    """
    return chosen(product, vlen, choice)[1]


def chosen(product: Product, vlen: int, choice: Choice = DEFAULT) -> tuple[Choice, Kernel]:
    """As write(), with what was chosen of `reuses` and `widens`.

    Raises:
      Unsupported: the epilogue has an unsupported operation or needs too many vector registers.
      TooManyRegisters: the operands and loops need too many scalar registers.
    """
    kernels: list[tuple[Choice, Kernel]] = []
    failure = Unsupported("no such choice")
    for candidate in _candidates(product, choice):
        for rows in (MOST_ROWS, 10, 8, 6, 4, 2) if choice.rows is None else (choice.rows,):
            try:
                kernel = _Gemm(product, vlen, replace(candidate, rows=rows)).kernel()
                kernels.append((candidate, kernel))
                break
            except TooManyRegisters as reason:
                failure = reason
            except Unsupported as reason:
                failure = reason
                break
    if not kernels:
        raise failure
    return min(kernels, key=lambda each: each[1].executed)


def cost(product: Product, vlen: int, epilogue_cost: int) -> float:
    """Estimates the instructions that write()'s kernel executes, with `epilogue_cost` of them for each accumulator."""
    costs = []
    failure = Unsupported("no such choice")
    for candidate in _candidates(product, Choice(rows=MOST_ROWS, reuses=True)):
        try:
            costs.append(_Gemm(product, vlen, candidate).cost(epilogue_cost))
        except Unsupported as reason:
            failure = reason
    if not costs:
        raise failure
    return min(costs)


def _candidates(product: Product, choice: Choice) -> Iterator[Choice]:
    """Yields `choice` with `reuses` and `widens` set, in all combinations that it allows."""
    # Borders are only implemented for taps that share loads.
    sharing = (True, False) if product.padding is None else (True,)
    for widens in (True, False) if product.dtypes[B] == "i8" else (False,):
        for reuses in sharing:
            if choice.reuses in (None, reuses) and choice.widens in (None, widens):
                yield replace(choice, reuses=reuses, widens=widens)


class _Gemm:
    """Writes one kernel. `choice` must set `reuses`, `widens` and `rows`."""

    def __init__(self, product: Product, vlen: int, choice: Choice) -> None:
        self._vlen = vlen
        self._out = Assembly(len(product.dtypes))
        self._bases = list(self._out.arguments)
        self._widened, self._k_blocks = self._widen(product, choice)
        if self._k_blocks is not None:
            product, choice = self._k_blocks.product, replace(choice, spills=True)
        self._product = product
        none = Loop(1, (0,) * len(product.dtypes))
        *outer_rows, self._inner_rows = product.rows or (none,)
        # The product as row blocks read it, with `b` widened if it is.
        widened = self._widened.product if self._widened else product
        self._borders = Borders(widened, self._inner_rows)
        padding = product.padding
        if padding and padding.value and product.scheme.is_float:
            raise Unsupported("an image that is padded with floats other than zero")
        if (
            product.initial is not None
            and 8 * WIDTHS[product.dtypes[product.initial]] != product.scheme.bits
        ):
            raise Unsupported("f32 accumulators with initial values of 16 bits")
        self._pad_value = int(padding.value) if padding else 0
        has_masks = padding is not None and padding.operand == B
        self._masks = Masks(self._out, widened, vlen) if has_masks else None
        # Outer loops that do not change the masks run inside a panel, so that its masks are computed once. A widened
        # panel is of one iteration of those that move `b`.
        inside = [
            loop
            for loop in product.outer
            if self._masks and not any(loop.steps) and not (self._widened and loop.strides[B])
        ]
        self._outer_loops = tuple(loop for loop in product.outer if loop not in inside)
        self._row_loops = [*inside, *outer_rows, self._inner_rows]
        # Operands that change from row to row; other operands of the epilogue depend on the lane only.
        self._row_operands = [
            number
            for number in range(B, len(product.dtypes))
            if number == RESULT or any(loop.strides[number] for loop in self._row_loops)
        ]
        k_blocks = self._k_blocks.loop.extent if self._k_blocks else 1
        self._accumulate = Accumulate(
            self._out, widened, self._inner_rows, self._borders, self._masks, choice, k_blocks
        )
        self._panels = cut(widened, self._accumulate, self._inner_rows, vlen, choice)
        # Float registers with constants of the epilogue.
        self._constants: Constants = {}
        # Rows that are spilled at a time between K blocks. 0 without K blocks: a spill is one row block then.
        group = self._row_loops[-self._k_blocks.group :] if self._k_blocks else ()
        self._spilled_rows = math.prod(loop.extent for loop in group) if self._k_blocks else 0
        spill_bytes = [
            (self._spilled_rows or p.rows) * p.lanes * product.scheme.bits // 8
            for p in self._panels
            if p.epilogue_lmul
        ]
        # Scratch memory: the spilled accumulators, then the masks, then the widened panel of `b`.
        self._spill_bytes = max(spill_bytes, default=0)
        self._scratch_bytes = self._spill_bytes
        if self._masks is not None:
            self._scratch_bytes += self._masks.bytes
        self._widened_offset = -(-self._scratch_bytes // _ALIGNMENT) * _ALIGNMENT
        if self._widened is not None:
            self._scratch_bytes = self._widened_offset + self._widened.bytes
        self._scratch = self._out.argument() if self._scratch_bytes else ""
        self._start_offsets = {number: self._out.argument() for number in product.start_offsets}

    def _widen(self, product: Product, choice: Choice) -> tuple[Widened | None, KBlocks | None]:
        """Returns what widens `b`, if that is chosen, and the K blocks, if a whole panel is too large to widen."""
        if not choice.widens:
            return None, None
        widest = (choice.lmul or LMULS[-1]) * self._vlen // 32
        lanes = min(widest, product.lanes.extent)
        try:
            return Widened(self._out, product, self._vlen, lanes), None
        except TooLarge:
            # K blocks spill the accumulators.
            if choice.spills is False:
                raise
            for k_blocks in k_blocked(product, lanes):
                with suppress(TooLarge):
                    return Widened(self._out, k_blocks.product, self._vlen, lanes), k_blocks
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
            self._row_operands,
            self._constants,
            self._vlen,
            self._scratch,
        )
        padding = self._product.padding
        if padding is not None:
            out.add(self._bases[padding.operand], padding.offset)
        if self._masks is not None:
            self._masks.start(self._start_offsets)
        positions = self._masks.positions if self._masks else {}
        pointers = self._pointers(range(len(self._bases)), positions)
        loops.repeat(out, pointers, self._outer_loops, self._all_panels)
        return out.kernel(self._scratch_bytes, start_offsets=self._start_offsets)

    def cost(self, epilogue_cost: int) -> float:
        rows = math.prod(loop.extent for loop in (*self._outer_loops, *self._row_loops))
        total = rows * sum(panel.count * (panel.cost + epilogue_cost) for panel in self._panels)
        outer = math.prod(loop.extent for loop in self._outer_loops)
        for panel in self._panels:
            masks = self._masks.cost if self._masks else 0
            widen = self._widened.cost(panel.lanes) if self._widened else 0
            if self._k_blocks:
                widen *= self._k_blocks.loop.extent * rows // (outer * self._spilled_rows)
            total += outer * panel.count * (masks + widen)
        return total

    def _all_panels(self) -> None:
        out, lanes = self._out, self._product.lanes
        if self._masks is not None:
            if LANES in self._start_offsets:
                out.move(self._masks.first, self._start_offsets[LANES])
            else:
                out.set(self._masks.first, 0)
        addresses = self._pointers(range(len(self._bases)))
        for panel in self._panels:

            def body(panel: Panel = panel) -> None:
                self._panel(panel)
                addresses.move(out, lanes, panel.lanes)
                if self._masks is not None:
                    out.add(self._masks.first, panel.lanes)

            out.repeat(panel.count, body)
        addresses.move(out, lanes, -lanes.extent)

    def _pointers(self, operands: Iterable[int], positions: Mapping[int, str] = {}) -> Pointers:
        """Returns the addresses of operands, and image indices by edge, as pointers."""
        return Pointers([(number, self._bases[number]) for number in operands], positions.items())

    def _panel(self, panel: Panel) -> None:
        """Emits all rows of a panel."""
        out = self._out
        large_strides, edges = self._accumulate.large_strides, self._borders.vertical
        with (
            out.registers(1) as (length,),
            out.registers(len(large_strides)) as stride_registers,
            out.registers(len(edges)) as position_registers,
            out.registers(int(self._pad_value != 0)) as pad_value,
            out.registers(int(self._masks is not None)) as masks,
            out.registers(int(self._widened is not None)) as widened_b,
        ):
            constants = dict(zip(large_strides, stride_registers, strict=True))
            numbers = (edge.number for edge in edges)
            positions = dict(zip(numbers, position_registers, strict=True))
            out.set(length, panel.lanes)
            for stride, register in constants.items():
                out.set(register, stride)
            for edge in edges:
                out.set(positions[edge.number], edge.start)
            for register in pad_value:
                out.set(register, self._pad_value)
            for edge in edges:
                if edge.moves:
                    position = positions[edge.number]
                    out.emit(rvv.add(position, position, self._start_offsets[edge.number]))
            strided, bits = self._product.strided, self._product.scheme.bits
            lanes = Lanes(panel.lanes, panel.lmul, length, strided, bits=bits)
            context = PanelContext(
                panel.rows,
                panel.epilogue_lmul,
                lanes,
                constants,
                positions,
                pad_value=pad_value[0] if pad_value else "",
                masks=masks[0] if masks else "",
                b=widened_b[0] if widened_b else self._bases[B],
            )
            if self._masks is not None:
                out.move(context.masks, self._scratch)
                out.add(context.masks, self._spill_bytes)
                self._masks.write(lanes, context.masks)
            widened, k_blocks = self._widened, self._k_blocks
            if widened is not None:
                out.move(context.b, self._scratch)
                out.add(context.b, self._widened_offset)
                if k_blocks is not None:
                    self._repeat_rows(
                        k_blocks.group,
                        (A, *self._row_operands),
                        context,
                        lambda: self._k_blocked(widened, k_blocks, context),
                    )
                    return
                first_lane = self._masks.first if self._masks else ""
                first_taps = self._masks.positions if self._masks else {}
                widened.write(self._bases[B], first_lane, first_taps, lanes.count, context.b)
            rows = (A, *self._row_operands)
            self._repeat_rows(1, rows, context, lambda: self._blocks(rows, context))

    def _repeat_rows(
        self, inside: int, moved: Iterable[int], context: PanelContext, body: Callable[[], None]
    ) -> None:
        """Emits the row loops but the last `inside` around `body`; they move the operands `moved`."""
        pointers = self._pointers(moved, context.positions)
        loops.repeat(self._out, pointers, self._row_loops[:-inside], body)

    def _blocks(self, moved: Iterable[int], context: PanelContext) -> None:
        """Emits all row blocks of the innermost row loop, each of which moves the operands `moved`."""
        for count, rows, out_of_bounds in self._borders.blocks(context.rows):

            def block(rows: int = rows, out_of_bounds: OutOfBounds = out_of_bounds) -> None:
                self._block(rows, out_of_bounds, context)

            self._out.repeat(count, block)
        self._pointers(moved).move(self._out, self._inner_rows, -self._inner_rows.extent)

    def _k_blocked(self, widened: Widened, k_blocks: KBlocks, context: PanelContext) -> None:
        """Emits one group of rows: all K blocks, whose accumulators are spilled, then the epilogue."""
        out = self._out
        outer = self._row_loops[-k_blocks.group : -1]
        out.use(context.lanes, context.lanes.bits)
        self._spill.fill(context.lanes, self._spilled_rows)

        def k_block() -> None:
            widened.write(self._bases[B], "", {}, context.lanes.count, context.b)
            moved = self._pointers((A,), context.positions)
            loops.repeat(out, moved, outer, lambda: self._blocks((A,), context))
            self._spill.back(context.lanes, self._spilled_rows)

        loops.repeat(out, self._pointers((A, B)), (k_blocks.loop,), k_block)

        def row() -> None:
            self._spill.row(context.lanes.count, context.epilogue_lmul)

        def epilogue() -> None:
            out.repeat(self._inner_rows.extent, row)
            moved = self._pointers(self._row_operands)
            moved.move(out, self._inner_rows, -self._inner_rows.extent)

        loops.repeat(out, self._pointers(self._row_operands), outer, epilogue)
        self._spill.back(context.lanes, self._spilled_rows)

    def _block(self, rows: int, out_of_bounds: OutOfBounds, context: PanelContext) -> None:
        """Emits one row block, and moves the addresses behind it."""
        out = self._out
        lmul = context.lanes.lmul
        accumulators = [out.vectors.take(lmul) for _ in range(rows)][::-1]
        bits = context.lanes.bits
        out.use(context.lanes, bits)
        block = context.block(accumulators, out_of_bounds)
        if self._k_blocks is not None:
            self._spill.load(block)
        else:
            self._spill.start(accumulators)
        masked = "mu" if self._masks else "ma"
        if self._masks or self._product.scheme.widens:
            out.use(context.lanes, 16 if self._product.scheme.widens else bits, masked)
        self._accumulate.write(block, self._bases[A], context.b)
        out.add(self._bases[A], rows * self._inner_rows.strides[A])
        if self._masks or self._product.scheme.widens:
            out.use(context.lanes, bits)
        if context.epilogue_lmul:
            self._spill.store(block)
            out.vectors.give(*accumulators)
            if self._k_blocks is not None:
                self._spill.back(context.lanes, -rows)
                return
            out.repeat(rows, lambda: self._spill.row(context.lanes.count, context.epilogue_lmul))
            self._spill.back(context.lanes, rows)
            return
        steps = {
            number: self._inner_rows.strides[number]
            for number in self._row_operands
            if self._inner_rows.strides[number]
        }
        nodes, addresses = self._product.epilogue, self._bases.__getitem__
        emit(out, nodes, accumulators, addresses, context.lanes, self._constants, steps)
