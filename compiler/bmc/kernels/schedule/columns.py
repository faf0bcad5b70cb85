"""Loads vector groups of `b`, and widens int8 to int16 and f16 or bf16 to f32.

Lanes may be strided, such as pixels of an HWC image. If consecutive steps read the bytes between the lanes, one
segment load serves several steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Vectors, part
from bmc.kernels.unsupported import Unsupported

# Registers that one segment load writes at most.
_MOST_LOADED = 8
# Estimated cost of each strided lane of a load, in instructions.
GAP = 0.4


class Columns:
    """Writes the loads of `b` for row blocks.

    Args:
      out: receives the instructions.
      product: the product as row blocks read it.
      has_masks: whether v0 holds a mask of the lanes to load.
      taps: the loop over taps that is unrolled in each step.
      innermost: the innermost summed loops; each row block runs one of them.
    """

    def __init__(
        self,
        out: Assembly,
        product: Product,
        has_masks: bool,
        taps: Loop,
        innermost: tuple[Loop, ...],
    ) -> None:
        self._out = out
        self._product = product
        self._has_masks = has_masks
        self._taps = taps
        self._innermost = innermost

    def steps(self, lmul: int, innermost: Loop) -> int:
        """Returns how many steps of the loop `innermost` share a segment load, because they read adjacent bytes."""
        product = self._product
        if (
            not product.scheme.extends_integers
            or product.is_contiguous
            or self._taps.extent > 1
            or innermost.strides[B] != 1
        ):
            return 1
        most = _MOST_LOADED // _narrow_size(lmul)
        return math.ceil(innermost.extent / math.ceil(innermost.extent / most))

    def cost(self, lmul: int, lanes: int) -> float:
        """Estimates the instructions to load `lanes` lanes in a group of `lmul` registers for one step."""
        if not self._product.scheme.extends_integers:
            return 5 if self._product.scheme.extends_floats else 2
        steps = self.steps(lmul, self._innermost[0])
        gap = 0 if self._product.is_contiguous else lanes * GAP
        return ((2 if steps == 1 else 4) + gap) / steps + 1

    def groups(self, lmul: int, loads: int) -> int:
        """Returns how many groups of `lmul` registers the loads need, if so many of them are taken in turn."""
        vectors = Vectors()
        self.take(vectors, lmul, loads)
        return math.ceil(vectors.end / lmul)

    def take(self, vectors: Vectors, lmul: int, most: int = 1) -> Operand:
        """Takes the groups for loads whose accumulators have `lmul` registers: for up to `most` loads in turn."""
        mask = [vectors.take(1, lowest=True)] if self._has_masks else []
        loads = [self._take_one(vectors, lmul)]
        while len(loads) < most:
            trial = vectors.copy()
            try:
                self._take_one(trial, lmul)
            except Unsupported:
                break
            loads.append(self._take_one(vectors, lmul))
        return Operand(tuple(loads), (*mask, *(group for load in loads for group in load.taken)))

    def _take_one(self, vectors: Vectors, lmul: int) -> Load:
        scheme = self._product.scheme
        wide = vectors.take(_wide_size(lmul) if scheme.widens else lmul, lowest=True)
        if scheme.extends_floats and lmul > 1:
            # RVV allows the source of a widening to overlap the highest part of the destination.
            return Load(wide, part(wide, lmul // 2), (wide,))
        if scheme.extends_floats:
            loaded = vectors.take(1, lowest=True)
        elif scheme.extends_integers:
            # Masked-off lanes of the wide group keep the pad value, so its source is elsewhere.
            size = _narrow_size(lmul)
            steps = max(self.steps(lmul, loop) for loop in self._innermost)
            loaded = vectors.take(steps * size, lowest=True, alignment=size)
        else:
            return Load(wide, wide, (wide,))
        return Load(wide, loaded, (wide, loaded))

    def load(
        self,
        column: str,
        load: Load,
        block: Block,
        innermost: Loop,
        index: int,
        count: int,
    ) -> None:
        """Emits the load of `b` for one step, and moves its address.

        Args:
          column: register with the address in `b`.
          load: the vector groups.
          block: the row block.
          innermost: the loop of the step.
          index, count: index of the step among `count` unrolled ones.
        """
        out = self._out
        product = self._product
        lmul = block.lanes.lmul
        extends_integers = product.scheme.extends_integers
        width = 8 * WIDTHS[product.dtypes[B]]
        masked = self._has_masks
        shared = self.steps(lmul, innermost)
        loaded = load.loaded
        if index % shared == 0:
            steps = min(shared, count - index)
            stride = block.constants.get(product.lanes.strides[B], "")
            if product.is_contiguous:
                out.emit(rvv.transfer(False, width, loaded, column, masked))
            elif steps == 1:
                out.emit(rvv.transfer_strided(False, width, loaded, column, stride, masked))
            else:
                # Segment loads may be slower if SEW is not the width of their elements.
                policy = "mu" if masked else "ma"
                out.use(block.lanes, 8, policy)
                out.emit(rvv.load_segments(steps, 8, loaded, column, stride, masked))
                out.use(block.lanes, 16, policy)
            step = innermost.strides[B] * steps
            out.add(column, step, block.constants)
        if product.scheme.extends_floats:
            out.extend(block.lanes, product.dtypes[B], load.wide, loaded)
        if extends_integers:
            narrow = part(loaded, index % shared * _narrow_size(lmul))
            out.emit(rvv.extend(2, load.wide, narrow, masked))


@dataclass(frozen=True, slots=True)
class Load:
    """Vector groups for one load of `b`.

    Attributes:
      wide: the group that is multiplied.
      loaded: the group that the load writes, which may be a part of `wide`, or several groups for several steps.
      taken: the groups that were taken.
    """

    wide: str
    loaded: str
    taken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """Vector groups for `b`.

    Attributes:
      loads: groups for loads in turn: on some cores a load waits until what it replaces has been read.
      taken: the groups that were taken, v0 too if there are masks.
    """

    loads: tuple[Load, ...]
    taken: tuple[str, ...]


def load_number(out: Assembly, product: Product, register: str, offset: int, base: str) -> None:
    """Emits the load of a scalar of `a` at `offset` bytes behind the address in `base`."""
    out.emit(rvv.load_number(product.dtypes[A], register, offset, base))
    if product.scheme.extends_a:
        out.emit(rvv.half_to_float(product.dtypes[A], register, register))


def _wide_size(lmul: int) -> int:
    """Returns the registers of an int16 group whose accumulator has `lmul` registers."""
    return max(1, lmul // 2)


def _narrow_size(lmul: int) -> int:
    """Returns the registers of an int8 group whose accumulator has `lmul` registers."""
    return max(1, lmul // 4)
