"""TensorFlow Lite's builtin ops with their options in four dtypes, as LiteRT's reference kernels run them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import tflite_table
from case import Case, OutsideError

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import tflite as frontend
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
    given = tflite_table.samples()[0]
    model = spec.ModelSpec(
        module=spec.ModelFile(".tflite", data),
        cases=((given,),),
        tolerance=spec.Tolerance(1e-5, 1e-5) if is_float else spec.Exact(),
    )
    return frontend.import_spec(model, f"{name.lower()}.tflite", ImportOptions(), out)
