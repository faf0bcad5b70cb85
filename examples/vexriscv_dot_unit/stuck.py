"""A dot unit with a broken wire, in which answers must be seen to be wrong."""

from __future__ import annotations

import dot_unit
from litex.soc.integration.soc_core import SoCCore


def add_to(soc: SoCCore, name: str) -> None:
    dot_unit.add_to(soc, name, stuck=1 << 6)
