"""Makes PyTorch's CUDA build work without CUDA, in the folder that it has just been unpacked into.

usage: without_cuda.py (in a folder with BUILD.bazel and site-packages)

The index that pip comes with has PyTorch for Linux in this build only. Its libraries name fifteen of
NVIDIA's, 2.2 GB to fetch, which nothing here ever calls: but they must be there to be loaded. So
libraries of the same names that hold nothing take their place, and every function that is
wanted of them answers like a machine without such a device.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from third_party.python.stub_library import encode, read

LIBRARIES = Path("site-packages/torch/lib")
ANSWERS = "libno_cuda.so"  # no library wants it by this name and a version, so it needs none
_LIBRARY = re.compile(r"lib(cu|nccl|nv)")
_FUNCTION = re.compile(r"(__)?(cu|nccl|nv)\w+")
_PACKAGE = re.compile(r'"@pypi_(cuda|nvidia|triton)\w*//:\w+",?')
_NO_DEVICE = b"\xb8\x64\x00\x00\x00\xc3"  # return 100, cudaErrorNoDevice
_TEXT = b"\x48\x8d\x05\x01\x00\x00\x00\xc3no CUDA here\0"  # return the text that follows


def fill_in(folder: Path) -> list[str]:
    """Puts stand-ins beside PyTorch's libraries for those they lack; their names, sorted."""
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


def prune(build: str) -> str:
    """The BUILD file without what NVIDIA's libraries come in."""
    return _PACKAGE.sub("", build)


if __name__ == "__main__":
    if fill_in(LIBRARIES):
        file = Path("BUILD.bazel")
        file.write_text(prune(file.read_text()))
