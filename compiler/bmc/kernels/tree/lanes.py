"""The shape of vector register groups, and their loads and stores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of vector register groups.

    Attributes:
      count: lanes in use.
      lmul: registers of a group.
      length: integer register that holds `count`.
      strided: bytes between neighboring lanes, for each operand or result whose lanes are strided.
      offsets: group with the lanes' byte offsets, for each 32-bit operand whose lanes are gathered.
      bits: bits of an element in the epilogue.
    """

    count: int
    lmul: int
    length: str
    strided: Mapping[int, int] = field(default_factory=dict)
    offsets: Mapping[int, str] = field(default_factory=dict)
    bits: int = 32

    def use(self, out: Assembly, bits: int, mask: str = "ma") -> None:
        """Emits the vsetvli for elements of `bits` bits, 8 to 32, with mask policy `mask`, "ma" or "mu"."""
        numerator = self.lmul * bits
        whole = numerator >= self.bits
        group = f"m{numerator // self.bits}" if whole else f"mf{self.bits // numerator}"
        out.emit(rvv.set_lanes(self.length, bits, group, mask))


def transfer(
    out: Assembly, store: bool, bits: int, group: str, operand: int, address: str, lanes: Lanes
) -> None:
    """Emits the load or store of elements of `bits` bits: contiguous, strided or gathered, as `lanes` says.

    Args:
      out: receives the instructions.
      store: whether to store.
      bits: bits of an element.
      group: the group of registers.
      operand: number of the operand.
      address: integer register with the address of the first lane.
      lanes: shape of the group.
    """
    if operand in lanes.offsets:
        out.emit(rvv.transfer_indexed(store, bits, group, address, lanes.offsets[operand]))
        return
    if operand not in lanes.strided:
        out.emit(rvv.transfer(store, bits, group, address))
        return
    with out.registers(1) as (stride,):
        out.set(stride, lanes.strided[operand])
        out.emit(rvv.transfer_strided(store, bits, group, address, stride))
