"""The points in IREE's compilation where bmc reads or rewrites the IR, and the flags that matter there."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.artifacts import Signature
from bmc.dtype import DType


@dataclass(frozen=True, slots=True)
class Phase:
    """A point in the compilation.

    Attributes:
      name: what iree-compile calls it, or bmc where only iree-opt gets there.
      holds: what the IR consists of.
      passes: iree-opt's pipeline that leads here from the phase before; "" where iree-compile does.
    """

    name: str
    holds: str
    passes: str = ""


_SCOPE = "model"
# The parameter archive, in the work folder.
ARCHIVE = "weights.irpa"

INPUT = Phase("input", "the model as imported")
OPTIMIZED = Phase("global-optimization", "tensors: linalg and constants of the whole model")
PARAMETERS = Phase(
    "parameters",
    f"the same; the bytes of all globals are in {ARCHIVE}",
    f"builtin.module(iree-io-export-parameters{{path={_SCOPE}={ARCHIVE} minimum-size=0}})",
)
FLOW = Phase("flow", "dispatches, and the tensors between them")
CONFIGURED = Phase("executable-configurations", "kernels on buffers, with their tile sizes")
VECTORIZED = Phase(
    "vectorized",
    "kernels as loops over vectors",
    "builtin.module(hal.executable(hal.executable.variant(builtin.module(func.func("
    "iree-llvmcpu-lower-executable-target)))))",
)
TARGETS = Phase("executable-targets", "kernels in the LLVM dialect")
VM = Phase("vm", "the host program; kernels are one ELF")

PHASES = (INPUT, OPTIMIZED, PARAMETERS, FLOW, CONFIGURED, VECTORIZED, TARGETS, VM)

# Constant expressions are evaluated at build time, unless that makes them larger. Later phases must
# not hoist more of them: what they hoist runs on the target as initialization.
_HOIST_EARLY = "--iree-opt-const-expr-max-size-increase-threshold=0"
HOIST_NO_MORE = "--iree-opt-const-expr-hoisting=false"
# IREE's interpreter evaluates them: its compiler would use what the builder's CPU has, fused
# multiply-add among it, and weights would differ from builder to builder.
_EVALUATE_ALIKE = "--iree-hal-local-host-device-backends=vmvx"


def f64_flags(signatures: tuple[Signature, ...]) -> tuple[str, ...]:
    """Flags for a model with these entry points.

    IREE computes f64 as f32. That suits f32 models, where PyTorch has f64 inside a layer norm only, but
    not a model that takes or gives f64.
    """
    tensors = [tensor for s in signatures for tensor in (*s.inputs, *s.outputs)]
    demote = all(tensor.dtype is not DType.F64 for tensor in tensors)
    return () if demote else ("--iree-input-demote-f64-to-f32=false",)


def import_flags(signatures: tuple[Signature, ...], has_half_floats: bool) -> tuple[str, ...]:
    """Flags of the step from INPUT to OPTIMIZED."""
    flags = (*f64_flags(signatures), _HOIST_EARLY)
    # The interpreter has no 16-bit floats.
    return flags if has_half_floats else (*flags, _EVALUATE_ALIKE)
