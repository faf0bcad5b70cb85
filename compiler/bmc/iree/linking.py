"""Links libraries into kernels. IREE gives its linker no archives, so a script takes its place and adds them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bmc.errors import BmcError
from bmc.iree import tool

_SCRIPT = "link.sh"
_MAP = "link.map"
# Functions of the C library that IREE links into 32-bit kernels. It was compiled as if uint64_t had 32
# bits, so functions that need 64 are empty or return garbage.
_BROKEN = ("exp", "expf", "floor", "fmaf", "log", "powf", "round")
# Sections that the linker kept from the kernels' own object file. Members of an archive end in ".o)".
_KEPT = re.compile(r"\.o:\(\.text\.(\w+)\)$", re.MULTILINE)


def link_with(work: Path, archives: tuple[Path, ...]) -> str:
    """Writes a linker script for `archives` into `work`; returns the flag that makes IREE use it."""
    script = work / _SCRIPT
    linker = shlex.quote(str(tool.find("iree-lld")))
    more = shlex.join([f"-Map={(work / _MAP).resolve()}", *(str(a.resolve()) for a in archives)])
    script.write_text(f'#!/bin/sh\nexec {linker} "$@" {more}\n', encoding="utf-8")
    script.chmod(0o755)
    return f"--iree-llvmcpu-embedded-linker-path={script.resolve()}"


def check(work: Path) -> None:
    """Checks 32-bit kernels that were linked with the flag from link_with().

    Raises:
      BmcError: a kernel calls a function that IREE's 32-bit library gets wrong.
    """
    path = work / _MAP
    if not path.is_file():
        return  # A model without kernels.
    kept = set(_KEPT.findall(path.read_text(encoding="utf-8")))
    broken = sorted(kept.intersection(_BROKEN))
    if broken:
        raise BmcError(
            "broken-function",
            f"the kernels call {', '.join(broken)}, which IREE's 32-bit library computes incorrectly",
            hint="compute that part of the model in f32 with other ops, or use a 64-bit instruction set",
        )
