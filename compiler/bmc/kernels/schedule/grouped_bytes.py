"""Writes products of bytes with packed weights of four bits: sums of a group are integers of 16 bits.

|sum| <= 32 * 127 * 8 = 32,512 for a group of 32 bytes from -127 to 127 and codes from -8 to 7, so that it fits. Codes
are stored without sign, from 0 to 15. With those, a sum could be twice as large, and wraps; but it begins with what
their difference is worth, and so it ends as the sum with signed codes, whatever it was between.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as combinations

from bmc.ir.grouped_product import MIDDLE
from bmc.kernels.problem.product import A, B, Product
from bmc.kernels.schedule.grouped_rows import (
    BITS,
    LMULS,
    WIDTH,
    GroupedRows,
    Panel,
    divided,
    fewest,
)
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import REGISTERS, Lanes, part
from bmc.kernels.unsupported import Unsupported

# Bytes of a group at most, as above.
LARGEST_GROUP = 32
_SHORT = 2
_MOST_ROWS = 3


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits.

    Raises:
      Unsupported: the product is another one, or its epilogue needs too many registers.
    """
    packing = product.packing
    if packing is None or packing.factors is None or packing.bits != 4:
        raise Unsupported("a product that is not one of bytes and packed weights of four bits")
    if product.summed[1].extent * product.summed[2].extent > LARGEST_GROUP:
        raise Unsupported(f"sums of bytes over more than {LARGEST_GROUP}")
    most = min(_MOST_ROWS, product.rows[0].extent)
    return fewest(
        lambda last, lmul=lmul, rows=rows: _Bytes(product, vlen, lmul, rows, last).kernel()  # type: ignore[misc]
        for lmul, rows in combinations(LMULS, range(1, most + 1))
    )


class _Bytes(GroupedRows):
    """Writes one kernel; the sums of a row and group are in `lmul` registers."""

    def __init__(self, product: Product, vlen: int, lmul: int, rows: int, last: int) -> None:
        super().__init__(product, vlen, lmul * vlen // 16, rows, last)
        self._lmul = lmul
        self._most = max(rows for _, rows in self.blocks)
        # With one block of rows, each reads scales as they are.
        self._prepares = sum(count for count, _ in self.blocks) > 1
        scaling = 1 + (self.packing.mins is not None)
        # Scales and minima as f32, and the sums of a block of rows.
        self._before = WIDTH * scaling * self._prepares
        self.prepared = self._before + _SHORT * self._most
        # What the codes' difference is worth to each group of each row.
        self.more = WIDTH * self.rows.extent * self.groups.extent
        self._row_bytes = WIDTH * self.groups.extent

    def begin(self) -> None:
        self._eighth = ""
        if self.packing.mins is not None:
            self._eighth = self.out.take_float()
            self.set_number(self._eighth, -1 / MIDDLE)
        self._starts = self.out.register()
        self.beside = ((self._starts, self._row_bytes),)

    def start(self) -> None:
        """Emits -MIDDLE times the sums of the groups of `a`; lanes are groups."""
        out, lmul = self.out, LMULS[0]
        strides = self.groups.strides
        total, wide = out.vectors.take(lmul), out.vectors.take(lmul)
        narrow = part(wide, 3 * lmul // 4)
        with out.registers(6) as (to, group, address, stride, length, factor):
            out.move(to, self.for_lanes)
            out.add(to, self.rest)
            out.set(stride, strides[A])
            out.set(factor, -MIDDLE)

            def step() -> None:
                out.emit(rvv.transfer_strided(False, 8, narrow, address, stride))
                out.emit(rvv.extend(4, wide, narrow))
                out.emit(rvv.binary("vadd", total, total, wide))
                out.add(address, 1)

            def groups(count: int) -> None:
                out.set(length, count)
                out.use(Lanes(count, lmul, length), BITS)
                out.emit(rvv.zeros(total))
                out.move(address, group)
                for _ in range(self.codes.extent):
                    out.repeat(self.inner.extent, step)
                    out.add(address, self.codes.strides[A] - self.inner.extent)
                out.emit(rvv.binary("vmul", total, total, factor))
                out.emit(rvv.transfer(True, BITS, total, to))
                out.add(to, count * WIDTH)
                out.add(group, count * strides[A])

            def row() -> None:
                out.move(group, self.bases[A])
                most = lmul * self.vlen // BITS
                for count, width in divided(self.groups.extent, -(-self.groups.extent // most)):
                    out.repeat(count, lambda width=width: groups(width))  # type: ignore[misc]

            loops.repeat(out, loops.Pointers([(A, self.bases[A])]), [self.rows], row)
        out.vectors.give(total, wide)

    def repeat_groups(self, body: Callable[[], None]) -> None:
        self.out.move(self._starts, self.for_lanes)
        self.out.add(self._starts, self.rest)

        def group() -> None:
            body()
            self.out.add(self._starts, WIDTH)

        super().repeat_groups(group)

    def prepare(self, panel: Panel) -> None:
        """Emits the scales and minima of a group as f32."""
        out = self.out
        if not self._prepares:
            return
        with out.registers(2) as (to, source):
            out.move(to, self.for_lanes)
            for address in panel.scaling:
                out.move(source, address)
                for lanes, _ in self.pieces(panel, LMULS[0]):
                    group = out.vectors.take(lanes.lmul)
                    self.load_half(group, lanes.lmul, source)
                    out.emit(rvv.transfer(True, BITS, group, to))
                    out.vectors.give(group)
                    out.add(to, lanes.count * WIDTH)
                    out.add(source, lanes.count * _SHORT)

    def block(self, panel: Panel, rows: int) -> None:
        out = self.out
        with out.registers(1) as (sums,):
            # The sums of the group are behind the scales and minima.
            out.move(sums, self.for_lanes)
            out.add(sums, self._before * panel.width)
            self._multiply(panel, rows, sums)
            self._scale(panel, rows, sums)

    def _multiply(self, panel: Panel, rows: int, sums: str) -> None:
        """Emits the products with the codes of a group, and stores their sums."""
        out, inner, lmul = self.out, self.inner, self._lmul
        out.set(panel.length, panel.width)
        groups = [out.vectors.take(lmul) for _ in range(rows)]
        # Codes go through two pairs of groups in turn if there are registers: loads need not wait for readers then.
        narrow = max(1, lmul // 2)
        turns = 2 if lmul * rows + 4 * narrow <= REGISTERS else 1
        codes = [(out.vectors.take(narrow), out.vectors.take(narrow)) for _ in range(turns)]
        lanes = Lanes(panel.width, lmul, panel.length, bits=16)
        out.use(lanes, 16)
        with out.registers(rows) as addresses, out.registers(3) as (b, one, other):
            out.move(b, panel.b)
            for row, (address, group) in enumerate(zip(addresses, groups, strict=True)):
                out.move(address, addresses[row - 1] if row else self.bases[A])
                out.add(address, self.rows.strides[A] if row else 0)
                self._load_start(one, row)
                out.emit(rvv.splat(group, one))
            out.use(lanes, 8)
            for index in range(inner.extent):
                low, high = codes[index % turns]
                out.emit(rvv.transfer(False, 8, low, b))
                out.add(b, inner.strides[B], panel.constants)
                out.emit(rvv.binary("vsrl", high, low, 4))
                out.emit(rvv.binary("vand", low, low, 15))
                for address, group in zip(addresses, groups, strict=True):
                    place = index * inner.strides[A]
                    out.load(one, place, address, 8)
                    out.load(other, place + self.codes.strides[A], address, 8)
                    out.emit(rvv.multiply_add("vwmacc", group, one, low))
                    out.emit(rvv.multiply_add("vwmacc", group, other, high))
        out.use(lanes, 16)
        with out.registers(1) as (to,):
            out.move(to, sums)
            for group in groups:
                out.emit(rvv.transfer(True, 16, group, to))
                out.add(to, panel.width * _SHORT)
        out.vectors.give(*groups, *(group for pair in codes for group in pair))

    def _load_start(self, to: str, row: int) -> None:
        """Emits the load of what a row's sum of the group begins with."""
        offset = row * self._row_bytes
        if not fits(offset):
            raise Unsupported("rows of many groups")
        self.out.load(to, offset, self._starts, 32)

    def _scale(self, panel: Panel, rows: int, sums: str) -> None:
        """Emits the sums of a group times its scales, and adds them to the sums of the rows."""
        out, packing = self.out, self.packing
        assert packing.factors is not None
        step = self.rows.strides[packing.factors]
        factors = [out.take_float() for _ in range(rows)]
        for row, factor in enumerate(factors):
            out.emit(rvv.load_number("f32", factor, row * step, self.bases[packing.factors]))
        totals = [out.take_float() for _ in range(rows if self._eighth else 0)]
        with out.registers(1) as (number,):
            for row, total in enumerate(totals):
                self._load_start(number, row)
                out.emit(rvv.float_of_integer(total, number))
                out.emit(rvv.multiply_numbers(total, total, self._eighth))
        for lanes, first in self.pieces(panel, LMULS[0]):
            self._scale_piece(panel, lanes, first, sums, factors, totals)
        for each in (*factors, *totals):
            out.give_float(each)

    def _scale_piece(
        self,
        panel: Panel,
        lanes: Lanes,
        first: int,
        sums: str,
        factors: list[str],
        totals: list[str],
    ) -> None:
        out, lmul = self.out, lanes.lmul
        scaling = [out.vectors.take(lmul) for _ in panel.scaling]
        value, total = out.vectors.take(lmul), out.vectors.take(lmul)
        narrow = part(value, lmul // 2) if lmul >= 2 else out.vectors.take(1)
        with out.registers(3) as (source, to, number):
            if self._prepares:
                out.move(source, self.for_lanes)
                out.add(source, first * WIDTH)
            for group, address in zip(scaling, panel.scaling, strict=True):
                if self._prepares:
                    out.emit(rvv.transfer(False, BITS, group, source))
                    out.add(source, panel.width * WIDTH)
                else:
                    out.move(source, address)
                    out.add(source, first * _SHORT)
                    self.load_half(group, lmul, source)
            out.move(source, sums)
            out.add(source, first * _SHORT)
            out.move(to, panel.sums)
            out.add(to, first * WIDTH)
            for row, factor in enumerate(factors):
                out.emit(rvv.transfer(False, 16, narrow, source))
                out.add(source, panel.width * _SHORT)
                out.emit(rvv.extend(2, value, narrow))
                if not self.packing.zero:
                    self._load_start(number, row)
                    out.emit(rvv.binary("vsub", value, value, number))
                out.emit(rvv.float_of_integers(value, value))
                out.emit(rvv.binary("vfmul", value, value, scaling[0]))
                if totals:
                    out.emit(rvv.multiply_add("vfmacc", value, totals[row], scaling[1]))
                out.emit(rvv.transfer(False, BITS, total, to))
                out.emit(rvv.multiply_add("vfmacc", total, factor, value))
                out.emit(rvv.transfer(True, BITS, total, to))
                out.add(to, panel.width * WIDTH)
        if lmul < 2:
            out.vectors.give(narrow)
        out.vectors.give(*scaling, value, total)
