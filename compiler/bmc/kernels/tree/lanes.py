"""Groups of vector registers, and how their elements come from memory and go there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.kernels.tree.assembly import Assembly


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of a group of vector registers.

    Attributes:
      count: lanes in use.
      lmul: registers of a group.
      length: integer register that holds `count`.
      apart: bytes between neighboring lanes of an operand or the result where they are no neighbors, by its number.
      bits: of an element where it is computed with.
      places: the group with the distances of lanes of an operand of 32 bits where these are anywhere, by its number.
    """

    count: int
    lmul: int
    length: str
    apart: Mapping[int, int] = field(default_factory=dict)
    places: Mapping[int, int] = field(default_factory=dict)
    bits: int = 32

    def use(self, out: Assembly, bits: int, mask: str = "ma") -> None:
        """Emits the vsetvli for elements of 8, 16 or 32 bits; lanes that a mask leaves out stay if it is "mu"."""
        numerator = self.lmul * bits
        whole = numerator >= self.bits
        group = f"m{numerator // self.bits}" if whole else f"mf{self.bits // numerator}"
        out.emit(f"vsetvli zero, {self.length}, e{bits}, {group}, ta, {mask}")


def transfer(
    out: Assembly, name: str, bits: int, register: int, operand: int, address: str, lanes: Lanes
) -> None:
    """Emits a load ("vl") or store ("vs") of a group of elements of so many bits."""
    if operand in lanes.places:
        place = lanes.places[operand] * lanes.lmul
        out.emit(f"{name}uxei{bits}.v v{register}, ({address}), v{place}")
        return
    if operand not in lanes.apart:
        out.emit(f"{name}e{bits}.v v{register}, ({address})")
        return
    with out.registers(1) as (apart,):
        out.set(apart, lanes.apart[operand])
        out.emit(f"{name}se{bits}.v v{register}, ({address}), {apart}")
