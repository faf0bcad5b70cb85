"""Loads the groups of `b` that sums multiply with, and widens those of int8, and those of f16 for sums of f32.

Lanes may be apart in memory, as pixels with several channels. If the steps of a sum read what is between them, one
instruction loads the groups of several steps.
"""

from __future__ import annotations

import math

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import A, B, Loop, Product
from bmc.kernels.schedule import depthwise
from bmc.kernels.schedule.row_block import Block
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly

# Registers that an instruction can load, at most.
_MOST = 8
# What a lane without neighbors costs in memory, in instructions.
GAP = 0.4


class Columns:
    """Writes the loads of blocks.

    Args:
      out: receives the text.
      product: what is computed.
      has_masks: whether v0 holds a mask of the lanes to load.
      taps: the loop over taps that share numbers of `a`.
      innermost: the innermost sums, of which one runs in each block.
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
        """Returns how many steps of a sum share a load: those of neighbors in `b` that are no lanes."""
        product = self._product
        if (
            not product.scheme.extends_integers
            or product.is_contiguous
            or self._taps.extent > 1
            or innermost.strides[B] != 1
        ):
            return 1
        most = _MOST // _narrow(lmul)
        return math.ceil(innermost.extent / math.ceil(innermost.extent / most))

    def cost(self, lmul: int, lanes: int) -> float:
        """Returns the instructions of a step for so many lanes, about."""
        if not self._product.scheme.extends_integers:
            return 5 if self._product.scheme.extends_floats else 2
        steps = self.steps(lmul, self._innermost[0])
        gap = 0 if self._product.is_contiguous else lanes * GAP
        return ((2 if steps == 1 else 4) + gap) / steps + 1

    def wide(self, lmul: int) -> int:
        """Returns the first register of a group as it is multiplied."""
        if not self._has_masks:
            return 0
        return _wide(lmul) if self._product.scheme.widens else lmul

    def groups(self, lmul: int) -> int:
        """Returns how many groups of so many registers the loads need."""
        if not self._product.scheme.widens:
            # What is extended is the upper half of a group, except of a single register.
            return 1 + (self._has_masks or (self._product.scheme.extends_floats and lmul == 1))
        if not self._product.scheme.extends_integers:
            return math.ceil((self.wide(lmul) + _wide(lmul)) / lmul)
        return max(
            math.ceil(
                max(
                    self.wide(lmul) + _wide(lmul),
                    self._narrow(lmul, steps) + steps * _narrow(lmul),
                )
                / lmul
            )
            for steps in (self.steps(lmul, loop) for loop in self._innermost)
        )

    def _narrow(self, lmul: int, steps: int) -> int:
        """Returns the first register of the groups of some steps as they are in memory."""
        if steps > 1 or not self._has_masks:
            return self.wide(lmul) + _wide(lmul)
        # Lanes that are left out stay in the wide group, so these do not overlap.
        return _narrow(lmul) if lmul >= 4 else 2

    def load(self, column: str, block: Block, innermost: Loop, number: int, count: int) -> None:
        """Emits the load of a group for one of `count` steps, and moves its address."""
        out = self._out
        product = self._product
        lmul = block.lanes.lmul
        is_wide = not product.scheme.extends_integers
        width = 8 * WIDTHS[product.dtypes[B]]
        masked = self._has_masks
        wide = self.wide(lmul)
        most = self.steps(lmul, innermost)
        extends = product.scheme.extends_floats
        first = wide if is_wide else self._narrow(lmul, most)
        first += max(1, lmul // 2) if extends else 0
        if number % most == 0:
            steps = min(most, count - number)
            stride = block.constants.get(product.lanes.strides[B], "")
            if product.is_contiguous:
                out.emit(rvv.transfer(False, width, f"v{first}", column, masked))
            elif steps == 1:
                out.emit(rvv.transfer_strided(False, width, f"v{first}", column, stride, masked))
            else:
                # These may take longer if their elements have not the current width.
                policy = "mu" if masked else "ma"
                block.lanes.use(out, 8, policy)
                out.emit(rvv.load_segments(steps, 8, f"v{first}", column, stride, masked))
                block.lanes.use(out, 16, policy)
            step = innermost.strides[B] * steps
            out.add(column, step, block.constants.get(step, ""))
        if extends:
            depthwise.extend(out, block, f"v{first}", f"v{wide}")
        if not is_wide:
            narrow = first + number % most * _narrow(lmul)
            out.emit(rvv.extend(2, f"v{wide}", f"v{narrow}", masked))


def load_number(out: Assembly, product: Product, register: str, offset: int, base: str) -> None:
    """Emits the load of a number of `a` from so many bytes behind an address."""
    out.emit(rvv.load_number(product.dtypes[A], register, offset, base))
    if product.scheme.extends_a:
        out.emit(rvv.half_to_float(register, register))


def _wide(lmul: int) -> int:
    """Returns the registers of a group of int8 as it is multiplied."""
    return max(1, lmul // 2)


def _narrow(lmul: int) -> int:
    """Returns the registers of a group of int8 as it is in memory."""
    return max(1, lmul // 4)
