"""Widens a panel of `b` from int8 to int16, once for all rows.

int8 is multiplied as int16. Where many rows read the same lanes, such as the output channels of a convolution whose
lanes are pixels, each row block would widen them again. Instead, the panel is copied to scratch memory as int16. There
strided lanes become contiguous, and taps that read overlapping lanes share one copy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bmc.kernels.padding.borders import step
from bmc.kernels.padding.lane_edges import LaneEdges
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.problem.roles import merged
from bmc.kernels.schedule.columns import GAP
from bmc.kernels.tree import loops, rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import part
from bmc.kernels.unsupported import Unsupported

# Bytes of a widened panel at most. The stack of a small board with vectors has 64 KB.
_MOST_BYTES = 16 * 1024
_I16_BYTES = 2
_LMULS = (1, 2, 4, 8)
# Registers that one segment load writes at most.
_MOST_LOADED = 8
# Bits of a widened element and of a lane's index, which is compared with the extent of the image.
_BITS = 16
# Registers of the int8 source, the int16 result, and the lanes' indices; v0 masks the lanes inside the image.
_GROUP = 8
# Estimated instructions to copy a group, and to compute a mask.
_COPY_COST, _MASK_COST = 6, 12
# Groups that one iteration of a loop copies at most.
_UNROLLED = 4


class TooLarge(Unsupported):
    """The widened panel is larger than the scratch memory for it."""


class Widened:
    """Writes the copy of a panel, which runs before its rows.

    Args:
      out: receives the instructions.
      product: its `b` is int8.
      vlen: the smallest VLEN in bits.
      widest: lanes of the widest panel.

    Attributes:
      product: the product with the widened panel as its `b`.
      bytes: scratch memory for the widened panel.

    Raises:
      TooLarge: the widened panel is too large.
      Unsupported: the product is depthwise, its `b` is not int8, or the padded image has an unsupported layout.
    """

    def __init__(self, out: Assembly, product: Product, vlen: int, widest: int) -> None:
        if not product.scheme.extends_integers or product.lanes.strides[A]:
            raise Unsupported("operands that are not widened for several rows")
        self._out = out
        self._vlen = vlen
        self._lane_stride = product.lanes.strides[B]
        edges = self._edges = LaneEdges(product)
        # Lanes of a copy in addition to the panel's: taps that share the copy read at offsets in it.
        self._overlap = 0
        strides: dict[int, int] = {}
        order = sorted(range(len(product.summed)), key=lambda each: product.summed[each].strides[B])
        separate = []
        for number in order:
            loop = product.summed[number]
            lanes, rest = divmod(loop.strides[B], self._lane_stride)
            overlaps = not rest and lanes < widest + self._overlap
            if overlaps and edges.may_share(loop):
                strides[number] = lanes * _I16_BYTES
                self._overlap += (loop.extent - 1) * lanes
            else:
                separate.append(number)
        self.bytes = (widest + self._overlap) * _I16_BYTES
        for number in separate:
            strides[number] = self.bytes
            self.bytes *= product.summed[number].extent
        if self.bytes > _MOST_BYTES:
            raise TooLarge("a widened panel that is too large")
        self.product = replace(
            product,
            dtypes=(product.dtypes[A], "i16", *product.dtypes[B + 1 :]),
            lanes=_moved(product.lanes, _I16_BYTES),
            summed=tuple(_moved(loop, strides[n]) for n, loop in enumerate(product.summed)),
        )
        # Loops over copies, with their strides in `b` and in the widened panel.
        copies = [
            replace(loop, strides=(loop.strides[B], strides[number]))
            for number, loop in reversed([(n, product.summed[n]) for n in separate])
        ]
        horizontal_taps = next(
            (loop for loop in copies if edges.horizontal and step(loop, edges.horizontal[0])), None
        )
        self._tap_lanes = list(edges.tap_lanes(horizontal_taps))
        self._vertical_taps = next(
            (loop for loop in copies if edges.vertical and step(loop, edges.vertical[0])), None
        )
        most = _MOST_LOADED if self._lane_stride > 1 else 0
        others = [loop for loop in copies if loop not in (horizontal_taps, self._vertical_taps)]
        # The loop over adjacent bytes of each lane, which one segment load reads.
        self._fields = next(
            (each for each in others if each.strides[0] == 1 and each.extent <= most), None
        )
        self._loops = merged([each for each in others if each is not self._fields])
        lanes = 2 * (widest + self._overlap)
        if any(each.low + each.extent + lanes >= 2**_BITS for each in self._tap_lanes):
            raise Unsupported("an image with too many lanes")

    def cost(self, lanes: int) -> float:
        """Estimates the instructions to widen a panel of `lanes` lanes."""
        fields = self._fields.extent if self._fields else 1
        copies = math.prod(loop.extent for loop in self._loops)
        vertical_taps = self._vertical_taps.extent if self._vertical_taps else 1
        each = len(self._pieces(lanes)) * (_MASK_COST + copies * (_COPY_COST + 3 * (fields - 1)))
        gaps = copies * (lanes + self._overlap) * GAP if self._lane_stride > 1 else 0
        return float(len(self._tap_lanes) * vertical_taps * (each + gaps))

    def write(
        self, base: str, first: str, positions: Mapping[int, str], lanes: int, to: str
    ) -> None:
        """Emits the copy of a panel, which may use all vector registers.

        Args:
          base, to: registers with the addresses of the panel in `b`, and of its copy.
          first: register with the index of its first lane, "" without padding.
          positions: as in Masks, without padding empty.
          lanes: lanes of the panel.
        """
        out = self._out
        numbers, extended, loaded = groups = [out.vectors.take(_GROUP) for _ in range(3)]
        with out.registers(1) as (length,):
            for begin, count, lmul in self._pieces(lanes):
                out.set(length, count)
                self._use(length, _BITS, lmul)
                if self._edges.horizontal:
                    out.emit(rvv.lane_numbers(numbers))
                for tap_lanes in self._tap_lanes:
                    with out.registers(2) as (source, target):
                        out.move(source, base)
                        out.add(source, tap_lanes.b + begin * self._lane_stride)
                        out.move(target, to)
                        out.add(target, tap_lanes.widened + begin * _I16_BYTES)
                        copy = _Copy(length, source, target, lmul, loaded, extended, numbers)
                        if not self._edges.horizontal:
                            self._copy_all(copy)
                            continue
                        with out.registers(2) as (number, extent):
                            out.move(number, first)
                            out.add(number, begin - tap_lanes.low)
                            out.set(extent, tap_lanes.extent)
                            self._copy_lines(copy, number, extent, positions)
        out.vectors.give(*groups)

    def _pieces(self, lanes: int) -> list[tuple[int, int, int]]:
        """Cuts the lanes of a copy into vector groups: their first lane, number of lanes, and LMUL."""
        fields = self._fields.extent if self._fields else 1
        fitting = [lmul for lmul in _LMULS if fields * _narrow(lmul) <= _MOST_LOADED]
        pieces = []
        begin, left = 0, lanes + self._overlap
        while left:
            lmul = next((m for m in fitting if m * self._vlen // _BITS >= left), fitting[-1])
            count = min(left, lmul * self._vlen // _BITS)
            pieces.append((begin, count, lmul))
            begin, left = begin + count, left - count
        return pieces

    def _use(self, length: str, bits: int, lmul: int) -> None:
        """Emits the vsetvli for elements of `bits` bits and groups of as many elements as `lmul` registers of int16."""
        group = f"m{lmul * bits // _BITS}" if lmul * bits >= _BITS else "mf2"
        policy = "mu" if self._edges.horizontal else "ma"
        self._out.emit(rvv.set_lanes(length, bits, group, policy))

    def _copy_lines(
        self, copy: _Copy, number: str, extent: str, positions: Mapping[int, str]
    ) -> None:
        """Emits a copy for each vertical tap. `number` and `extent` are registers.

        `number` is the group's first lane relative to the first one inside the image, which has `extent` lanes.
        """
        out, taps = self._out, self._vertical_taps

        def masked() -> None:
            out.emit(rvv.binary("vadd", copy.extended, copy.numbers, number))
            out.emit(rvv.binary("vmsltu", "v0", copy.extended, extent))
            self._copy_all(copy)

        if taps is None:
            masked()
            return
        assert self._edges.vertical
        edge_number, edge = self._edges.vertical
        moves = step(taps, edge_number)
        if self._edges.line_lanes:
            # Lanes span lines, so a vertical tap only shifts them.
            def shifted() -> None:
                masked()
                out.add(number, moves * self._edges.line_lanes)

            loops.repeat(out, copy.pointers(), (taps,), shifted)
            return
        with out.registers(2) as (index, limit):
            if edge_number in positions:
                out.move(index, positions[edge_number])
            else:
                out.set(index, -edge.low)
            out.set(limit, edge.extent)

            def inside() -> None:
                out.within(index, limit, masked, lambda: None)
                out.add(index, moves)

            loops.repeat(out, copy.pointers(), (taps,), inside)

    def _copy_all(self, copy: _Copy) -> None:
        """Emits the copies that run with the same mask."""
        # What one iteration of the innermost loop moves.
        written = self._fields.extent * self._fields.strides[1] if self._fields else 0
        source, target = self._loops[-1].strides if self._loops else (0, 0)
        large = [each for each in dict.fromkeys((source, target - written)) if not fits(each)]
        with self._out.registers(len(large)) as registers:
            constants = dict(zip(large, registers, strict=True))
            for value, register in constants.items():
                self._out.set(register, value)
            extent = self._loops[-1].extent if self._loops else 1
            unrolled = max(n for n in range(1, _UNROLLED + 1) if extent % n == 0)
            pointers = copy.pointers(constants)
            loops.repeat(self._out, pointers, self._loops, lambda: self._copy(copy), unrolled)

    def _copy(self, copy: _Copy) -> None:
        """Emits the copy of a group, or of all groups that one segment load reads."""
        out, lmul, loaded = self._out, copy.lmul, copy.loaded
        masked = self._edges.horizontal is not None
        fields = self._fields
        if self._lane_stride == 1:
            out.emit(rvv.transfer(False, 8, loaded, copy.source, masked))
        else:
            with out.registers(1) as (stride,):
                out.set(stride, self._lane_stride)
                operands = loaded, copy.source, stride
                if fields and fields.extent > 1:
                    # Segment loads may be slower if SEW is not the width of their elements.
                    self._use(copy.length, 8, lmul)
                    out.emit(rvv.load_segments(fields.extent, 8, *operands, masked))
                    self._use(copy.length, _BITS, lmul)
                else:
                    out.emit(rvv.transfer_strided(False, 8, *operands, masked))
        for field in range(fields.extent if fields else 1):
            narrow = part(loaded, field * _narrow(lmul))
            out.emit(rvv.extend(2, copy.extended, narrow))
            out.emit(rvv.transfer(True, 16, copy.extended, copy.target))
            if fields:
                out.add(copy.target, fields.strides[1])
        if fields:
            out.add(copy.target, -fields.extent * fields.strides[1])


@dataclass(frozen=True, slots=True)
class _Copy:
    """Registers of a copy.

    Attributes:
      length, source, target: number of lanes, and the addresses.
      lmul: LMUL of its int16 elements.
      loaded, extended, numbers: vector groups of the int8 source, the int16 result, and the lanes' indices.
    """

    length: str
    source: str
    target: str
    lmul: int
    loaded: str
    extended: str
    numbers: str

    def pointers(self, constants: Mapping[int, str] = {}) -> loops.Pointers:
        """Returns the addresses for loops whose first stride is the source's; `constants` as in Pointers."""
        return loops.Pointers(((0, self.source), (1, self.target)), constants=constants)


def _moved(loop: Loop, stride: int) -> Loop:
    """Returns `loop` with the stride `stride` in `b`."""
    return replace(loop, strides=(loop.strides[A], stride, *loop.strides[B + 1 :]))


def _narrow(lmul: int) -> int:
    """Returns the registers of an int8 group that is widened to `lmul` registers."""
    return max(1, lmul // 2)
