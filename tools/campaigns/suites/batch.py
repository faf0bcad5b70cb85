"""Judges cases of one suite that share an image: each is an entry point of one model.

Compiling, linking and booting then cost about as much as for one case. A case that makes a step fail is named by its
location, or found by halves, and judged alone.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import together
from case import Case, Outcome, OutsideError, Verdict
from iree.compiler import ir

from bmc import artifacts, conditioning, golden, target, verify
from bmc.artifacts import GoldenCall, ImportedModel, Signature
from bmc.compile import CompileOptions, compile_model
from bmc.errors import BmcError
from bmc.ir import ir_util
from bmc.iree import phases
from tools.run.kit import Kit

_RIGHT = Verdict(Outcome.RIGHT)
# What the ISA lacks is no verdict on a case that another ISA computes.
_NOT_ON_ISA = "no-f16"
# What the linker says of an image that is too large.
_NO_ROOM = "will not fit in region"
_BOOT_SECONDS = 600.0
_LARGE_BOOT_SECONDS = 2 * 3600.0


@dataclass(frozen=True)
class Judge:
    """Judges cases on this machine and in all environments of the kits.

    Attributes:
      kits: the first one's ISA has whatever cases may need.
    """

    kits: tuple[Kit, ...]

    def check(self, cases: Sequence[Case]) -> list[Verdict]:
        """Returns the verdict on each case."""
        verdicts: dict[int, Verdict] = {}
        with tempfile.TemporaryDirectory() as folder:
            models: dict[int, ImportedModel] = {}
            for index, case in enumerate(cases):
                out = Path(folder, str(index))
                out.mkdir()
                try:
                    models[index] = case.load(out)
                except Exception as error:
                    verdicts[index] = failed("import", error)
            seconds = _LARGE_BOOT_SECONDS if any(case.large for case in cases) else _BOOT_SECONDS
            for indices in _alike(models):
                verdicts |= self._judge({index: models[index] for index in indices}, seconds)
            for index, verdict in verdicts.items():
                if index in models and verdict.outcome in (Outcome.WRONG, Outcome.CAUGHT):
                    verdicts[index] = _undecided(models[index]) or verdict
        return [verdicts[index] for index in range(len(cases))]

    def _judge(self, models: dict[int, ImportedModel], seconds: float) -> dict[int, Verdict]:
        """Returns the first verdict on each model that is not right; it takes no part in later steps."""
        verdicts = dict.fromkeys(models, _RIGHT)
        for step in (_host, *(self._target(kit, seconds) for kit in self.kits)):

            def run(chosen: list[int], step: _Step = step) -> list[Verdict]:
                with tempfile.TemporaryDirectory() as work:
                    own = {index: models[index] for index in chosen}
                    joined = join(own, Path(work)) if len(own) > 1 else own[chosen[0]]
                    return step(joined, Path(work))

            left = [index for index, verdict in verdicts.items() if verdict == _RIGHT]
            verdicts |= together.judge(left, run, _VERDICTS)
        return verdicts

    def _target(self, kit: Kit, seconds: float) -> _Step:
        """Returns the step that compiles for the kit's ISA and runs in each of its environments for so long at most."""

        def step(model: ImportedModel, work: Path) -> list[Verdict]:
            options = CompileOptions(kit.data["c_name"], target.find(kit.data["isa"]), work / "out")
            try:
                compile_model(model, options)
            except BmcError as error:
                if error.kind == _NOT_ON_ISA and kit is not self.kits[0] and _alone(model):
                    return [_RIGHT]
                raise
            try:
                elf = kit.link(options.out)
            except RuntimeError as error:
                if _NO_ROOM not in str(error):
                    raise
                raise OutsideError("larger than the emulated board's memory") from None
            found: dict[int, Verdict] = {}
            for name in kit.data["runs"]:
                where = f"{kit.data['isa']} in {name}"
                outcome = kit.run(elf, name, deadline=seconds)
                records = together.cases(outcome, where, len(model.golden.inputs))
                for record, entry in zip(records, _entries(model), strict=True):
                    if record.field("result") != "ok":
                        said = f"{where}: {record.text}"
                        found.setdefault(entry, Verdict(Outcome.WRONG, said))
            return _all(model, found)

        return step


_Step = Callable[[ImportedModel, Path], list[Verdict]]


def _alike(models: dict[int, ImportedModel]) -> list[list[int]]:
    """Returns the models that can share an image; those with state or several entry points are alone."""
    groups: dict[object, list[int]] = {}
    for index, model in models.items():
        joins = not model.golden.calls and len(model.signatures) == 1
        # A model in f64 would keep the others' constants in f64.
        kept = phases.f64_flags(model.signatures)
        key = (model.int8, model.mixed, model.f16, model.computes_f64_as_f32, kept)
        groups.setdefault(key if joins else index, []).append(index)
    return list(groups.values())


def _alone(model: ImportedModel) -> bool:
    return len(model.signatures) == 1 or bool(model.golden.calls and model.golden.calls[0].reset)


def _host(model: ImportedModel, work: Path) -> list[Verdict]:
    """The check of `bmc import`: IREE on this machine."""
    found: dict[int, Verdict] = {}
    entries = _entries(model)
    for check in verify.run(replace(model, compared_only=(), made_up=(), made_up_entries=()), work):
        if not check.difference.ok:
            off = f"IREE's {check.output} is off by {check.difference.max_abs:.3g}"
            said = f"{off}, {check.difference.differing} elements differ"
            found.setdefault(entries[check.case], Verdict(Outcome.CAUGHT, said))
    return _all(model, found)


def _entries(model: ImportedModel) -> list[int]:
    calls = model.golden.calls
    return [call.entry for call in calls] if calls else [0] * len(model.golden.inputs)


def _all(model: ImportedModel, found: dict[int, Verdict]) -> list[Verdict]:
    if _alone(model):
        return [next(iter(found.values()), _RIGHT)]
    return [found.get(entry, _RIGHT) for entry in range(len(model.signatures))]


def failed(where: str, error: Exception) -> Verdict:
    """Returns the verdict on a case that did not get through an import or a compilation."""
    text = " ".join(str(error).split())
    if isinstance(error, OutsideError):
        cause = error.__cause__
        return Verdict(Outcome.REFUSED, cause.message if isinstance(cause, BmcError) else "", text)
    if isinstance(error, BmcError):
        kind = Outcome.CAUGHT if error.kind == "import-disagrees" else Outcome.REFUSED
        return Verdict(kind, f"{error.kind}: {' '.join(error.message.split())}")
    if isinstance(error, together.RunError):
        return Verdict(Outcome.CRASH, text)
    return Verdict(Outcome.CRASH, f"{where}: {type(error).__name__}: {text[:300]}")


def _beside(error: Exception) -> Verdict:
    if isinstance(error, BmcError) and error.kind == _NOT_ON_ISA:
        return _RIGHT
    return Verdict(Outcome.CRASH, f"only beside others: {' '.join(str(error).split())[:300]}")


_VERDICTS = together.Verdicts(_RIGHT, lambda error: failed("compile", error), _beside)


def _undecided(model: ImportedModel) -> Verdict | None:
    """Returns a verdict if the framework's own answer moves with roundings of the inputs."""
    if model.framework is None or len(model.framework.answers) != 1:
        return None
    golden = model.golden
    is_steady = conditioning.judge(model.framework.answers[0], model.outputs, golden.policies)
    if all(is_steady(*each) for each in zip(golden.inputs, golden.outputs, strict=True)):
        return None
    return Verdict(Outcome.UNDECIDED, "a few roundings of the inputs move the answer this far")


def join(models: dict[int, ImportedModel], work: Path) -> ImportedModel:
    """Returns one model with an entry point for each; every op's location is the name of its entry point."""
    first, *_ = models.values()
    mlir = work / artifacts.MODEL_FILE
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        parts = {i: ir.Module.parse(model.mlir.read_bytes()) for i, model in models.items()}
        for index, part in parts.items():
            _rename(part, together.name(index))
            for op in ir_util.walk(part.operation):
                op.location = ir.Location.name(together.name(index))
            for op in [*part.body.operations]:
                module.body.append(op)
        module.operation.verify()
        with mlir.open("wb") as file:
            module.operation.write_bytecode(file)
    signatures = tuple(
        Signature(together.name(index), model.inputs, model.outputs)
        for index, model in models.items()
    )
    calls = [
        (GoldenCall(number, False), *case)
        for number, model in enumerate(models.values())
        for case in zip(model.golden.inputs, model.golden.outputs, strict=True)
    ]
    return replace(
        first,
        mlir=mlir,
        source="cases",
        signatures=signatures,
        golden=golden.make_calls(
            calls=tuple(call for call, _, _ in calls),
            inputs=tuple(given for _, given, _ in calls),
            outputs=tuple(wanted for _, _, wanted in calls),
            signatures=signatures,
            tolerance=tuple(
                policy for model in models.values() for policy in model.golden.policies
            ),
        ),
        parameters=(),
        compared_only=(),
        made_up=(),
        made_up_entries=(),
        framework=None,
    )


def _rename(part: ir.Module, entry: str) -> None:
    """Gives every symbol a name of its own; the public function gets the entry point's."""
    for op in part.body.operations:
        attributes = op.operation.attributes
        if "sym_name" in attributes:
            old = ir.StringAttr(attributes["sym_name"]).value
            new = entry if old == artifacts.main_signature((), ())[0].name else f"{entry}_{old}"
            ir.SymbolTable.replace_all_symbol_uses(old, new, part.operation)
            ir.SymbolTable.set_symbol_name(op, new)
