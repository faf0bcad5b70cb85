"""Surveys a .tflite file: everything in it that blocks its import."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from bmc.errors import BmcError
from bmc.frontends import survey, tflite, tflite_file, tflite_refused
from bmc.frontends.options import ImportOptions
from bmc.frontends.survey import Survey
from bmc.frontends.tflite_file import TfliteFile

# Ops of which each step or turn becomes ops of its own.
_WRITTEN_OUT = ("UNIDIRECTIONAL_SEQUENCE_LSTM", "WHILE")


def survey_file(path: Path, options: ImportOptions) -> Survey:
    """Surveys a file; raises BmcError if LiteRT cannot read it."""
    file = tflite_file.parse(path.read_bytes(), path.name)
    found = (*tflite_file.foreign(file), *tflite_refused.found(file), *tflite.misconverted(file))
    found += tuple(survey.not_finite(file.weights(), file.bounds()))
    return Survey(
        inputs=file.inputs,
        written_out=any(file.ops()[kind] for kind in _WRITTEN_OUT),
        found=found,
        # Without anything else, the import itself names all that the converter leaves.
        rejected=(lambda _: _rejected(file)) if found else None,
    )


def _rejected(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each op that the converter leaves as it is, or the reason why it converts nothing."""
    from iree.compiler import ir

    if any(None in info.shape for info in file.inputs):
        return  # LiteRT has to run a model before its other shapes are known.
    try:
        with contextlib.suppress(ir.MLIRError):  # IREE cannot read some of what is left
            yield from tflite.unconverted(file)
    except BmcError as error:
        yield error
