"""Groups of vector registers, and how their elements come from memory and go there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bmc.kernels.assembly import Assembly


@dataclass(frozen=True, slots=True)
class Lanes:
    """The shape of a group of vector registers with 32-bit elements.

    Attributes:
      count: lanes in use.
      lmul: registers of a group.
      length: integer register that holds `count`.
      apart: bytes between neighboring lanes of an operand or the result where they are no neighbors, by its number.
      places: the group with the distances of lanes of an operand of 32 bits where these are anywhere, by its number.
    """

    count: int
    lmul: int
    length: str
    apart: Mapping[int, int] = field(default_factory=dict)
    places: Mapping[int, int] = field(default_factory=dict)

    def use(self, out: Assembly, bits: int, mask: str = "ma") -> None:
        """Emits the vsetvli for elements of 8, 16 or 32 bits; lanes that a mask leaves out stay if it is "mu"."""
        numerator = self.lmul * bits
        group = f"m{numerator // 32}" if numerator >= 32 else f"mf{32 // numerator}"
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
