"""The same arithmetic on every x86-64: what frameworks take from the machine is fixed here, and nowhere else.

A sum that is added up in another order has other last bits, and trained weights all others. Frameworks
choose the order by the CPU's vector units, its caches and its number of cores; what they round, by whether
it has fused multiply-add. So all of them are held to what every x86-64 with SSE4.2 does, in one thread.
TensorFlow itself needs AVX, and computes alike on all that have it.

What no variable reaches is in docs/decisions/0008-one-instruction-set-for-all-frameworks.md.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping

from bmc import eigen_caches

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
    # JAX, and TensorFlow's jit_compile: its own code, and no kernels of YNNPACK, XNNPACK and Eigen. AVX, for
    # without it XLA has no f16.
    "XLA_FLAGS": "--xla_cpu_enable_platform_dependent_math=false --xla_cpu_max_isa=AVX"
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
    _replace_environment(pinned(os.environ))
    eigen_caches.install()


@contextlib.contextmanager
def pinning() -> Iterator[None]:
    """pin() for a block. After it the environment is the caller's again, whatever has changed it.

    What eigen_caches does stays: the next import may use a framework that the caller loads until then.
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
