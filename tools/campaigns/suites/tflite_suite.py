"""TensorFlow Lite's builtin ops with their options in four dtypes, as LiteRT's reference kernels run them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tflite_table
from case import Case, OutsideError

from bmc import golden, spec
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import tflite as frontend
from bmc.frontends import tflite_file
from bmc.frontends.options import ImportOptions


def enter() -> None:
    """Nothing of TensorFlow runs before the processes fork."""


def cases() -> Iterator[Case]:
    """Yields every op and option in every dtype."""
    for name in tflite_table.OPS:
        for dtype in tflite_table.DTYPES:
            op = name.partition(" (")[0]
            yield Case(op, dtype, f"{name}/{dtype}", functools.partial(_load, name, dtype))


def _load(name: str, dtype: str, out: Path) -> ImportedModel:
    try:
        data, is_float = tflite_table.convert(tflite_table.OPS[name], dtype)
    except Exception as error:  # The converter has no base class of its own.
        raise OutsideError("TensorFlow's converter refuses it") from error
    given, source = tflite_table.samples()[0], f"{name.lower()}.tflite"
    _run(data, source, given)
    model = spec.ModelSpec(
        module=spec.ModelFile(".tflite", data),
        cases=((given,),),
        tolerance=spec.Tolerance(1e-5, 1e-5) if is_float else spec.Exact(),
    )
    return frontend.import_spec(model, source, ImportOptions(), out)


def _run(data: bytes, source: str, given: Any) -> None:
    """Raises OutsideError if LiteRT itself cannot run the file, so that there is no answer."""
    file = tflite_file.read(data, source)
    case = file.quantize_case((given,))
    inputs = golden.fix(file.inputs, case)
    try:
        tflite_file.Runner(file, inputs).run(case)
    except BmcError as error:
        raise OutsideError("LiteRT itself cannot run it") from error
