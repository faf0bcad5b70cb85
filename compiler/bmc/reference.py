"""The second reference: the same MLIR run on this machine by IREE's own runtime.

If the host runtime already disagrees with the framework the import is wrong; if it agrees and the
firmware does not, code generation or bmc is.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import artifacts, iree_tool, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.iree_tool import IreeTool

_HOST_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=generic",
)


@dataclass(frozen=True)
class HostModel:
    """A model compiled for IREE's host runtime."""

    function: Any

    @staticmethod
    def compile(mlir: Path, tensors: tuple[TensorInfo, ...], reproducer: Path) -> HostModel:
        """Compiles a model with these inputs and outputs for this machine.

        Raises:
          BmcError: IREE rejects it.
        """
        try:
            from iree import runtime
        except ImportError:
            raise BmcError(
                "iree-runtime-missing",
                "the iree-base-runtime package is not installed",
                hint="pip install iree-base-runtime==3.13.0",
            ) from None
        with tempfile.TemporaryDirectory() as work:
            shutil.copyfile(mlir, Path(work) / artifacts.MODEL_FILE)
            flags = (*_HOST_FLAGS, *iree_tool.f64_flags(tensors))
            IreeTool(Path(work), reproducer).compile(artifacts.MODEL_FILE, "model.vmfb", *flags)
            module = runtime.load_vm_flatbuffer(
                (Path(work) / "model.vmfb").read_bytes(), driver="local-sync"
            )
        return HostModel(module["main"])

    def run(self, case: spec.Case) -> spec.Case:
        """Returns one array per output."""
        result = self.function(*case)
        results = result if isinstance(result, (list, tuple)) else (result,)
        # Copies: the runtime's arrays are views of memory that it frees with them.
        return tuple(np.array(np.asarray(item)) for item in results)


@dataclass(frozen=True)
class Difference:
    """How far an output is from what was expected.

    Attributes:
      ok: the policy holds.
      max_abs: largest |got - want|; NaN counts as infinite.
      min_cosine: smallest cosine of a row (last dimension), 1.0 for integers.
    """

    ok: bool
    max_abs: float
    min_cosine: float


def compare(got: Array, want: Array, policy: spec.Policy) -> Difference:
    """Judges one output exactly as the firmware does (runtime_bm/app/golden.h)."""
    if got.shape != want.shape:
        return Difference(False, float("inf"), -1.0)
    g = got.astype(np.float64)
    w = want.astype(np.float64)
    both_nan = np.isnan(g) & np.isnan(w)
    error = np.where(both_nan | (g == w), 0.0, np.abs(g - w))
    error = np.where(np.isnan(error), np.inf, error)
    max_abs = float(error.max(initial=0.0))
    cosine = _min_cosine(g, w)
    if isinstance(policy, spec.Exact):
        return Difference(max_abs == 0.0, max_abs, cosine)
    if isinstance(policy, spec.IntStep):
        return Difference(max_abs <= policy.max_step, max_abs, cosine)
    bound = policy.atol + policy.rtol * np.abs(np.where(np.isfinite(w), w, 0.0))
    ok = bool(np.all(error <= bound))
    if policy.min_cosine is not None:
        ok = ok and cosine >= policy.min_cosine
    return Difference(ok, max_abs, cosine)


def _min_cosine(got: Array, want: Array) -> float:
    if got.ndim == 0 or got.size == 0:
        return 1.0
    g = got.reshape(-1, got.shape[-1])
    w = want.reshape(-1, want.shape[-1])
    norms = np.linalg.norm(g, axis=1) * np.linalg.norm(w, axis=1)
    cosine = np.where(norms > 0, (g * w).sum(axis=1) / np.where(norms > 0, norms, 1.0), 1.0)
    return float(cosine.min())
