"""Surveys a .tflite file: everything in it that blocks its import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bmc import golden
from bmc.errors import BmcError
from bmc.frontends import survey, tflite, tflite_file, tflite_refused
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey
from bmc.frontends.tflite_file import TfliteFile


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Surveys a file; raises BmcError if LiteRT cannot read it."""
    file = tflite_file.parse(path.read_bytes(), path.name)
    found = (*tflite_file.foreign(file), *tflite_refused.found(file), *tflite.misconverted(file))
    try:
        found += tuple(survey.not_finite(file.weights(), file.bounds()))
    except BmcError as error:
        # The data of a sparse tensor do not fill its shape.
        found = found or (error,)
    return Survey(
        inputs=file.inputs,
        found=found,
        rejected=lambda options, _: _rejected(file, options),
    )


def _rejected(file: TfliteFile, options: ImportOptions) -> Iterator[BmcError]:
    """Yields each op that the converter leaves as it is, or the reason why it converts nothing."""
    try:
        inputs = golden.fix(golden.sized(file.inputs, options.shapes), None)
        data = tflite_file.Runner(file, inputs).static_data()
        yield from tflite.unconverted(data, file)
    except BmcError as error:
        yield error
