"""Writes products of many rows with packed weights: a group is unpacked as f32 into scratch memory, for all rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as combinations

from bmc.kernels.problem.product import A, B, Product
from bmc.kernels.schedule.grouped_rows import (
    BITS,
    LMULS,
    WIDTH,
    GroupedRows,
    Panel,
    fewest,
)
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Kernel
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import REGISTERS, Lanes, part
from bmc.kernels.unsupported import Unsupported

# Steps of the sum that are written one after the other.
_UNROLLED = 16


def write(product: Product, vlen: int, loads: int = 1) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits.

    Args:
      product: the product.
      vlen: the smallest VLEN in bits.
      loads: how many groups weights go through in turn: with two, loads need not wait for readers.

    Raises:
      Unsupported: the product is another one, or a group is too large.
    """
    packing = product.packing
    if packing is None or packing.factors is not None:
        raise Unsupported("a product that is not one of f32 and packed weights")
    return fewest(
        lambda last, lmul=lmul, rows=rows: _Floats(product, vlen, lmul, rows, last, loads).kernel()  # type: ignore[misc]
        for lmul, rows in combinations(LMULS, range(2, 8))
        if lmul * (rows + loads) <= REGISTERS and rows <= product.rows[0].extent
    )


class _Floats(GroupedRows):
    """Writes one kernel; the sums of a row are in `lmul` registers."""

    def __init__(
        self, product: Product, vlen: int, lmul: int, rows: int, last: int, loads: int
    ) -> None:
        super().__init__(product, vlen, lmul * vlen // BITS, rows, last)
        self._lmul, self._loads = lmul, loads
        self._size = self.codes.extent * self.inner.extent
        # The weights of a group.
        self.prepared = WIDTH * self._size

    def begin(self) -> None:
        self._zero_code = self.out.take_float()
        self.set_number(self._zero_code, -float(self.packing.zero))

    def start(self) -> None:
        """Needs nothing."""

    def prepare(self, panel: Panel) -> None:
        """Emits the weights of a group as f32: code * scale + (min - zero * scale)."""
        out, lmul, inner, packing = self.out, self._lmul, self.inner, self.packing
        lanes = self._lanes(panel)
        scale, added, *wide = (out.vectors.take(lmul) for _ in range(2 + self.codes.extent))
        narrow = part(wide[0], 3 * lmul // 4) if lmul >= 4 else out.vectors.take(1)
        self.load_half(scale, lmul, panel.scaling[0])
        if packing.mins is None:
            out.emit(rvv.zeros(added))
        else:
            self.load_half(added, lmul, panel.scaling[1])
        if packing.zero:
            out.emit(rvv.multiply_add("vfmacc", added, self._zero_code, scale))
        line = lanes.count * WIDTH
        with out.registers(1) as (b,), out.registers(self.codes.extent) as addresses:
            out.move(b, panel.b)
            for number, address in enumerate(addresses):
                out.move(address, self.for_lanes)
                out.add(address, number * inner.extent * line)

            def step() -> None:
                out.emit(rvv.transfer(False, 8, narrow, b))
                out.add(b, inner.strides[B], panel.constants)
                if packing.bits == 8:
                    out.emit(rvv.extend(4, wide[0], narrow))
                else:
                    out.emit(rvv.extend_unsigned(4, wide[0], narrow))
                    out.emit(rvv.binary("vsrl", wide[1], wide[0], packing.bits))
                    out.emit(rvv.binary("vand", wide[0], wide[0], 2**packing.bits - 1))
                for group, address in zip(wide, addresses, strict=True):
                    out.emit(rvv.float_of_integers(group, group))
                    out.emit(rvv.multiply_add("vfmadd", group, scale, added))
                    out.emit(rvv.transfer(True, BITS, group, address))
                    out.add(address, line)

            self._repeat(inner.extent, step)
        if lmul < 4:
            out.vectors.give(narrow)
        out.vectors.give(scale, added, *wide)

    def block(self, panel: Panel, rows: int) -> None:
        out, lmul, inner = self.out, self._lmul, self.inner
        lanes = self._lanes(panel)
        line = lanes.count * WIDTH
        groups = [out.vectors.take(lmul) for _ in range(rows)]
        weights = [out.vectors.take(lmul) for _ in range(self._loads)]
        factors = [out.take_float() for _ in range(rows)]
        if self._size * WIDTH > 2**11 or inner.strides[A] != WIDTH or not fits(line):
            raise Unsupported("a group that is too large for immediates")
        if self.codes.extent > 1 and self.codes.strides[A] != inner.extent * WIDTH:
            raise Unsupported("a group with gaps")
        with out.registers(rows) as addresses, out.registers(2) as (b, to):
            out.move(b, self.for_lanes)
            out.move(to, panel.sums)
            for row, (address, group) in enumerate(zip(addresses, groups, strict=True)):
                out.move(address, addresses[row - 1] if row else self.bases[A])
                out.add(address, self.rows.strides[A] if row else 0)
                out.emit(rvv.transfer(False, BITS, group, to))
                out.add(to, line)

            def steps(count: int) -> None:
                for index in range(count):
                    weight = weights[index % len(weights)]
                    out.emit(rvv.transfer(False, BITS, weight, b))
                    out.add(b, line)
                    for address, factor in zip(addresses, factors, strict=True):
                        out.emit(rvv.load_number("f32", factor, index * WIDTH, address))
                    for factor, group in zip(factors, groups, strict=True):
                        out.emit(rvv.multiply_add("vfmacc", group, factor, weight))
                for address in addresses:
                    out.add(address, count * WIDTH)

            count, left = divmod(self._size, _UNROLLED)
            if count:
                out.repeat(count, lambda: steps(_UNROLLED))
            if left:
                steps(left)
            out.move(to, panel.sums)
            for group in groups:
                out.emit(rvv.transfer(True, BITS, group, to))
                out.add(to, line)
        for factor in factors:
            out.give_float(factor)
        out.vectors.give(*weights, *groups)

    def _lanes(self, panel: Panel) -> Lanes:
        """Sets the lanes of the panel, which one group of registers holds."""
        self.out.set(panel.length, panel.width)
        lanes = Lanes(panel.width, self._lmul, panel.length)
        self.out.use(lanes, BITS)
        return lanes

    def _repeat(self, extent: int, body: Callable[[], None]) -> None:
        """Emits a loop, of which each iteration does several steps if they divide it."""
        count = next(n for n in (4, 2, 1) if extent % n == 0)

        def steps() -> None:
            for _ in range(count):
                body()

        self.out.repeat(extent // count, steps)
