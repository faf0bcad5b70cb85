"""Runs kernels that LLVM instruments for the address sanitizer in IREE's host runtime, which is built without it.

The sanitizer's library has to be in the process before everything else: a program that runs such kernels starts itself
again with environment(). It ends the process at the first access outside of what malloc() gave.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

FLAGS = ("--iree-llvmcpu-link-embedded=false", "--iree-llvmcpu-sanitize=address")
# iree_hal_executable_library_header_t: version 6, a pointer to the name, no features, and 1 for the address sanitizer.
_HEADER = re.compile(rb"(\x06\0{7}.{8}\0{4})\x01\0{3}", re.DOTALL)


def accepted(vmfb: bytes) -> bytes:
    """Returns a compiled module that does not say it needs a sanitizer: the runtime would refuse it."""
    changed, count = _HEADER.subn(rb"\1\0\0\0\0", vmfb)
    if count != 1:
        raise ValueError(f"{count} executable libraries of version 6 in the module, not 1")
    return changed


def environment() -> dict[str, str]:
    """Returns the environment of a process that runs such kernels; leaks are not looked for."""
    library = Path(os.environ["ASAN"]).resolve()
    return {**os.environ, "LD_PRELOAD": str(library), "ASAN_OPTIONS": "detect_leaks=0"}
