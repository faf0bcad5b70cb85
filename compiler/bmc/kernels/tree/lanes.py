"""Groups of vector registers, and how their elements come from memory and go there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of a group of vector registers.

    Attributes:
      count: lanes in use.
      lmul: registers of a group.
      length: integer register that holds `count`.
      strided: bytes between neighboring lanes of an operand or the result where they are no neighbors, by its number.
      bits: of an element where it is computed with.
      offsets: the group with the distances of lanes of an operand of 32 bits where these are anywhere, by its number.
    """

    count: int
    lmul: int
    length: str
    strided: Mapping[int, int] = field(default_factory=dict)
    offsets: Mapping[int, int] = field(default_factory=dict)
    bits: int = 32

    def use(self, out: Assembly, bits: int, mask: str = "ma") -> None:
        """Emits the vsetvli for elements of 8, 16 or 32 bits; lanes that a mask leaves out stay if it is "mu"."""
        numerator = self.lmul * bits
        whole = numerator >= self.bits
        group = f"m{numerator // self.bits}" if whole else f"mf{self.bits // numerator}"
        out.emit(rvv.set_lanes(self.length, bits, group, mask))


def transfer(
    out: Assembly, store: bool, bits: int, register: int, operand: int, address: str, lanes: Lanes
) -> None:
    """Emits the load or the store of a group of elements of so many bits."""
    if operand in lanes.offsets:
        offsets = f"v{lanes.offsets[operand] * lanes.lmul}"
        out.emit(rvv.transfer_indexed(store, bits, f"v{register}", address, offsets))
        return
    if operand not in lanes.strided:
        out.emit(rvv.transfer(store, bits, f"v{register}", address))
        return
    with out.registers(1) as (stride,):
        out.set(stride, lanes.strided[operand])
        out.emit(rvv.transfer_strided(store, bits, f"v{register}", address, stride))
