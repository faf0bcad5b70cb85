"""Writes products with packed weights whose sums are in scratch memory, so that several rows share what is unpacked.

For a panel of lanes and a group along the sum, something is prepared once, and all blocks of rows use it. Two kinds of
kernels are made so: grouped_bytes.py multiplies bytes with codes, and grouped_floats.py unpacks weights as f32.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from bmc.dtype import F16_FACTOR, F16_MASK, F16_SHIFT
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Product
from bmc.kernels.schedule.spill import Spill
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Kernel
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import Lanes, part
from bmc.kernels.unsupported import Unsupported

LMULS = (8, 4, 2, 1)
BITS, WIDTH = 32, 4
# Bytes of the sums of a panel at most, and of what is prepared for a group. The stack of a small board has 64 KB.
MOST_BYTES = 16 * 1024
_ALIGNMENT = 64
# Float registers for constants of the epilogue at most.
_MOST_FLOATS = 10


@dataclass(frozen=True)
class Panel:
    """What is in integer registers while a panel is computed.

    Attributes:
      width: lanes.
      b: address of the codes of the group.
      scaling: addresses of the scales of the group, and of the minima if there are any.
      constants: distances that do not fit into an immediate.
      length: for vector lengths.
      sums: address of the sums of a block of rows.
    """

    width: int
    b: str
    scaling: list[str]
    constants: Mapping[int, str]
    length: str
    sums: str


class GroupedRows(abc.ABC):
    """Writes one kernel.

    Args:
      product: has packed weights.
      vlen: the smallest VLEN in bits.
      widest: lanes of the widest panel.
      rows: rows of the largest block.
      epilogue_lmul: LMUL of the epilogue.

    Raises:
      Unsupported: the product has none, or what is needed at once is too large.
    """

    # Bytes of scratch memory for each lane of a panel, and in all, beside the sums.
    prepared = 0
    more = 0
    # Other registers with addresses, and the bytes from row to row of each.
    beside: tuple[tuple[str, int], ...] = ()

    def __init__(
        self, product: Product, vlen: int, widest: int, rows: int, epilogue_lmul: int
    ) -> None:
        if product.packing is None:
            raise Unsupported("weights that are not packed")
        self.product, self.packing, self.vlen = product, product.packing, vlen
        self.groups, self.codes, self.inner = product.summed
        (whole,) = product.rows
        count = math.ceil(product.lanes.extent / widest)
        self.panels = divided(product.lanes.extent, count)
        self.widest = self.panels[0][1]
        most = MOST_BYTES // (WIDTH * self.widest)
        chunk = max(
            (n for n in range(1, whole.extent + 1) if whole.extent % n == 0 and n <= most),
            default=0,
        )
        if not chunk:
            raise Unsupported("sums that are too many for the stack")
        self.rows = Loop(chunk, whole.strides)
        self.chunks = Loop(whole.extent // chunk, tuple(chunk * each for each in whole.strides))
        self.blocks = divided(chunk, math.ceil(chunk / rows))
        self._epilogue_lmul = epilogue_lmul
        self.out = Assembly(len(product.dtypes))
        self.bases = list(self.out.arguments)
        self.scratch = self.out.argument()

    def kernel(self) -> Kernel:
        """Returns the kernel."""
        out = self.out
        sums = -(-self.rows.extent * self.widest * WIDTH // _ALIGNMENT) * _ALIGNMENT
        # The address of what is prepared for lanes, behind the sums. The rest is behind that.
        self.for_lanes = out.register()
        out.move(self.for_lanes, self.scratch)
        out.add(self.for_lanes, sums)
        prepared = self.rest = -(-self.prepared * self.widest // _ALIGNMENT) * _ALIGNMENT
        if prepared + self.more > 2 * MOST_BYTES:
            raise Unsupported("a group that is too large for the stack")
        self.mask, self.rebias = out.register(), out.take_float()
        out.set(self.mask, F16_MASK)
        self.set_number(self.rebias, F16_FACTOR)
        self.begin()
        self._constants = hoisted(out, self.product.epilogue, _MOST_FLOATS)
        rows, _ = split(self.product.outer)
        pointers = self._pointers(range(len(self.bases)))
        loops.repeat(out, pointers, [*rows, self.chunks], self._chunk)
        return out.kernel(sums + prepared + self.more)

    @abc.abstractmethod
    def begin(self) -> None:
        """Emits what comes before all loops."""

    @abc.abstractmethod
    def start(self) -> None:
        """Emits what is computed once of a chunk of rows."""

    @abc.abstractmethod
    def prepare(self, panel: Panel) -> None:
        """Emits what all rows need of a group."""

    @abc.abstractmethod
    def block(self, panel: Panel, rows: int) -> None:
        """Emits what a group adds to the sums of a block of rows.

        The addresses of `a`, of its factors and of the sums are those of the block, and stay.
        """

    def pieces(self, panel: Panel, lmul: int) -> Iterator[tuple[Lanes, int]]:
        """Yields the pieces of a panel that fit into groups of f32, each with its first lane, and sets their length."""
        most = lmul * self.vlen // BITS
        first = 0
        while first < panel.width:
            count = min(most, panel.width - first)
            self.out.set(panel.length, count)
            lanes = Lanes(count, self.fitting(count), panel.length)
            self.out.use(lanes, BITS)
            yield lanes, first
            first += count

    def fitting(self, count: int) -> int:
        """Returns the LMUL of the smallest groups of f32 with so many lanes."""
        return next(each for each in reversed(LMULS) if each * self.vlen >= count * BITS)

    def load_half(self, to: str, lmul: int, address: str) -> None:
        """Emits the load of f16 as f32, with integers: not every hart extends them."""
        out = self.out
        narrow = part(to, lmul // 2) if lmul >= 2 else out.vectors.take(1)
        out.emit(rvv.transfer(False, 16, narrow, address))
        out.emit(rvv.extend(2, to, narrow))
        out.emit(rvv.binary("vsll", to, to, F16_SHIFT))
        out.emit(rvv.binary("vand", to, to, self.mask))
        out.emit(rvv.binary("vfmul", to, to, self.rebias))
        if lmul < 2:
            out.vectors.give(narrow)

    def set_number(self, register: str, value: float) -> None:
        self.out.set_float(register, "f32", Node("constant", "f32", value=value).bits)

    @property
    def row_operands(self) -> list[int]:
        """What moves from row to row while a group is computed."""
        return [A, *([] if self.packing.factors is None else [self.packing.factors])]

    def _pointers(self, operands: Iterable[int]) -> loops.Pointers:
        return loops.Pointers([(number, self.bases[number]) for number in operands])

    def _chunk(self) -> None:
        self.start()
        _, channels = split(self.product.outer)
        loops.repeat(self.out, self._pointers(range(len(self.bases))), channels, self._panels)

    def _panels(self) -> None:
        out, lanes = self.out, self.product.lanes
        pointers = self._pointers(n for n in range(B, len(self.bases)) if lanes.strides[n])
        for count, width in self.panels:

            def panel(width: int = width) -> None:
                self._panel(width)
                pointers.move(out, lanes, width)

            out.repeat(count, panel)
        pointers.move(out, lanes, -lanes.extent)

    def _panel(self, width: int) -> None:
        out, packing = self.out, self.packing
        operands = [packing.scales] + ([] if packing.mins is None else [packing.mins])
        step = self.inner.strides[B]
        with (
            out.registers(2 + len(operands)) as (b, length, *scaling),
            out.registers(int(not fits(step))) as strides,
        ):
            panel = Panel(
                width,
                b,
                scaling,
                dict.fromkeys([step], *strides) if strides else {},
                length,
                self.scratch,
            )
            self._zero(panel)
            out.move(b, self.bases[B])
            for each in strides:
                out.set(each, step)
            for operand, address in zip(operands, scaling, strict=True):
                out.move(address, self.bases[operand])
            moved = loops.Pointers(
                [
                    *((number, self.bases[number]) for number in self.row_operands),
                    (B, b),
                    *zip(operands, scaling, strict=True),
                ]
            )

            def group() -> None:
                self.prepare(panel)
                self._each_block(panel)
                moved.move(out, self.groups, 1)

            self.repeat_groups(group)
            self._pointers(self.row_operands).move(out, self.groups, -self.groups.extent)
            self._finish(panel)

    def repeat_groups(self, body: Callable[[], None]) -> None:
        """Emits `body` for each group."""
        self.out.repeat(self.groups.extent, body)

    def _zero(self, panel: Panel) -> None:
        out = self.out
        group = out.vectors.take(LMULS[0])

        def row() -> None:
            for lanes, _ in self.pieces(panel, LMULS[0]):
                out.emit(rvv.zeros(group))
                out.emit(rvv.transfer(True, BITS, group, panel.sums))
                out.add(panel.sums, lanes.count * WIDTH)

        out.repeat(self.rows.extent, row)
        out.add(panel.sums, -self.rows.extent * panel.width * WIDTH)
        out.vectors.give(group)

    def _each_block(self, panel: Panel) -> None:
        out = self.out
        pointers = self._pointers(self.row_operands)

        def move(rows: int) -> None:
            pointers.move(out, self.rows, rows)
            for register, step in ((panel.sums, panel.width * WIDTH), *self.beside):
                out.add(register, rows * step)

        for count, rows in self.blocks:

            def block(rows: int = rows) -> None:
                self.block(panel, rows)
                move(rows)

            out.repeat(count, block)
        move(-self.rows.extent)

    def _finish(self, panel: Panel) -> None:
        """Emits the epilogue of all rows."""
        out, strides = self.out, self.rows.strides
        moving = [
            n for n in range(RESULT, len(self.bases)) if strides[n] and n not in self.row_operands
        ]
        spill = Spill(
            out, self.product, self.bases, self.rows, moving, self._constants, self.vlen, panel.sums
        )
        lmul = self._epilogue_lmul
        out.repeat(self.rows.extent, lambda: spill.row(panel.width, lmul))
        self._pointers(moving).move(out, self.rows, -self.rows.extent)
        out.add(panel.sums, -self.rows.extent * panel.width * WIDTH)


def split(outer: Iterable[Loop]) -> tuple[list[Loop], list[Loop]]:
    """Returns the loops over rows, and those over channels."""
    found: tuple[list[Loop], list[Loop]] = ([], [])
    for loop in outer:
        found[not loop.strides[A]].append(loop)
    return found


def divided(extent: int, count: int) -> list[tuple[int, int]]:
    """Returns how many parts of which sizes make `extent` in `count` parts, which differ by one at most."""
    least, more = divmod(extent, count)
    return [each for each in ((more, least + 1), (count - more, least)) if each[0]]


def fewest(makers: Iterable[Callable[[int], Kernel]]) -> Kernel:
    """Returns the kernel that executes the fewest instructions; each maker is given the LMUL of the epilogue.

    Raises:
      Unsupported: there is none.
    """
    found = []
    failure = Unsupported("no kernel")
    for make in makers:
        for lmul in LMULS:
            try:
                found.append(make(lmul))
                break
            except Unsupported as reason:
                failure = reason
    if not found:
        raise failure
    return min(found, key=lambda kernel: kernel.executed)
