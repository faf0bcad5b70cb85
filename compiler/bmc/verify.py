"""`bmc verify`: checks whether IREE's own host runtime agrees with the framework on an imported model."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bmc import answers, reference
from bmc.answers import Difference
from bmc.artifacts import GOLDEN_FRAMEWORK, GoldenCall, ImportedModel
from bmc.errors import BmcError

# Frontend -> the source of the golden data.
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
    """One output of one case, computed on the host and judged by the model's own policy."""

    case: int
    output: str
    difference: Difference


def run(model: ImportedModel, reproducer: Path) -> tuple[OutputCheck, ...]:
    """Runs every case on this machine, including the cases that are only compared here.

    Raises:
      BmcError: IREE rejects the model.
    """
    host = reference.HostModel.compile(model.mlir, model.signatures, reproducer)
    golden = model.golden
    cases = (*zip(golden.inputs, golden.outputs, strict=True), *model.compared_only)
    calls = golden.calls or (GoldenCall(0, False),) * len(cases)
    # The policies of all entry points follow one another.
    first_policy = [0, *accumulate(len(signature.outputs) for signature in model.signatures)]
    checks = []
    for case, (call, (given, wanted)) in enumerate(zip(calls, cases, strict=True)):
        if call.reset:
            host.reset()
        got = host.run(given, call.entry)
        for index, info in enumerate(model.signatures[call.entry].outputs):
            policy = golden.policies[first_policy[call.entry] + index]
            difference = answers.compare(got[index], wanted[index], policy, info.dtype)
            checks.append(OutputCheck(case, info.name, difference))
    return tuple(checks)


def require(model: ImportedModel, checks: tuple[OutputCheck, ...]) -> None:
    """Raises BmcError naming the worst output if a check has failed, because then the import is wrong."""
    failed = [check for check in checks if not check.difference.ok]
    if failed:
        worst = max(failed, key=lambda check: check.difference.max_abs)
        raise BmcError(
            "import-disagrees",
            f"IREE disagrees with {_BY_FRONTEND[model.frontend]}:"
            f" output {worst.output} of case {worst.case} is off by {worst.difference.max_abs:.3g},"
            f" {worst.difference.differing} elements differ",
            hint="write that part of the model with other ops, or give a tolerance that allows for the"
            " difference if many roundings add up to it",
        )


def verdict(model: ImportedModel) -> str:
    """Returns a sentence on a model whose checks passed: where to look if the target's answer is wrong."""
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
