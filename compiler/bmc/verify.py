"""`bmc verify`: checks whether IREE's own host runtime agrees with the framework on an imported model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bmc import answers, reference, tolerances
from bmc.answers import Difference
from bmc.artifacts import GOLDEN_FRAMEWORK, GoldenCall, ImportedModel
from bmc.errors import BmcError

# Frontend -> the source of the golden data.
_BY_FRONTEND = {
    "gguf": "transformers",
    "jax": "JAX",
    "keras": "TensorFlow",
    "mlir": "the expected outputs",
    "onnx": "onnxruntime",
    "tflite": "LiteRT",
    "torch": "PyTorch",
}
_OF_CASES = (
    "write that part of the model with other ops, or give a tolerance that allows for the"
    " difference if many roundings add up to it"
)
_OF_MADE_UP = "write that part of the model with other ops, or give ModelSpec.ranges if it never gets such inputs"


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one case, computed on the host and judged by the model's own policy.

    Attributes:
      case: number of the case.
      output: name of the output.
      difference: what the policy says.
      kind: the kind of a made-up case, "" for others.
      step: of which an int8 model's outputs are multiples, 0.0 for others.
    """

    case: int
    output: str
    difference: Difference
    kind: str = ""
    step: float = 0.0


def run(model: ImportedModel, reproducer: Path) -> tuple[OutputCheck, ...]:
    """Runs every case on this machine, including the cases that are only compared here.

    Raises:
      BmcError: IREE rejects the model.
    """
    host = reference.HostModel.compile(model.mlir, model.signatures, reproducer)
    golden = model.golden
    cases = (*zip(golden.inputs, golden.outputs, strict=True), *model.compared_only)
    made_up = tuple(GoldenCall(entry, True) for entry in model.made_up_entries)
    others = len(cases) - len(golden.calls) - len(made_up)
    calls = (*golden.calls, *(GoldenCall(0, False),) * others, *made_up)
    # The policies of all entry points follow one another.
    first_policy = [0, *accumulate(len(signature.outputs) for signature in model.signatures)]
    kinds = ("",) * (len(cases) - len(model.made_up)) + model.made_up
    checks = []
    for case, (call, (given, wanted), kind) in enumerate(zip(calls, cases, kinds, strict=True)):
        if call.reset:
            host.reset()
        got = host.run(given, call.entry)
        for index, info in enumerate(model.signatures[call.entry].outputs):
            policy = golden.policies[first_policy[call.entry] + index]
            if kind:
                policy = tolerances.of_made_up(policy, golden.first_of(call.entry)[1][index])
            difference = answers.compare(got[index], wanted[index], policy)
            whose = f" for {model.signatures[call.entry].name}" if kind and golden.calls else ""
            step = answers.quantization_step(wanted[index]) if model.int8 else 0.0
            checks.append(OutputCheck(case, info.name, difference, kind + whose, step))
    return tuple(checks)


def require(model: ImportedModel, checks: tuple[OutputCheck, ...]) -> None:
    """Raises BmcError naming the worst output if a check has failed, because then the import is wrong."""
    failed = [check for check in checks if not check.difference.ok]
    if failed:
        # The user's cases come first: a made-up one only matters if they are right.
        worst = max(failed, key=lambda check: (not check.kind, check.difference.max_abs))
        which = f"case {worst.case}" if not worst.kind else f"made-up {worst.kind}"
        raise BmcError(
            "import-disagrees",
            f"IREE disagrees with {_computed_by(model)}:"
            f" output {worst.output} of {which} {_by_how_much(worst)}",
            hint=_of_doubles(model) or (_OF_MADE_UP if worst.kind else _OF_CASES),
        )


def _computed_by(model: ImportedModel) -> str:
    if model.frontend == "onnx" and "onnxruntime" not in model.versions:
        return "the reference evaluator of ONNX"
    return _BY_FRONTEND[model.frontend]


def _by_how_much(check: OutputCheck) -> str:
    difference = check.difference
    if not difference.differing:
        return "differs in the sign of a zero, or in the last digits of integers beyond 2^53"
    steps = difference.max_abs / check.step if check.step else 0.0
    in_steps = ""
    if math.isfinite(steps) and round(steps):
        in_steps = (
            " (one quantization step)"
            if round(steps) == 1
            else f" ({round(steps)} quantization steps)"
        )
    return f"is off by {difference.max_abs:.3g}{in_steps}, {difference.differing} elements differ"


def _of_doubles(model: ImportedModel) -> str:
    if not model.computes_f64_as_f32:
        return ""
    return (
        f"{model.in_f64} computes in f64, but IREE in f32: compute in f32 in {_computed_by(model)} too,"
        " give a tolerance that allows for the difference, or make an input or output f64, which keeps all f64"
    )


def verdict(model: ImportedModel) -> str:
    """Returns a sentence on a model whose checks passed: where to look if the target's answer is wrong."""
    if model.golden.source != GOLDEN_FRAMEWORK:
        return (
            "The golden data itself is from IREE's host runtime, so this only shows that the host"
            " repeats itself"
        )
    count = len(model.golden.inputs) + len(model.compared_only) - len(model.made_up)
    return (
        f"IREE's host runtime agrees with the framework on {count} input{'s' if count > 1 else ''}:"
        " for these the import is right, and a wrong answer on the target comes from code generation or from"
        " bmc"
    )
