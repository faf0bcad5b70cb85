"""Models in one image: they are linked, compiled and run in steps, and each step says who fails.

Every op's location is the name of its model, so most messages of iree-compile name a model that is refused, and
only that one is left out. After any other failure, the step is repeated with halves of the models.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import together
from answers import Answers, UndecidedError
from iree.compiler import ir
from program import Program

from bmc import artifacts, golden, target, verify
from bmc.artifacts import GoldenCall, ImportedModel, Signature
from bmc.compile import CompileOptions, compile_model
from bmc.errors import BmcError
from bmc.frontends import link
from bmc.ir import ir_util
from tools.run.kit import Kit

RIGHT = "right"
CALLS = 2
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?")


@dataclass(frozen=True)
class Verdict:
    """How a model ended: what to count, whether it is a fault, and what to say about it."""

    outcome: str
    fault: bool = False
    sentence: str = ""


@dataclass(frozen=True)
class Ready:
    """A model with PyTorch's answers; the module maps arguments and states to (outputs, new states)."""

    module: Any
    program: Program
    answers: Answers


@dataclass(frozen=True)
class Image:
    """Models that are ready to be linked.

    Attributes:
      ready: the models by number; all of their states are in the image.
      functions: MLIR of those that could be imported.
      kit: what links images and boots them.
      plain: also build an image without the rewrites that only make kernels faster.
    """

    ready: dict[int, Ready]
    functions: dict[int, link.Function]
    kit: Kit
    plain: bool

    def judge(self) -> dict[int, Verdict]:
        """Returns the first verdict on each model that is not RIGHT; it takes no part in later steps."""
        verdicts = dict.fromkeys(self.functions, Verdict(RIGHT))
        for step in (self._host, self._tuned, *((self._plain,) if self.plain else ())):

            def run(chosen: list[int], step: Any = step) -> list[Verdict]:
                with tempfile.TemporaryDirectory() as work:
                    found: list[Verdict] = step(self._link(chosen, Path(work)), Path(work))
                    return found

            left = [index for index, verdict in verdicts.items() if verdict.outcome == RIGHT]
            verdicts |= together.judge(left, run, VERDICTS)
        return verdicts

    def _host(self, model: ImportedModel, work: Path) -> list[Verdict]:
        """Runs all cases on this machine."""
        found: dict[int, Verdict] = {}
        for checked in verify.run(model, work / "reproducer"):
            if not checked.difference.ok:
                off = f"{checked.output} of call {checked.case} is off by"
                off += f" {checked.difference.max_abs:.3g}"
                verdict = Verdict("refused: IREE's host runtime disagrees with PyTorch", False, off)
                found.setdefault(model.golden.calls[checked.case].entry, verdict)
        return _all(model, found)

    def _tuned(self, model: ImportedModel, work: Path) -> list[Verdict]:
        return self._boot(model, work, list(self.kit.data["runs"]), "tuned")

    def _plain(self, model: ImportedModel, work: Path) -> list[Verdict]:
        first, *_ = self.kit.data["runs"]
        return self._boot(model, work, [first], "plain")

    def _boot(
        self, model: ImportedModel, work: Path, environments: list[str], build: str
    ) -> list[Verdict]:
        """Runs all cases of one build in emulators, all of which must compute the same bits."""
        isa = target.find(self.kit.data["isa"])
        options = CompileOptions(self.kit.data["c_name"], isa, work / build, plain=build == "plain")
        compile_model(model, options)
        elf = self.kit.link(options.out)
        found: dict[int, Verdict] = {}
        entries = [call.entry for call in model.golden.calls]
        bits: list[str] = []
        for environment in environments:
            where = f"{environment}, {build}"
            cases = together.cases(self.kit.run(elf, environment), where, len(entries))
            hashes = [case.field("hash") for case in cases]
            bits = bits or hashes
            for entry, case, got, wanted in zip(entries, cases, hashes, bits, strict=True):
                if case.field("result") != "ok":
                    found.setdefault(entry, Verdict(f"wrong on {where}", True, case.text))
                elif got != wanted:
                    said = f"{environments[0]} computes other bits: {case.text}"
                    found.setdefault(entry, Verdict(f"other bits on {where}", True, said))
        return _all(model, found)

    def _link(self, chosen: list[int], work: Path) -> ImportedModel:
        models = [self.ready[index] for index in chosen]
        functions = [self.functions[index] for index in chosen]
        states = {f"s{i}": state.numpy() for i, state in enumerate(initial(self.ready))}
        mlir = work / artifacts.MODEL_FILE
        link.link(tuple(functions), states, mlir)
        signatures = tuple(
            Signature(
                function.name,
                golden.infos(model.answers.inputs[0], (), "input"),
                golden.infos(model.answers.outputs[0], (), "output"),
            )
            for function, model in zip(functions, models, strict=True)
        )
        calls = [(entry, number) for number in range(CALLS) for entry in range(len(models))]
        again = [(entry, 0) for entry, model in enumerate(models) if model.program.graph.states]
        return ImportedModel(
            mlir=mlir,
            source="random",
            frontend="torch",
            versions={},
            signatures=signatures,
            golden=golden.make_calls(
                calls=tuple(
                    GoldenCall(entry, reset=place == len(calls))
                    for place, (entry, _) in enumerate(calls + again)
                ),
                inputs=tuple(
                    models[entry].answers.inputs[number] for entry, number in calls + again
                ),
                outputs=tuple(
                    models[entry].answers.outputs[number] for entry, number in calls + again
                ),
                signatures=signatures,
                tolerance=tuple(policy for model in models for policy in model.answers.policies),
            ),
            parameters=(),
            int8=models[0].program.graph.int8,
        )


def mark(function: link.Function) -> None:
    """Makes the function's name the location of all its ops, so that error messages give it."""
    with ir.Context():
        module = ir_util.read(function.mlir)
        for op in ir_util.walk(module.operation):
            op.location = ir.Location.name(function.name)
        ir_util.write(module, function.mlir)


def _all(model: ImportedModel, found: dict[int, Verdict]) -> list[Verdict]:
    return [found.get(entry, Verdict(RIGHT)) for entry in range(len(model.signatures))]


def failed(where: str, error: Exception) -> Verdict:
    """Returns the verdict on a model that did not get through an export or a step."""
    if isinstance(error, UndecidedError):
        return Verdict(f"undecided: {error}")
    text = " ".join(str(error).split())
    if isinstance(error, BmcError):
        return Verdict(
            f"refused: {error.kind}: {_NUMBER.sub('N', error.message)[:100]}", False, text
        )
    return Verdict(f"{type(error).__name__} in {where}", True, text[:1000])


def initial(ready: dict[int, Ready]) -> tuple[Any, ...]:
    """Returns the states of all models before their first call."""
    return tuple(state for model in ready.values() for state in model.program.initial())


def _beside(error: Exception) -> Verdict:
    return Verdict("wrong only beside others", True, " ".join(str(error).split()))


VERDICTS = together.Verdicts(Verdict(RIGHT), lambda error: failed("compile", error), _beside)
