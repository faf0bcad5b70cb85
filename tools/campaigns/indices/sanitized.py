"""Runs kernels that LLVM instruments for the address sanitizer in IREE's host runtime, which is built without it.

The sanitizer's library has to be in the process before everything else: a program that runs such kernels starts itself
again with environment(). It ends the process at the first access outside of what malloc() gave. IREE's runtime has
several tensors in one allocation, behind a header and before a padding. So each kernel gets copies of its tensors,
which lie apart() from everything else.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from ctypes import POINTER, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_void_p
from pathlib import Path
from typing import Any

# A binding is one tensor, and not all that share an allocation.
FLAGS = (
    "--iree-llvmcpu-link-embedded=false",
    "--iree-llvmcpu-sanitize=address",
    "--iree-scheduling-optimize-bindings=false",
)
# iree_hal_executable_library_header_t: version 6, a pointer to the name, no features, and 1 for the address sanitizer.
_HEADER = re.compile(rb"(\x06\0{7}.{8}\0{4})\x01\0{3}", re.DOTALL)
# The runtime removes the file when it has loaded it.
_LIBRARY = re.compile(r"(/\S+/iree_dylib_\S+\.so) \(deleted\)$", re.MULTILINE)
_VERSION = 6
# An index of some thousands does not reach over it.
_GAP = 1 << 20
_MOST = 16
_PAGE = 4096
_READ_AND_WRITE = 3
# By library: functions in the runtime's table of kernels, which does not keep them alive.
_KERNELS: dict[str, list[Any]] = {}


class _Library(ctypes.Structure):
    """The first part of iree_hal_executable_library_v0_t."""

    _fields_ = (
        ("header", c_void_p),
        ("import_count", c_uint32),
        ("import_symbols", c_void_p),
        ("count", c_uint32),
        ("functions", POINTER(c_void_p)),
    )


class _Dispatch(ctypes.Structure):
    """iree_hal_executable_dispatch_state_v0_t."""

    _fields_ = (
        ("workgroup_size", c_uint32 * 2),
        ("workgroup_size_z", c_uint16),
        ("constant_count", c_uint16),
        ("workgroup_count", c_uint32 * 2),
        ("workgroup_count_z", c_uint16),
        ("max_concurrency", c_uint8),
        ("binding_count", c_uint8),
        ("constants", c_void_p),
        ("pointers", POINTER(c_void_p)),
        ("lengths", POINTER(c_size_t)),
    )


_Kernel = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(_Dispatch), c_void_p)


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


def apart() -> None:
    """Gives the kernels of the module loaded last copies of their tensors, around which no access is allowed."""
    loaded = set(_LIBRARY.findall(Path("/proc/self/maps").read_text(encoding="utf-8")))
    (path,) = loaded - _KERNELS.keys()
    query = ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_NOW).iree_hal_executable_library_query
    query.argtypes, query.restype = (c_uint32, c_void_p), POINTER(_Library)
    library = query(_VERSION, None).contents
    c = ctypes.CDLL(None)
    first = ctypes.addressof(library.functions.contents) // _PAGE * _PAGE
    last = ctypes.addressof(library.functions.contents) + 8 * library.count
    if c.mprotect(c_void_p(first), c_size_t(last - first), c_int(_READ_AND_WRITE)):
        raise OSError("the runtime's table of kernels cannot be changed")
    copies = _Copies(c)
    _KERNELS[path] = []
    for number in range(library.count):
        kernel = _Kernel(copies.around(_Kernel(library.functions[number])))
        library.functions[number] = ctypes.cast(kernel, c_void_p).value
        _KERNELS[path].append(kernel)


class _Copies:
    """Memory in which only the copies of one kernel's tensors may be accessed."""

    def __init__(self, c: ctypes.CDLL) -> None:
        self._poison = c["__asan_poison_memory_region"]
        self._unpoison = c["__asan_unpoison_memory_region"]
        self._compare = c.memcmp
        for function in (self._poison, self._unpoison):
            function.argtypes, function.restype = (c_void_p, c_size_t), None
        self._compare.argtypes = (c_void_p, c_void_p, c_size_t)
        size = (_MOST + 1) * _GAP
        self._memory = ctypes.create_string_buffer(size)
        begin = -(-ctypes.addressof(self._memory) // 64) * 64
        self._poison(self._memory, size)
        self._places = range(begin + _GAP, begin + _MOST * _GAP, _GAP)

    def around(self, kernel: Callable[..., int]) -> Callable[..., int]:
        def call(environment: Any, dispatch: Any, workgroup: Any) -> int:
            state = dispatch.contents
            count, pointers, lengths = state.binding_count, state.pointers, state.lengths
            given = [(pointers[n] or 0, lengths[n]) for n in range(count)]
            # A tensor that is changed in place is one tensor.
            places = dict(zip(dict.fromkeys(given), self._places, strict=False))
            for (pointer, length), place in places.items():
                self._unpoison(place, length)
                ctypes.memmove(place, pointer, length)
            for number, binding in enumerate(given):
                pointers[number] = places[binding]
            status = kernel(environment, dispatch, workgroup)
            for number, (pointer, _) in enumerate(given):
                pointers[number] = pointer
            for (pointer, length), place in places.items():
                # A constant may lie in memory that cannot be written.
                if self._compare(pointer, place, length):
                    ctypes.memmove(pointer, place, length)
                self._poison(place, length)
            return status

        return call
