"""`bmc check`: what whoever has a model file needs to know before there is a BUILD file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bmc import arithmetic, frontends, progress
from bmc.artifacts import ImportedModel
from bmc.check import build_file, estimate, guesses, wording, work
from bmc.check.build_file import ModelLines
from bmc.errors import BmcError
from bmc.frontends import quiet
from bmc.frontends.options import F16, ImportOptions
from bmc.frontends.survey import Survey
from bmc.target import Target

# Errors that other sizes of an input may not have.
_OF_SIZES = ("empty-tensor", "model-failed")
# Errors of converters, which stop at the first op that they reject.
_OF_CONVERTERS = ("crashed", "dynamic-shape", "iree-crashed", "iree-failed", "op-rejected")

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Trial:
    """An attempt to import a model."""

    options: ImportOptions
    model: ImportedModel | None
    error: BmcError | None


def check(source: str, options: ImportOptions, target: Target, say: Say) -> bool:
    """Says what a model needs and takes, part by part as that becomes known; returns whether nothing blocks it.

    Args:
      source: a model, see frontends.KINDS.
      options: the user's options.
      target: the instruction set of the estimates.
      say: prints a paragraph.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        frontends.limited(source, options),
        arithmetic.pinning(),
    ):
        progress.begin(progress.LOAD)
        try:
            survey = frontends.survey_model(source, options)
        except BmcError as error:
            say(wording.findings([error]))
            return False
        return _Check(source, options, target, say, survey, Path(folder)).run()


@dataclass(frozen=True)
class _Check:
    source: str
    options: ImportOptions
    target: Target
    say: Say
    survey: Survey
    folder: Path

    def run(self) -> bool:
        survey = self.survey
        if survey.found:
            options = next(self._guessed())
            self._say_inputs(options)
            self.say(wording.findings(survey.found))
            self._say_rejected(options, survey.found)
            return False
        trial = self._try()
        unknown = trial.error is not None and trial.error.kind in _OF_SIZES
        self._say_inputs(self.options if unknown else trial.options)
        if trial.error is not None:
            found = (trial.error, *trial.error.others)
            self.say(wording.findings(found))
            if trial.error.kind in _OF_CONVERTERS and not trial.error.others:
                self._say_rejected(trial.options, found)
            return False
        assert trial.model is not None
        return self._say_rest(trial.options, trial.model)

    def _guessed(self) -> Iterator[ImportOptions]:
        """Yields the user's options with guesses for what the user has not said."""
        constants = guesses.pins(self.survey, self.options.constants)
        for sizes in guesses.shapes(_without(self.survey, constants), self.options.shapes):
            yield replace(self.options, shapes=sizes, constants=constants)

    def _try(self) -> _Trial:
        """Imports the model with one guess after the other, until its framework runs it."""
        first = None
        for options in self._guessed():
            trial = self._import(options)
            lengths = guesses.lengths(self.survey, options.shapes, options.constants)
            if trial.error is not None and lengths:
                pinned = replace(options, constants={**options.constants, **lengths})
                second = self._import(pinned)
                trial = second if second.error is None else trial
            if trial.error is None or trial.error.kind not in _OF_SIZES:
                return trial
            first = first or trial
        assert first is not None
        return first

    def _import(self, options: ImportOptions) -> _Trial:
        try:
            out = Path(tempfile.mkdtemp(dir=self.folder))
            return _Trial(options, frontends.converted(self.source, options, out), None)
        except BmcError as error:
            return _Trial(options, None, error)

    def _say_rejected(self, options: ImportOptions, known: Sequence[BmcError]) -> None:
        """Says what the converter rejects besides what is said already, before it might crash."""
        if self.survey.rejected is None:
            return
        with quiet.native(), quiet.advice():
            found = list(self.survey.rejected(options))
        said = {(error.message, error.where) for error in known}
        more = [error for error in found if (error.message, error.where) not in said]
        if more:
            self.say(wording.findings(more, "the converter also rejects"))

    def _say_inputs(self, options: ImportOptions) -> None:
        if not self.survey.inputs:
            return
        open_ = [info.name for info in self.survey.inputs if guesses.needed(info)]
        self.say(wording.inputs(self.survey, open_, options.constants))
        lines = []
        if constants := options.constants:
            lines.append(f"constants = {build_file.constants(constants)},")
        if shapes := self._shaped(options):
            lines.append(f"shapes = {build_file.shapes(shapes)},")
        guessed = set(shapes) - set(self.options.shapes)
        if lines:
            self.say("\n".join(("bm_model needs", *(f"    {line}" for line in lines))))
        if guessed:
            more = _FEW_STEPS if self.survey.written_out else ""
            self.say(wording.paragraph(_GUESSED + more))

    def _shaped(self, options: ImportOptions) -> dict[str, tuple[int, ...]]:
        return {
            name: shape for name, shape in options.shapes.items() if name not in options.constants
        }

    def _say_rest(self, options: ImportOptions, model: ImportedModel) -> bool:
        progress.begin(progress.OPTIMIZE)
        (first, *others) = model.signatures
        if not self.survey.inputs:
            for signature in (first, *others):
                self.say(wording.tensors(f"inputs of {signature.name}", signature.inputs))
        for signature in (first, *others):
            of = f" of {signature.name}" if others else ""
            self.say(wording.tensors(f"outputs{of}", signature.outputs))
        try:
            found = work.read(model, self.target, self.folder)
        except BmcError as error:
            self.say(wording.findings([error]))
            return False
        model = replace(model, f16=options.quantize == F16)
        self.say(wording.estimates(found, estimate.of(model, found, self.target), self.target))
        for note in model.notes:
            self.say(wording.paragraph(f"note: {note}"))
        lines = ModelLines(
            self.source,
            model.frontend,
            self._shaped(options),
            options.constants,
            options.quantize,
            options.context,
        )
        self.say(
            f"nothing blocks the import; BUILD.bazel beside the model\n\n{lines.text(self.target)}"
        )
        return True


_GUESSED = (
    "These sizes are a guess with which the framework runs the model. Write those that your application"
    " uses: the estimates grow with them."
)
_FEW_STEPS = (
    " They are small, because each step of a recurrent layer is written out; the flash and the time of an import"
    " grow with them too."
)


def _without(survey: Survey, constants: Mapping[str, float]) -> Survey:
    return replace(survey, inputs=tuple(i for i in survey.inputs if i.name not in constants))
