"""Where bmc reads or rewrites the IR during IREE's compilation, and the flags for each step."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.artifacts import Signature
from bmc.dtype import DType


@dataclass(frozen=True, slots=True)
class Phase:
    """A point in the compilation.

    Attributes:
      name: iree-compile's name for it, or bmc's own where only iree-opt gets there.
      holds: a description of the IR at this point.
      passes: the iree-opt pipeline that leads here from the previous phase; "" if iree-compile does.
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
FORMED = Phase("dispatch-creation", "dispatches, with what they compute, where the model has it")
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

PHASES = (INPUT, OPTIMIZED, PARAMETERS, FORMED, FLOW, CONFIGURED, VECTORIZED, TARGETS, VM)

# Constant expressions are evaluated at build time unless that makes them larger. Later phases must not
# hoist any more: what they hoist runs on the target as initialization.
HOIST_EARLY = "--iree-opt-const-expr-max-size-increase-threshold=0"
HOIST_NO_MORE = "--iree-opt-const-expr-hoisting=false"
# Kernels get each tensor at a binding of its own, so that bmc may place it anywhere. Otherwise IREE binds what it has
# packed together only once, and the places become numbers in the kernels.
BINDINGS_APART = "--iree-scheduling-optimize-bindings=false"
# A padding is in the dispatch of what reads it, and not a copy. rewrites/layout/copied_paddings keeps apart those that
# must be copied.
PADDINGS_WITHIN = "--iree-dispatch-creation-enable-fuse-padding-into-linalg-consumer-ops"
# Evaluate them with IREE's interpreter. Its compiler would use the features of the builder's CPU, such as
# fused multiply-add, and weights would differ from builder to builder.
_EVALUATE_ALIKE = "--iree-hal-local-host-device-backends=vmvx"


def resuming(phase: Phase) -> tuple[str, ...]:
    """Returns the flag with which iree-compile continues from a phase."""
    if phase is INPUT:
        return ()
    # For iree-compile, a pipeline of iree-opt does not leave the phase before it.
    known = PHASES[PHASES.index(phase) - 1] if phase.passes else phase
    return (f"--compile-from={known.name}",)


def ending(phase: Phase) -> tuple[str, ...]:
    """Returns the flags with which iree-compile stops at a phase, and writes bytecode."""
    return (f"--compile-to={phase.name}", "--emit-mlir-bytecode")


def f64_flags(signatures: tuple[Signature, ...]) -> tuple[str, ...]:
    """Returns the flags for a model with these entry points.

    IREE computes f64 as f32. That suits an f32 model, where f64 occurs only inside PyTorch's layer norm,
    but not a model with an f64 input or output.
    """
    tensors = [tensor for s in signatures for tensor in (*s.inputs, *s.outputs)]
    demote = all(tensor.dtype is not DType.F64 for tensor in tensors)
    return () if demote else ("--iree-input-demote-f64-to-f32=false",)


def import_flags(signatures: tuple[Signature, ...], has_half_floats: bool) -> tuple[str, ...]:
    """Returns the flags for the step from INPUT to OPTIMIZED."""
    flags = (*f64_flags(signatures), HOIST_EARLY)
    # The interpreter has no 16-bit floats.
    return flags if has_half_floats else (*flags, _EVALUATE_ALIKE)
