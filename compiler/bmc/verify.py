"""`bmc verify`: does IREE's own host runtime agree with the framework on the imported model?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bmc import reference
from bmc.artifacts import GOLDEN_FRAMEWORK, GoldenCall, ImportedModel
from bmc.reference import Difference


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one case, run on the host and judged by the model's own policy."""

    case: int
    output: str
    difference: Difference


def run(model: ImportedModel, reproducer: Path) -> tuple[OutputCheck, ...]:
    """Runs every case on this machine; raises BmcError if IREE rejects the model."""
    host = reference.HostModel.compile(model.mlir, model.signatures, reproducer)
    golden = model.golden
    calls = golden.calls or (GoldenCall(0, False),) * len(golden.inputs)
    # Policies are those of all entry points, one after the other.
    first_policy = [0, *accumulate(len(signature.outputs) for signature in model.signatures)]
    checks = []
    for case, (call, inputs, wanted) in enumerate(
        zip(calls, golden.inputs, golden.outputs, strict=True)
    ):
        if call.reset:
            host.reset()
        got = host.run(inputs, call.entry)
        for index, info in enumerate(model.signatures[call.entry].outputs):
            policy = golden.policies[first_policy[call.entry] + index]
            difference = reference.compare(got[index], wanted[index], policy)
            checks.append(OutputCheck(case, info.name, difference))
    return tuple(checks)


def verdict(model: ImportedModel, checks: tuple[OutputCheck, ...]) -> str:
    """Returns one sentence: where to look when the target's answer is wrong."""
    if model.golden.source != GOLDEN_FRAMEWORK:
        return (
            "The golden data itself is from IREE's host runtime, so this only shows that the host"
            " repeats itself"
        )
    if all(check.difference.ok for check in checks):
        return (
            "IREE's host runtime agrees with the framework: the import is right, and a wrong answer"
            " on the target comes from code generation or from bmc"
        )
    return "IREE's host runtime disagrees with the framework: the import is wrong"
