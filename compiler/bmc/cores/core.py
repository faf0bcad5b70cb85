"""What is known of the time that instructions take on a core: one file of TOML for each core."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources

from bmc.errors import BmcError

# Numbers of Core that say how many cycles an instruction takes; the others of it are no rates.
_CYCLES = ("scalar", "issue")


@dataclass(frozen=True)
class Rate:
    """How fast a unit works on one kind of instruction.

    Attributes:
      bits: bits of the widest operand that it completes in a cycle; 0 if `element` says it.
      element: cycles of each element.
      start: cycles of each instruction besides.
      vectors: factor for a multiplication of two vectors.
      latency: as in Core, for this kind; 0 if it is the same.
      source: where the numbers come from.
      assumed: whether nobody measured them: they are taken from the core that `source` names.
    """

    bits: float = 0
    element: float = 0
    start: float = 0
    vectors: float = 1
    latency: float = 0
    source: str = ""
    assumed: bool = False

    def cycles(self, bits: float, elements: float) -> float:
        """Returns the cycles that the unit is busy with so many bits and elements."""
        return self.start + (bits / self.bits if self.bits else 0) + self.element * elements

    @property
    def halved(self) -> Rate:
        """A unit half as fast."""
        return replace(self, bits=self.bits / 2, element=2 * self.element, start=2 * self.start)


@dataclass(frozen=True)
class Core:
    """An in-order core with a vector unit.

    Attributes:
      name: what it is called.
      vlen: bits of a vector register.
      scalar: cycles of a scalar instruction.
      issue: cycles between vector instructions.
      queue: vector instructions that wait for each unit, at most.
      latency: cycles from the last bits of an operation to those who wait for all of it.
      chains: whether an operation may begin when the first bits of its operands are there.
      chains_loads: whether that is so for loads, too.
      waits_for_readers: whether a load waits until the last reader of the registers that it replaces is done.
      blocks: cycles after the begin of a load until the next instruction is issued.
      rates: by kind of instruction.
      source: where the numbers of this table come from.
      assumed: names of those that nobody measured.
    """

    name: str
    vlen: int
    scalar: float
    issue: float
    queue: int
    latency: float
    chains: bool
    chains_loads: bool
    waits_for_readers: bool
    blocks: float
    source: str
    assumed: tuple[str, ...]
    rates: Mapping[str, Rate] = field(default_factory=dict)

    def otherwise(self) -> dict[str, Core]:
        """Returns what the core would be if what nobody measured were wrong, by what is other.

        "no waits" does not wait for readers, and "halved" has rates that are half as high. Cores whose numbers were
        measured have neither.
        """
        found = {}
        if "waits_for_readers" in self.assumed:
            found["no waits"] = replace(self, waits_for_readers=False)
        cycles = {name: 2 * getattr(self, name) for name in _CYCLES if name in self.assumed}
        slow = {kind: rate.halved for kind, rate in self.rates.items() if rate.assumed}
        if cycles or slow:
            found["halved"] = replace(self, rates={**self.rates, **slow}, **cycles)
        return found


def names() -> list[str]:
    """Returns the names of the files."""
    files = resources.files("bmc.cores").iterdir()
    return sorted(each.name.removesuffix(".toml") for each in files if each.name.endswith(".toml"))


@functools.cache
def find(name: str) -> Core:
    """Returns a core; raises BmcError listing the known names."""
    if name not in names():
        raise BmcError("unknown-core", f'there is no core "{name}"; known are {", ".join(names())}')
    text = resources.files("bmc.cores").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    facts = tomllib.loads(text)
    rates = {kind: Rate(**rate) for kind, rate in facts.pop("rates").items()}
    facts["assumed"] = tuple(facts.get("assumed", ()))
    return Core(rates=rates, **facts)
