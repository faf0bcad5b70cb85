"""`bmc verify`: does IREE's own host runtime agree with the framework on the imported model?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bmc import reference
from bmc.artifacts import GOLDEN_FRAMEWORK, GoldenCall, ImportedModel
from bmc.errors import BmcError
from bmc.reference import Difference

# Who gave the golden data.
_BY_FRONTEND = {
    "jax": "JAX",
    "keras": "TensorFlow",
    "mlir": "the expected outputs",
    "onnx": "onnxruntime",
    "tflite": "LiteRT",
    "torch": "PyTorch",
}


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one case, run on the host and judged by the model's own policy."""

    case: int
    output: str
    difference: Difference


def run(model: ImportedModel, reproducer: Path) -> tuple[OutputCheck, ...]:
    """Runs every case, and those that are compared only, on this machine; raises BmcError if IREE
    rejects the model."""
    host = reference.HostModel.compile(model.mlir, model.signatures, reproducer)
    golden = model.golden
    cases = (*zip(golden.inputs, golden.outputs, strict=True), *model.compared_only)
    calls = golden.calls or (GoldenCall(0, False),) * len(cases)
    # Policies are those of all entry points, one after the other.
    first_policy = [0, *accumulate(len(signature.outputs) for signature in model.signatures)]
    checks = []
    for case, (call, (given, wanted)) in enumerate(zip(calls, cases, strict=True)):
        if call.reset:
            host.reset()
        got = host.run(given, call.entry)
        for index, info in enumerate(model.signatures[call.entry].outputs):
            policy = golden.policies[first_policy[call.entry] + index]
            difference = reference.compare(got[index], wanted[index], policy)
            checks.append(OutputCheck(case, info.name, difference))
    return tuple(checks)


def require(model: ImportedModel, checks: tuple[OutputCheck, ...]) -> None:
    """Raises BmcError, naming the worst output, if a check has failed: the import is wrong."""
    failed = [check for check in checks if not check.difference.ok]
    if failed:
        worst = max(failed, key=lambda check: check.difference.max_abs)
        raise BmcError(
            "import-disagrees",
            f"IREE computes something else than {_BY_FRONTEND[model.frontend]}:"
            f" output {worst.output} of case {worst.case} is off by {worst.difference.max_abs:.3g},"
            f" {worst.difference.differing} elements differ",
            hint="write that part of the model with other ops, or give a tolerance that allows for it"
            " if it is the sum of many roundings",
        )


def verdict(model: ImportedModel) -> str:
    """Returns one sentence on a model whose checks have passed: where to look when the target's
    answer is wrong."""
    if model.golden.source != GOLDEN_FRAMEWORK:
        return (
            "The golden data itself is from IREE's host runtime, so this only shows that the host"
            " repeats itself"
        )
    count = len(model.golden.inputs) + len(model.compared_only)
    return (
        f"IREE's host runtime agrees with the framework on {count} input{'s' if count > 1 else ''}:"
        " the import is right, and a wrong answer on the target comes from code generation or from"
        " bmc"
    )
