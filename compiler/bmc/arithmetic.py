"""The same arithmetic on every x86-64: what frameworks take from the machine is fixed here, and nowhere else.

A sum that is added up in another order has other last bits, and trained weights all others. Frameworks
choose the order by the CPU's vector units, its caches and its number of cores; what they round, by whether
it has fused multiply-add. So all of them are held to what every x86-64 with SSE4.2 does, in one thread.
TensorFlow itself needs AVX, and computes alike on all that have it.

What no variable reaches is in docs/decisions/0008-one-instruction-set-for-all-frameworks.md.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

# Variable -> value. The user's own values do not count: bytes would depend on them.
_VARIABLES = {
    # PyTorch's own kernels, and with them SLEEF's functions.
    "ATEN_CPU_CAPABILITY": "default",
    # glibc's exp, sin, pow and their like; read before main().
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4",
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "tensorflow",
    # MKL, in PyTorch: the one mode that is the same on Intel's and on other CPUs.
    "MKL_CBWR": "COMPATIBLE",
    "MKL_DYNAMIC": "FALSE",
    "MKL_NUM_THREADS": "1",
    # NumPy's functions; what a CPU has not does no harm here. The second line: before NumPy 2.4.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    # PyTorch, and the copies of OpenBLAS and oneDNN that use OpenMP.
    "OMP_NUM_THREADS": "1",
    # oneDNN, in PyTorch and, as its matrix product, in TensorFlow.
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    # OpenBLAS, in NumPy and SciPy, and through SciPy in JAX.
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
    # The order of sets of strings.
    "PYTHONHASHSEED": "0",
    # TensorFlow's operators stay with Eigen.
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    # transformers loads TensorFlow where there is one; its LLVM and torch-mlir's cannot be in one process.
    "USE_TF": "0",
    # JAX, and TensorFlow's jit_compile: its own code, and no kernels of YNNPACK, XNNPACK and Eigen.
    "XLA_FLAGS": "--xla_cpu_enable_platform_dependent_math=false --xla_cpu_max_isa=SSE4_2"
    " --xla_cpu_multi_thread_eigen=false",
}
# Whatever else these libraries read.
_PREFIXES = (
    "ATEN_", "DNNL_", "FBGEMM_", "KMP_", "MKL_", "NPY_", "OMP_", "ONEDNN_", "OPENBLAS_", "XLA_",
)  # fmt: skip
# Frameworks must not talk over the one sentence that bmc says; whoever wants to hear them may.
_DEFAULTS = {"TF_CPP_MIN_LOG_LEVEL": "3"}
# Says that the process has been started anew, in case something at Python's start changes variables.
_MARK = "BMC_ARITHMETIC"

# Bytes of the caches of level 1, 2 and 3 for which Eigen divides matrix products.
_CACHES = (32 << 10, 256 << 10, 2 << 20)
# Eigen keeps them, and whether it has asked the CPU for them, in two variables of TensorFlow's library.
_CACHE_SIZES = "_ZZN5Eigen8internal20manage_caching_sizesENS_6ActionEPlS2_S2_E12m_cacheSizes"
_CACHES_KNOWN = "_ZGVZN5Eigen8internal20manage_caching_sizesENS_6ActionEPlS2_S2_E12m_cacheSizes"


def pinned(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment in which frameworks compute the same on every machine."""
    kept = {k: v for k, v in environment.items() if not k.startswith(_PREFIXES)}
    return {**_DEFAULTS, **kept, **_VARIABLES}


def enter() -> None:
    """Starts this Python program anew in the pinned environment, unless it was started in it."""
    wanted = {**pinned(os.environ), _MARK: "1"}
    if wanted != dict(os.environ) and _MARK not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)


def pin() -> None:
    """Pins what is not read before: for frameworks that are not loaded yet, all but glibc and NumPy."""
    wanted = pinned(os.environ)
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)
    if not any(isinstance(finder, _AfterTensorFlow) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterTensorFlow())


class _AfterTensorFlow(importlib.abc.MetaPathFinder):
    """Fixes Eigen's cache sizes, for which there is no variable, when TensorFlow has been loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        found = importlib.util.find_spec(name)
        if found is not None and found.loader is not None and found.origin is not None:
            library = Path(found.origin).parent / "libtensorflow_cc.so.2"
            load = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                _fix_caches(library)

            found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found


def _fix_caches(library: Path) -> None:
    eigen = ctypes.CDLL(str(library))
    (ctypes.c_long * 3).in_dll(eigen, _CACHE_SIZES)[:] = list(_CACHES)
    ctypes.c_byte.in_dll(eigen, _CACHES_KNOWN).value = 1
