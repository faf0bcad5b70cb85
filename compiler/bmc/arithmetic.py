"""The same arithmetic on every x86-64. This module alone fixes what frameworks would take from the machine.

A sum in another order has other last bits, and then all trained weights differ. Frameworks choose the
order by the CPU's vector units, its caches and its number of cores, and rounding depends on whether it has
fused multiply-add. So all of them are limited to what every x86-64 with SSE4.2 can do, in one thread.
TensorFlow itself needs AVX, and computes the same on all CPUs that have it.

docs/decisions/0008-one-instruction-set-for-all-frameworks.md lists what no variable controls.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

from bmc import eigen_caches

# Variable -> value. These replace the user's own values, because results would depend on those.
_VARIABLES = {
    # PyTorch's own kernels, which include SLEEF's functions.
    "ATEN_CPU_CAPABILITY": "default",
    # glibc's exp, sin, pow and similar functions; read before main().
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-AVX,-FMA,-FMA4",
    "JAX_PLATFORMS": "cpu",
    "KERAS_BACKEND": "tensorflow",
    # MKL, in PyTorch. This is its only mode that is the same on Intel's and on other CPUs.
    "MKL_CBWR": "COMPATIBLE",
    "MKL_DYNAMIC": "FALSE",
    "MKL_NUM_THREADS": "1",
    # NumPy's functions: all that NumPy 2.4 dispatches to. Features that a CPU lacks do no harm here.
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    # PyTorch, and the copies of OpenBLAS and oneDNN that use OpenMP.
    "OMP_NUM_THREADS": "1",
    # oneDNN, in PyTorch, and in TensorFlow as its matrix product.
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    # OpenBLAS, in NumPy and SciPy, and in JAX through SciPy.
    "OPENBLAS_CORETYPE": "Nehalem",
    "OPENBLAS_NUM_THREADS": "1",
    # The order of sets of strings.
    "PYTHONHASHSEED": "0",
    # TensorFlow's operators use Eigen.
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    # transformers loads TensorFlow if it is installed. Its LLVM and torch-mlir's cannot share a process.
    "USE_TF": "0",
    # JAX, and TensorFlow's jit_compile: XLA's own code without kernels from YNNPACK, XNNPACK or Eigen. AVX,
    # because XLA has no f16 without it.
    "XLA_FLAGS": "--xla_cpu_enable_platform_dependent_math=false --xla_cpu_max_isa=AVX"
    " --xla_cpu_multi_thread_eigen=false",
}
# Prefixes of all other variables that these libraries read.
_PREFIXES = (
    "ATEN_", "DNNL_", "FBGEMM_", "KMP_", "MKL_", "NPY_", "OMP_", "ONEDNN_", "OPENBLAS_", "XLA_",
)  # fmt: skip
# Frameworks must not drown out bmc's own sentence, but a user who wants their messages may set this.
_DEFAULTS = {"TF_CPP_MIN_LOG_LEVEL": "3"}
# Marks the restarted process, so that it restarts only once even if Python's startup changes variables.
_MARK = "BMC_ARITHMETIC"


def pinned(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment in which frameworks compute the same on every machine."""
    kept = {k: v for k, v in environment.items() if not k.startswith(_PREFIXES)}
    return {**_DEFAULTS, **kept, **_VARIABLES}


def enter() -> None:
    """Restarts this Python program in the pinned environment, unless it already runs in it."""
    wanted = {**pinned(os.environ), _MARK: "1"}
    if wanted != dict(os.environ) and _MARK not in os.environ:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], wanted)


def pin() -> None:
    """Pins all settings that are not read yet: for frameworks not yet loaded, all but glibc and NumPy."""
    _replace_environment(pinned(os.environ))
    eigen_caches.install()


@contextlib.contextmanager
def pinning() -> Iterator[None]:
    """Pins settings for a block, then restores the caller's environment, whatever has changed it.

    eigen_caches remains installed, because the next import may use a framework that is loaded in between.
    """
    before = dict(os.environ)
    pin()
    try:
        yield
    finally:
        _replace_environment(before)


def _replace_environment(wanted: Mapping[str, str]) -> None:
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)
