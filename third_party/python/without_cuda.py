"""Makes PyTorch's CUDA build work without CUDA.

The default index has only this build of PyTorch for Linux. Its libraries need fifteen of NVIDIA's, a
download of 2.2 GB. Nothing here ever calls them, but they must exist to be loaded. So stub libraries
of the same names replace them, and every function needed from them answers as on a machine without
such a device.
"""

from __future__ import annotations

import re
from pathlib import Path

from third_party.python.stub_library import encode, read

ANSWERS = "libno_cuda.so"  # no library needs it by this name and a version, so it has no version
_LIBRARY = re.compile(r"lib(cu|nccl|nv)")
_FUNCTION = re.compile(r"(__)?(cu|nccl|nv)\w+")
_NO_DEVICE = b"\xb8\x64\x00\x00\x00\xc3"  # return 100, cudaErrorNoDevice
_TEXT = b"\x48\x8d\x05\x01\x00\x00\x00\xc3no CUDA here\0"  # return the text that follows


def fill_in(folder: Path) -> list[str]:
    """Puts stubs for missing libraries next to PyTorch's; returns their names, sorted."""
    wants = [read(path) for path in sorted(folder.glob("*.so"))]
    lacking = sorted(
        {
            name
            for want in wants
            for name in want.libraries
            if _LIBRARY.match(name) and not (folder / name).exists()
        }
    )
    functions = sorted(
        {name for want in wants for name in want.undefined if _FUNCTION.fullmatch(name)}
    )
    for name in lacking:
        (folder / name).write_bytes(encode(name, [ANSWERS], {}))
    if lacking:
        code = {name: _TEXT if "String" in name else _NO_DEVICE for name in functions}
        (folder / ANSWERS).write_bytes(encode(ANSWERS, [], code))
    return lacking
