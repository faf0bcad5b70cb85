"""The cases that a user gives: of a model file, or in place of those that the model has."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from bmc import golden, spec
from bmc.errors import BmcError
from bmc.frontends.options import ImportOptions


def of_file(options: ImportOptions) -> spec.Cases:
    """Returns the cases of a model that is a file; without any, the frontend makes them up.

    Raises:
      BmcError: as golden.of_file() and read().
    """
    found = golden.of_file(options.cases) or spec.Cases((), ())
    if options.inputs is None:
        return found
    return replace(found, cases=read(options.inputs), labels=None)


def of_factory(model: spec.ModelSpec, options: ImportOptions) -> spec.ModelSpec:
    """Returns the factory's model with its own cases, or with the user's.

    Raises:
      BmcError: the model has several entry points or state, or as read().
    """
    if options.inputs is None:
        return model
    if model.calls:
        raise BmcError(
            "bad-spec",
            "other inputs are given for a model with several entry points or with state",
            hint="its calls depend on each other: change ModelSpec.calls",
        )
    return replace(model, cases=read(options.inputs), labels=None)


def read(path: Path) -> tuple[spec.Case, ...]:
    """Reads ImportOptions.inputs; raises BmcError if it is no such file."""
    try:
        with np.load(path) as file:
            arrays = [file[str(number)] for number in range(len(file.files))]
    except (KeyError, OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise BmcError(
            "bad-inputs",
            f"'{path}' is no file of inputs: {error}",
            hint='save it with numpy.savez(path, **{"0": first_input, "1": second_input})',
        ) from error
    counts = {len(array) if array.ndim else 0 for array in arrays}
    if len(counts) != 1 or counts == {0}:
        raise BmcError(
            "bad-inputs", f"'{path}' has {sorted(counts)} cases of its {len(arrays)} inputs"
        )
    return tuple(tuple(map(np.asarray, case)) for case in zip(*arrays, strict=True))
