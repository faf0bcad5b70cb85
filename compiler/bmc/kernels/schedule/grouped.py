"""Writes products with packed weights, one row at a time: nothing is unpacked but into registers.

Lanes are output channels. For each group along the sum, codes become floats, which a number of `a` each multiplies,
and the scale of the group multiplies their sum. What is subtracted from each code, and what is added to each weight, is
worth the sum of the group's part of `a` times it; these sums are computed once, into scratch memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

from bmc.dtype import F16_FACTOR, F16_MASK, F16_SHIFT
from bmc.kernels.epilogue.constants import hoisted
from bmc.kernels.epilogue.rows import emit
from bmc.kernels.problem.product import A, B, Node, Product
from bmc.kernels.schedule.grouped_rows import divided, split
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly, Constants, Kernel
from bmc.kernels.tree.vectors import Lanes, part
from bmc.kernels.unsupported import Unsupported

_LMULS = (1, 2, 4, 8)
_BITS, _WIDTH = 32, 4
# Bytes of codes that are written one after the other.
_UNROLLED = 16
# Float registers of the loops: two numbers of `a`, the sum of a group and what it is multiplied with, and F16_FACTOR.
_FLOATS = 5
_MOST_FLOATS = 16


def write(product: Product, vlen: int) -> Kernel:
    """Returns a kernel for harts with a VLEN of at least `vlen` bits.

    Raises:
      Unsupported: the product has no packed weights, or its epilogue needs too many registers.
    """
    found = []
    failure = Unsupported("weights that are not packed, or bytes times these")
    is_for = product.packing is not None and product.packing.factors is None
    for most in _LMULS if is_for else ():
        try:
            found.append(_Grouped(product, vlen, most).kernel())
        except Unsupported as reason:
            failure = reason
    if not found:
        raise failure
    return min(found, key=lambda kernel: kernel.executed)


@dataclass(frozen=True)
class _Pointers:
    """Integer registers of the loops of one row.

    Attributes:
      a: addresses of what the codes of a byte are multiplied with.
      b: address of the codes.
      scaling: addresses of scales, and of minima if there are any.
      sums: address of the sums of groups of `a`, "" if nothing needs them.
      mask: F16_MASK.
      constants: distances that do not fit into an immediate.
    """

    a: list[str]
    b: str
    scaling: list[str]
    sums: str
    mask: str
    constants: Mapping[int, str]


class _Grouped:
    """Writes one kernel with groups of at most `most` registers."""

    def __init__(self, product: Product, vlen: int, most: int) -> None:
        assert product.packing is not None
        self._product = product
        self._packing = product.packing
        self._vlen, self._most = vlen, most
        self._out = out = Assembly(len(product.dtypes))
        self._bases = list(out.arguments)
        self._groups, self._codes, self._inner = product.summed
        (self._rows,) = product.rows
        self._needs_sums = bool(self._packing.zero) or self._packing.mins is not None
        sums = self._rows.extent * self._groups.extent if self._needs_sums else 0
        self._scratch_bytes = _WIDTH * sums
        self._scratch = out.argument() if sums else ""
        self._constants: Constants = {}

    def kernel(self) -> Kernel:
        out = self._out
        self._rebias, self._zero = out.take_float(), out.take_float()
        _set_number(out, self._rebias, F16_FACTOR)
        _set_number(out, self._zero, -float(self._packing.zero))
        self._constants = hoisted(out, self._product.epilogue, _MOST_FLOATS - _FLOATS)
        pointers = loops.Pointers(list(enumerate(self._bases)))
        rows, channels = split(self._product.outer)
        with out.registers(1) as (mask,):
            out.set(mask, F16_MASK)

            def all_channels() -> None:
                if self._needs_sums:
                    self._write_sums()
                loops.repeat(out, pointers, channels, lambda: self._panels(mask))

            loops.repeat(out, pointers, rows, all_channels)
        return out.kernel(self._scratch_bytes)

    def _panels(self, mask: str) -> None:
        out, lanes = self._out, self._product.lanes
        pointers = loops.Pointers(list(enumerate(self._bases)))
        parts = math.ceil(lanes.extent * _BITS / (self._most * self._vlen))
        for count, width in divided(lanes.extent, parts):

            def panel(width: int = width) -> None:
                self._panel(width, mask)
                pointers.move(out, lanes, width)

            out.repeat(count, panel)
        pointers.move(out, lanes, -lanes.extent)

    def _write_sums(self) -> None:
        """Emits the sums of the groups of `a` into scratch memory: lanes are groups."""
        out, lmul = self._out, _LMULS[-1]
        strides = self._groups.strides
        total, number = out.vectors.take(lmul), out.vectors.take(lmul)
        with out.registers(5) as (to, group, address, stride, length):
            out.move(to, self._scratch)
            out.set(stride, strides[A])

            def step() -> None:
                out.emit(rvv.transfer_strided(False, _BITS, number, address, stride))
                out.emit(rvv.binary("vfadd", total, total, number))
                out.add(address, _WIDTH)

            def groups(count: int) -> None:
                out.set(length, count)
                out.use(Lanes(count, lmul, length), _BITS)
                out.emit(rvv.zeros(total))
                out.move(address, group)
                for _ in range(self._codes.extent):
                    out.repeat(self._inner.extent, step)
                    out.add(address, self._codes.strides[A] - self._inner.extent * _WIDTH)
                out.emit(rvv.transfer(True, _BITS, total, to))
                out.add(to, count * _WIDTH)
                out.add(group, count * strides[A])

            def row() -> None:
                out.move(group, self._bases[A])
                parts = math.ceil(self._groups.extent * _BITS / (lmul * self._vlen))
                for count, width in divided(self._groups.extent, parts):
                    out.repeat(count, functools.partial(groups, width))

            loops.repeat(out, loops.Pointers([(A, self._bases[A])]), [self._rows], row)
        out.vectors.give(total, number)

    def _panel(self, width: int, mask: str) -> None:
        out = self._out
        lmul = next(each for each in _LMULS if each * self._vlen >= width * _BITS)
        moving = [n for n in range(len(self._bases)) if n != B and self._rows.strides[n]]
        pointers = loops.Pointers([(number, self._bases[number]) for number in moving])
        with out.registers(1) as (length,), out.registers(int(self._needs_sums)) as sums:
            out.set(length, width)
            lanes = Lanes(width, lmul, length, self._product.strided)
            out.use(lanes, _BITS)
            for each in sums:
                out.move(each, self._scratch)
            loops.repeat(out, pointers, [self._rows], lambda: self._row(lanes, mask, "".join(sums)))

    def _row(self, lanes: Lanes, mask: str, sums: str) -> None:
        """Emits all of one row in a panel; register `sums` has the address of the sums of its groups."""
        out, packing = self._out, self._packing
        total = out.vectors.take(lanes.lmul)
        out.emit(rvv.zeros(total))
        operands = [packing.scales] + ([] if packing.mins is None else [packing.mins])
        groups, inner = self._groups.strides, self._inner
        with (
            out.registers(2) as (b, stride),
            out.registers(self._codes.extent) as a,
            out.registers(len(operands)) as scaling,
        ):
            out.move(b, self._bases[B])
            out.set(stride, inner.strides[B])
            for number, address in enumerate(a):
                out.move(address, self._bases[A])
                out.add(address, number * self._codes.strides[A])
            for operand, address in zip(operands, scaling, strict=True):
                out.move(address, self._bases[operand])
            pointers = _Pointers(a, b, scaling, sums, mask, {inner.strides[B]: stride})

            def group() -> None:
                self._group(lanes, total, pointers)
                for address in a:
                    out.add(address, groups[A] - inner.extent * inner.strides[A])
                out.add(b, groups[B] - inner.extent * inner.strides[B])
                for operand, address in zip(operands, scaling, strict=True):
                    out.add(address, groups[operand])
                if sums:
                    out.add(sums, _WIDTH)

            out.repeat(self._groups.extent, group)
        addresses = self._bases.__getitem__
        emit(out, self._product.epilogue, [total], addresses, lanes, self._constants, {})

    def _group(self, lanes: Lanes, total: str, pointers: _Pointers) -> None:
        """Emits what one group adds to the sums of all lanes, in register group `total`."""
        out, packing, lmul = self._out, self._packing, lanes.lmul
        number = ""
        products = out.vectors.take(lmul)
        if pointers.sums:
            number = out.take_float()
            out.emit(rvv.load_number("f32", number, 0, pointers.sums))
        if packing.zero:
            first = out.take_float()
            out.emit(rvv.multiply_numbers(first, number, self._zero))
            out.emit(rvv.splat(products, first))
            out.give_float(first)
        else:
            out.emit(rvv.zeros(products))
        self._add_products(lanes, products, pointers)
        value = out.vectors.take(lmul)
        scales, *mins = pointers.scaling
        self._load_half(value, lanes, scales, pointers.mask)
        out.emit(rvv.multiply_add("vfmacc", total, products, value))
        for address in mins:
            self._load_half(value, lanes, address, pointers.mask)
            out.emit(rvv.multiply_add("vfmacc", total, number, value))
        if number:
            out.give_float(number)
        out.vectors.give(products, value)

    def _add_products(self, lanes: Lanes, products: str, pointers: _Pointers) -> None:
        """Emits the products with all codes of a group, as they are stored."""
        out, lmul, inner = self._out, lanes.lmul, self._inner
        bits = self._packing.bits
        wide = [out.vectors.take(lmul) for _ in pointers.a]
        # A quarter of a group of registers. The last one may be extended in place.
        narrow = part(wide[0], 3 * lmul // 4) if lmul >= 4 else out.vectors.take(1)
        factors = [out.take_float() for _ in pointers.a]

        def step(index: int) -> None:
            out.emit(rvv.transfer(False, 8, narrow, pointers.b))
            out.add(pointers.b, inner.strides[B], pointers.constants)
            for factor, address in zip(factors, pointers.a, strict=True):
                out.emit(rvv.load_number("f32", factor, index * inner.strides[A], address))
            if bits == 8:
                out.emit(rvv.extend(4, wide[0], narrow))
            else:
                out.emit(rvv.extend_unsigned(4, wide[0], narrow))
                out.emit(rvv.binary("vsrl", wide[1], wide[0], bits))
                out.emit(rvv.binary("vand", wide[0], wide[0], 2**bits - 1))
            for factor, group in zip(factors, wide, strict=True):
                out.emit(rvv.float_of_integers(group, group))
                out.emit(rvv.multiply_add("vfmacc", products, factor, group))

        def steps(count: int) -> None:
            for index in range(count):
                step(index)
            for address in pointers.a:
                out.add(address, count * inner.strides[A])

        count, left = divmod(inner.extent, _UNROLLED)
        if count:
            out.repeat(count, lambda: steps(_UNROLLED))
        if left:
            steps(left)
        for factor in factors:
            out.give_float(factor)
        if lmul < 4:
            out.vectors.give(narrow)
        out.vectors.give(*wide)

    def _load_half(self, to: str, lanes: Lanes, address: str, mask: str) -> None:
        """Emits the load of f16 as f32, with integers: not every hart extends them."""
        out, lmul = self._out, lanes.lmul
        narrow = part(to, lmul // 2) if lmul >= 2 else out.vectors.take(1)
        out.emit(rvv.transfer(False, 16, narrow, address))
        out.emit(rvv.extend(2, to, narrow))
        out.emit(rvv.binary("vsll", to, to, F16_SHIFT))
        out.emit(rvv.binary("vand", to, to, mask))
        out.emit(rvv.binary("vfmul", to, to, self._rebias))
        if lmul < 2:
            out.vectors.give(narrow)


def _set_number(out: Assembly, register: str, value: float) -> None:
    out.set_float(register, "f32", Node("constant", "f32", value=value).bits)
