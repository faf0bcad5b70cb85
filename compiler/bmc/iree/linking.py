"""Libraries for kernels: IREE's linker is given none, so bmc puts a script in its place."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bmc.errors import BmcError
from bmc.iree import tool

_SCRIPT = "link.sh"
_MAP = "link.map"
# Functions of the C library that IREE links to 32-bit kernels. It is compiled as if uint64_t had 32 bits,
# so those that need more are empty or return anything.
_BROKEN = ("exp", "expf", "floor", "fmaf", "log", "powf", "round")
# Sections of the kernels' own object file that the linker kept; an archive's members end in ".o)".
_KEPT = re.compile(r"\.o:\(\.text\.(\w+)\)$", re.MULTILINE)


def link_with(work: Path, archives: tuple[Path, ...]) -> str:
    """Returns the flag that links archives to kernels; writes the script for it into `work`."""
    script = work / _SCRIPT
    linker = shlex.quote(str(tool.find("iree-lld")))
    more = shlex.join([f"-Map={(work / _MAP).resolve()}", *(str(a.resolve()) for a in archives)])
    script.write_text(f'#!/bin/sh\nexec {linker} "$@" {more}\n', encoding="utf-8")
    script.chmod(0o755)
    return f"--iree-llvmcpu-embedded-linker-path={script.resolve()}"


def check(work: Path) -> None:
    """Checks 32-bit kernels that were linked with the flag of link_with().

    Raises:
      BmcError: they call a function that IREE's library gets wrong.
    """
    path = work / _MAP
    if not path.is_file():
        return  # A model without kernels.
    kept = set(_KEPT.findall(path.read_text(encoding="utf-8")))
    broken = sorted(kept.intersection(_BROKEN))
    if broken:
        raise BmcError(
            "broken-function",
            f"the kernels call {', '.join(broken)}, which IREE's library for 32 bits does not"
            " compute right",
            hint="compute that part of the model in f32 and with other ops, or use an instruction"
            " set of 64 bits",
        )
