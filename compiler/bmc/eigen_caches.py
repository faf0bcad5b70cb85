"""Gives every copy of Eigen the same cache sizes.

Eigen splits a product by the sizes of the CPU's caches, and no variable controls that. So when a framework
has been loaded, the sizes are written into the libraries that contain Eigen. Each copy has variables of its
own.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import mmap
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

# Bytes of the level 1, 2 and 3 caches by which Eigen splits on every machine.
SIZES = (32 << 10, 256 << 10, 2 << 20)

# Package -> its libraries that contain Eigen.
LIBRARIES = {
    "ai_edge_litert": ("libpywrap_litert_common.so",),
    "jaxlib": ("libjax_common.so",),
    "tensorflow": (
        "libtensorflow_cc.so.2",
        "libtensorflow_framework.so.2",
        "lite/python/libpywrap_tflite_common.so",
    ),
}
# The sizes, and the byte that says whether they are known. These are C++ names for a function's static
# variable and its guard, in either of two namespaces.
_VARIABLES = tuple(
    tuple(
        f"_Z{kind}ZN{namespace}8internal20manage_caching_sizesENS_6ActionEPlS2_S2_E12m_cacheSizes"
        for kind in ("", "GV")
    )
    for namespace in ("5Eigen", "14EigenForTFLite")
)
_SYMTAB = 2


class Finder(importlib.abc.MetaPathFinder):
    """Sets the sizes after each of the packages has been imported."""

    def __init__(self) -> None:
        self._waiting = set(LIBRARIES)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._waiting:
            return None
        self._waiting.remove(name)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None and found.origin is not None:
            folder = Path(found.origin).parent
            load = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                for library in LIBRARIES[name]:
                    write(folder / library)

            found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def install() -> None:
    """Makes packages that are loaded from now on use SIZES."""
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder())


def write(library: Path) -> None:
    """Loads a library, unless it is loaded already, and writes SIZES into it."""
    for sizes, known in variables(library):
        sizes[:] = list(SIZES)
        known.value = 1


def variables(library: Path) -> list[tuple[ctypes.Array[ctypes.c_long], ctypes.c_byte]]:
    """Loads a library; returns the sizes of every Eigen in it, and the byte that says if they are known."""
    ctypes.CDLL(str(library))
    symbols = _values(library, [name for pair in _VARIABLES for name in pair])
    start = _start(library)
    return [
        (
            (ctypes.c_long * len(SIZES)).from_address(start + symbols[sizes]),
            ctypes.c_byte.from_address(start + symbols[known]),
        )
        for sizes, known in _VARIABLES
        if sizes in symbols and known in symbols
    ]


def _start(library: Path) -> int:
    """Returns the address of a library's first byte; raises OSError if it is not loaded."""
    wanted = str(library.resolve())
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5] == wanted and int(fields[2], 16) == 0:
            return int(fields[0].split("-")[0], 16)
    raise OSError(f"'{library.name}' is not in memory")


def _values(library: Path, names: list[str]) -> dict[str, int]:
    """Returns the values of local symbols, which are relative to the library's first byte.

    Not with pyelftools, which makes an object of each of TensorFlow's 1.3 million symbols: an estimated 38
    seconds, not 0.4. bmc.elf reads kernels, and finds exported symbols only.
    """
    import numpy as np

    values = {}
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count = struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQII", data, table + k * size) for k in range(count)]
        for _, kind, _, _, offset, length, strings, _ in sections:
            if kind != _SYMTAB:
                continue
            first, last = sections[strings][4], sections[strings][4] + sections[strings][5]
            layout = [("name", "<u4"), ("info", "<u4"), ("value", "<u8"), ("size", "<u8")]
            symbols = np.frombuffer(data[offset : offset + length], layout)
            for name in names:
                at = data.find(b"\0" + name.encode() + b"\0", first, last) + 1
                for value in symbols["value"][symbols["name"] == at - first] if at else ():
                    values[name] = int(value)
    return values
