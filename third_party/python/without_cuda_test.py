"""A library built against CUDA loads without CUDA and is told that there is no device."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from third_party.python.stub_library import read
from third_party.python.without_cuda import fill_in

CLANG = os.environ["CLANG"]

# Replacements for NVIDIA's libraries at link time: one with a version node, one without.
_CUDART = (
    'int cudaGetDeviceCount(int *n) { return 0; } char *cudaGetErrorString(int e) { return ""; }'
)
_NCCL = "int ncclGetVersion(void) { return 2; }"
# Calls CUDA while it is loaded, as PyTorch does when it registers its kernels.
_TORCH = """
int cudaGetDeviceCount(int *), ncclGetVersion(void);
char *cudaGetErrorString(int);
int seen;
__attribute__((constructor)) static void load(void) { int n; seen = cudaGetDeviceCount(&n); }
int (*torch_nccl)(void) = ncclGetVersion;
char *torch_text(void) { return cudaGetErrorString(seen); }
"""


class WithoutCuda(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "map").write_text("libcudart.so.13 { *; };")
        self.link("libcudart.so.13", _CUDART, "-Wl,--version-script=map")
        self.link("libnccl.so.2", _NCCL)
        self.link(
            "libtorch_cuda.so", _TORCH, "libcudart.so.13", "libnccl.so.2", "-Wl,-rpath,$ORIGIN"
        )
        for name in ("libcudart.so.13", "libnccl.so.2"):
            (self.folder / name).unlink()
        self.torch = self.folder / "libtorch_cuda.so"

    def link(self, name: str, source: str, *more: str) -> None:
        flags = ["-fPIC", "-shared", "-nostdlib", "-fuse-ld=lld", f"-Wl,-soname,{name}"]
        (self.folder / "source.c").write_text(source)
        command = [os.path.abspath(CLANG), *flags, "source.c", *more, "-o", name]
        subprocess.run(command, cwd=self.folder, check=True)

    def test_it_loads_only_then_and_finds_no_device(self) -> None:
        with self.assertRaisesRegex(OSError, "lib(cudart.so.13|nccl.so.2): cannot open"):
            ctypes.CDLL(str(self.torch))
        self.assertEqual(fill_in(self.folder), ["libcudart.so.13", "libnccl.so.2"])
        loaded = ctypes.CDLL(str(self.torch))
        self.assertEqual(ctypes.c_int.in_dll(loaded, "seen").value, 100)
        asked = ctypes.CFUNCTYPE(ctypes.c_int).in_dll(loaded, "torch_nccl")
        self.assertEqual(asked(), 100)
        loaded.torch_text.restype = ctypes.c_char_p
        self.assertEqual(loaded.torch_text(), b"no CUDA here")

    def test_what_is_there_already_is_left_alone(self) -> None:
        fill_in(self.folder)
        before = {path: path.read_bytes() for path in self.folder.iterdir()}
        self.assertEqual(fill_in(self.folder), [])
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, before)

    def test_a_file_that_is_no_library_is_named(self) -> None:
        (self.folder / "text").write_text("not a library")
        with self.assertRaisesRegex(ValueError, "text is not a little-endian 64-bit ELF file"):
            read(self.folder / "text")


if __name__ == "__main__":
    unittest.main()
