"""`bmc verify`: does IREE's own host runtime agree with the framework on the imported model?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bmc import reference
from bmc.artifacts import GOLDEN_FRAMEWORK, ImportedModel
from bmc.reference import Difference


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One output of one case, run on the host and judged by the model's own policy."""

    case: int
    output: str
    difference: Difference


def run(model: ImportedModel, reproducer: Path) -> tuple[OutputCheck, ...]:
    """Runs every case on this machine; raises BmcError if IREE rejects the model."""
    host = reference.HostModel.compile(model.mlir, model.inputs + model.outputs, reproducer)
    golden = model.golden
    checks = []
    for case, (inputs, wanted) in enumerate(zip(golden.inputs, golden.outputs, strict=True)):
        got = host.run(inputs)
        for index, info in enumerate(model.outputs):
            difference = reference.compare(got[index], wanted[index], golden.policies[index])
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
