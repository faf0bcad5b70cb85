"""Extends what a panel reads of `b` from 8 bits to 16, once for all of its rows.

int8 is multiplied in 16 bits. Where many rows read the same lanes, as the output channels of a convolution whose lanes
are pixels, each block of rows would extend them again. Instead, they wait in memory as they are multiplied. Taps of a
window that read neighbors share them there, and lanes that are apart in memory have no gaps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import step
from bmc.kernels.problem.product import A, B, Edge, Loop, Product, Unsupported
from bmc.kernels.problem.roles import merged
from bmc.kernels.schedule.columns import GAP
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.tree import fits

# Of a panel, at most. The stack of a small board with vectors has 64 KB.
_MOST_BYTES = 16 * 1024
_WIDE = 2
_LMULS = (1, 2, 4, 8)
# Registers that an instruction loads, at most.
_MOST_LOADED = 8
# Bits of the numbers that tell which lanes are in the image.
_BITS = 16
# What is loaded, what that becomes, and the numbers of the lanes. v0 is the mask of those in the image.
_NARROW, _EXTENDED, _NUMBERS = 8, 16, 24
# Instructions for each group that is copied, and around those that have the same mask, about.
_COPY, _AROUND = 6, 12
# Groups that are copied in one turn of a loop, at most.
_UNROLLED = 4


@dataclass(frozen=True, slots=True)
class _Shift:
    """Where a panel begins for a tap along a line that shares nothing with others, or for all of those that do.

    Attributes:
      b, staged: bytes from the first tap, in `b` and as it waits.
      low: how many lanes are before the image, where the first panel begins.
      extent: how many lanes are in the image.
    """

    b: int = 0
    staged: int = 0
    low: int = 0
    extent: int = 0


class TooLarge(Unsupported):
    """A panel is larger than the memory in which it waits."""


class Widened:
    """Writes what comes before the rows of a panel.

    Args:
      out: receives the text.
      product: what is computed.
      vlen: the smallest VLEN in bits.
      widest: lanes of the widest panel.

    Attributes:
      product: the same, with `b` as it waits.
      bytes: of memory for it.

    Raises:
      TooLarge: it takes more memory than there is.
      Unsupported: `b` is not extended for several rows, or its image lies otherwise.
    """

    def __init__(self, out: Assembly, product: Product, vlen: int, widest: int) -> None:
        if not product.scheme.extends_integers or product.lanes.strides[A]:
            raise Unsupported("operands that are not extended for several rows")
        self._out = out
        self._vlen = vlen
        self._strided = product.lanes.strides[B]
        edges = _Edges(product)
        self._edges = edges
        # Lanes beside those of a panel that taps along a line, or along all lines, share.
        self._more = 0
        strides: dict[int, int] = {}
        order = sorted(range(len(product.summed)), key=lambda each: product.summed[each].strides[B])
        separate = []
        for number in order:
            loop = product.summed[number]
            lanes, rest = divmod(loop.strides[B], self._strided)
            more = (loop.extent - 1) * lanes
            sharing = not rest and lanes < widest + self._more
            if sharing and edges.may_share(loop):
                strides[number] = lanes * _WIDE
                self._more += more
            else:
                separate.append(number)
        self.bytes = (widest + self._more) * _WIDE
        for number in separate:
            strides[number] = self.bytes
            self.bytes *= product.summed[number].extent
        if self.bytes > _MOST_BYTES:
            raise TooLarge("so much that waits in 16 bits")
        self.product = replace(
            product,
            dtypes=(product.dtypes[A], "i16", *product.dtypes[B + 1 :]),
            lanes=_moved(product.lanes, _WIDE),
            summed=tuple(_moved(loop, strides[n]) for n, loop in enumerate(product.summed)),
        )
        # A loop over what is copied has its strides in `b`, and those of what waits.
        copies = [
            replace(loop, strides=(loop.strides[B], strides[number]))
            for number, loop in reversed([(n, product.summed[n]) for n in separate])
        ]
        along = next((loop for loop in copies if edges.near and step(loop, edges.near[0])), None)
        self._shifts = list(edges.shifts(along))
        self._lines = next(
            (loop for loop in copies if edges.far and step(loop, edges.far[0])), None
        )
        most = _MOST_LOADED if self._strided > 1 else 0
        others = [loop for loop in copies if loop not in (along, self._lines)]
        # Neighbors that one instruction loads for each lane.
        self._fields = next(
            (each for each in others if each.strides[0] == 1 and each.extent <= most), None
        )
        self._loops = merged([each for each in others if each is not self._fields])
        if any(
            each.low + each.extent + 2 * (widest + self._more) >= 2**_BITS for each in self._shifts
        ):
            raise Unsupported("an image with so many lanes")

    def cost(self, lanes: int) -> float:
        """Returns the instructions for a panel with so many lanes, about."""
        fields = self._fields.extent if self._fields else 1
        copies = math.prod(loop.extent for loop in self._loops)
        lines = self._lines.extent if self._lines else 1
        each = len(self._pieces(lanes)) * (_AROUND + copies * (_COPY + 3 * (fields - 1)))
        gaps = copies * (lanes + self._more) * GAP if self._strided > 1 else 0
        return float(len(self._shifts) * lines * (each + gaps))

    def write(
        self, base: str, first: str, positions: Mapping[int, str], lanes: int, to: str
    ) -> None:
        """Emits the copy of a panel. All vectors are free.

        Args:
          base: register with the address where the panel begins in `b`.
          first: register with the number of its first lane; not needed if nothing is padded.
          positions: registers with the index of the first tap along edges that loops around everything cross.
          lanes: how many it has.
          to: register with the address of the memory.
        """
        out = self._out
        with out.registers(4) as (length, source, target, extent):
            for begin, count, lmul in self._pieces(lanes):
                out.set(length, count)
                self._use(length, _BITS, lmul)
                if self._edges.near:
                    out.emit(rvv.lane_numbers(f"v{_NUMBERS}"))
                for shift in self._shifts:
                    out.move(source, base)
                    out.add(source, shift.b + begin * self._strided)
                    out.move(target, to)
                    out.add(target, shift.staged + begin * _WIDE)
                    at = _Pointers(length, source, target, lmul)
                    if not self._edges.near:
                        self._copy_all(at)
                        continue
                    with out.registers(1) as (number,):
                        out.move(number, first)
                        out.add(number, begin - shift.low)
                        out.set(extent, shift.extent)
                        self._copy_lines(at, number, extent, positions)

    def _pieces(self, lanes: int) -> list[tuple[int, int, int]]:
        """Cuts the lanes of a panel, and those beside them, into groups: where they begin, their lanes, and LMUL."""
        fields = self._fields.extent if self._fields else 1
        fitting = [lmul for lmul in _LMULS if fields * _narrow(lmul) <= _MOST_LOADED]
        pieces = []
        begin, left = 0, lanes + self._more
        while left:
            lmul = next(
                (each for each in fitting if each * self._vlen // _BITS >= left), fitting[-1]
            )
            count = min(left, lmul * self._vlen // _BITS)
            pieces.append((begin, count, lmul))
            begin, left = begin + count, left - count
        return pieces

    def _use(self, length: str, bits: int, lmul: int) -> None:
        """Emits the vsetvli for elements of so many bits, of which those of 16 take `lmul` registers."""
        group = f"m{lmul * bits // _BITS}" if lmul * bits >= _BITS else "mf2"
        policy = "mu" if self._edges.near else "ma"
        self._out.emit(rvv.set_lanes(length, bits, group, policy))

    def _copy_lines(
        self, at: _Pointers, number: str, extent: str, positions: Mapping[int, str]
    ) -> None:
        """Copies for each tap along the other edge. `number` is that of the first lane, counted from the image's."""
        out, lines = self._out, self._lines

        def copy() -> None:
            out.emit(rvv.binary("vadd", f"v{_EXTENDED}", f"v{_NUMBERS}", number))
            out.emit(rvv.binary("vmsltu", "v0", f"v{_EXTENDED}", extent))
            self._copy_all(at)

        if lines is None:
            copy()
            return
        assert self._edges.far
        edge_number, edge = self._edges.far
        moves = step(lines, edge_number)

        def move() -> None:
            out.add(at.source, lines.strides[0])
            out.add(at.target, lines.strides[1])

        if self._edges.line:

            def turn() -> None:
                copy()
                self._back(at)
                move()
                out.add(number, moves * self._edges.line)

            out.repeat(lines.extent, turn)
            return
        with out.registers(2) as (index, limit):
            if edge_number in positions:
                out.move(index, positions[edge_number])
            else:
                out.set(index, -edge.low)
            out.set(limit, edge.extent)

            def inside() -> None:
                copy()
                self._back(at)

            def turn_in_image() -> None:
                out.within(index, limit, inside, lambda: None)
                move()
                out.add(index, moves)

            out.repeat(lines.extent, turn_in_image)

    def _back(self, at: _Pointers) -> None:
        """Moves the addresses to where they were before everything was copied."""
        if self._loops:
            self._out.add(at.source, -self._loops[0].extent * self._loops[0].strides[0])
            self._out.add(at.target, -self._loops[0].extent * self._loops[0].strides[1])
        elif self._fields:
            self._out.add(at.target, -self._fields.extent * self._fields.strides[1])

    def _copy_all(self, at: _Pointers) -> None:
        """Copies what has the same lanes in the image."""
        moves = self._moves((self._loops[-1],)) if self._loops else ()
        large = [each for each in dict.fromkeys(moves) if not fits(each)]
        with self._out.registers(len(large)) as registers:
            constants = dict(zip(large, registers, strict=True))
            for value, register in constants.items():
                self._out.set(register, value)
            self._copy_nested(self._loops, at, constants)

    def _copy_nested(
        self, loops: tuple[Loop, ...], at: _Pointers, constants: Mapping[int, str]
    ) -> None:
        if not loops:
            self._copy(at)
            return

        extent = loops[0].extent
        copies = 1 if loops[1:] else max(n for n in range(1, _UNROLLED + 1) if extent % n == 0)

        def turn() -> None:
            for _ in range(copies):
                self._copy_nested(loops[1:], at, constants)
                for register, move in zip((at.source, at.target), self._moves(loops), strict=True):
                    self._out.add(register, move, constants.get(move, ""))

        self._out.repeat(extent // copies, turn)

    def _moves(self, loops: tuple[Loop, ...]) -> tuple[int, ...]:
        """Returns what is added to the addresses at the end of each turn of the first of some loops."""
        fields = (0, self._fields.strides[1]) if self._fields else (0, 0)
        count = self._fields.extent if self._fields else 0
        inner, count = (loops[1].strides, loops[1].extent) if loops[1:] else (fields, count)
        strides = zip(loops[0].strides, inner, strict=True)
        return tuple(stride - count * moved for stride, moved in strides)

    def _copy(self, at: _Pointers) -> None:
        """Copies a group, or one for each of the neighbors that an instruction loads."""
        out = self._out
        masked = self._edges.near is not None
        fields = self._fields
        if self._strided == 1:
            out.emit(rvv.transfer(False, 8, f"v{_NARROW}", at.source, masked))
        else:
            with out.registers(1) as (stride,):
                out.set(stride, self._strided)
                if fields and fields.extent > 1:
                    # These may take longer if their elements have not the current width.
                    self._use(at.length, 8, at.lmul)
                    narrow = f"v{_NARROW}"
                    out.emit(rvv.load_segments(fields.extent, 8, narrow, at.source, stride, masked))
                    self._use(at.length, _BITS, at.lmul)
                else:
                    out.emit(
                        rvv.transfer_strided(False, 8, f"v{_NARROW}", at.source, stride, masked)
                    )
        for field in range(fields.extent if fields else 1):
            narrow = f"v{_NARROW + field * _narrow(at.lmul)}"
            out.emit(rvv.extend(2, f"v{_EXTENDED}", narrow))
            out.emit(rvv.transfer(True, 16, f"v{_EXTENDED}", at.target))
            if fields:
                out.add(at.target, fields.strides[1])


@dataclass(frozen=True, slots=True)
class _Pointers:
    """Registers with how many lanes are copied, and with addresses; LMUL of elements of 16 bits."""

    length: str
    source: str
    target: str
    lmul: int


class _Edges:
    """The edges of an image whose pixels are lanes.

    Attributes:
      near: the number of the one that lanes cross, and the edge; None if nothing is padded.
      far: the same of the other one, None if there is none.
      line: lanes of a line if lanes go on in the next one, 0 if they do not.

    Raises:
      Unsupported: lanes of an image that lies otherwise.
    """

    def __init__(self, product: Product) -> None:
        self.near: tuple[int, Edge] | None = None
        self.far: tuple[int, Edge] | None = None
        self.line = 0
        self._skip = 1
        padding = product.padding
        if padding is None or padding.operand != B:
            return
        *outer, inner = product.grid
        edges = list(enumerate(padding.edges))
        near = [each for each in edges if step(inner, each[0])]
        others = [each for each in edges if each not in near]
        if len(near) != 1 or len(others) > 1 or len(outer) > 1:
            raise Unsupported("an image that is padded along such axes")
        (self.near,) = near
        self.far = others[0] if others else None
        self._skip = step(inner, self.near[0])
        moving = [self.near[0]]
        if outer:
            self.line = inner.extent
            exact = self.far is not None and step(outer[0], self.far[0]) == 1
            if not exact or self._skip != 1 or self.near[1].extent != self.line:
                raise Unsupported("lines of an image that have gaps")
            moving.append(others[0][0])
        # The masks of a panel serve all of its groups of channels, which read different images.
        groups = any(loop.strides[B] and not any(loop.steps) for loop in product.outer)
        if groups or any(step(loop, number) for loop in product.outer for number in moving):
            raise Unsupported("an image of which loops read parts")

    def may_share(self, loop: Loop) -> bool:
        """Whether the lanes that taps visit may be numbered as one line."""
        if not self.near:
            return True
        if self.far and step(loop, self.far[0]):
            return self.line > 0
        return self._skip == 1 and step(loop, self.near[0]) > 0

    def shifts(self, along: Loop | None) -> Iterator[_Shift]:
        """Yields where panels begin for each of the taps along a line; None if they share what they read."""
        if not self.near:
            yield _Shift()
            return
        _, near = self.near
        low, extent = near.low, near.extent
        if self.line and self.far:
            low, extent = low + self.far[1].low * self.line, extent * self.far[1].extent
        for tap in range(along.extent if along else 1):
            index = tap * step(along, self.near[0]) if along else 0
            begin = math.ceil((low - index) / self._skip)
            end = math.ceil((low + extent - index) / self._skip)
            b, staged = (tap * stride for stride in along.strides) if along else (0, 0)
            yield _Shift(b, staged, begin, end - begin)


def _moved(loop: Loop, stride: int) -> Loop:
    """Returns a loop with another stride in `b`."""
    return replace(loop, strides=(loop.strides[A], stride, *loop.strides[B + 1 :]))


def _narrow(lmul: int) -> int:
    """Returns the registers of bytes that are extended to groups of `lmul` registers."""
    return max(1, lmul // 2)
