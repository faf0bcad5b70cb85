"""The cases that a user gives: of a model file, or in place of those that the model has."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bmc import dtype, golden, spec
from bmc.dtype import Array
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
    """Returns the factory's model with its own cases, or with the user's; calls are left to of_calls().

    Raises:
      BmcError: as read().
    """
    if options.inputs is None or model.calls:
        return model
    cases = read(options.inputs)
    own = model.cases[0]
    if len(cases[0]) == len(own):
        cases = tuple(tuple(map(_complex, case, own)) for case in cases)
    return replace(model, cases=cases, labels=None)


def _complex(array: Array, own: Array) -> Array:
    """Makes complex numbers of pairs, which a complex input of the model is on the target."""
    if not np.iscomplexobj(own) or array.dtype != own.real.dtype or array.shape[-1:] != (2,):
        return array
    return np.ascontiguousarray(array).view(own.dtype)[..., 0]


def of_calls(model: spec.ModelSpec, options: ImportOptions) -> tuple[spec.Call, ...]:
    """Returns the calls of which the golden data is made: the model's own, or the user's.

    An array PART.ENTRY.INPUT holds one input of an entry point for all cases: its axes are cases, steps, and those of
    the input. A case resets the state, and makes the steps of part 0, then those of part 1, and so on.

    Raises:
      BmcError: the file does not have such arrays.
    """
    if options.inputs is None:
        return model.calls
    parts: dict[tuple[int, str], dict[int, Array]] = {}
    try:
        for name, array in _load(options.inputs).items():
            part, entry, number = name.split(".")
            parts.setdefault((int(part), entry), {})[int(number)] = array
        inputs = [
            (entry, [arrays[number] for number in range(len(arrays))])
            for (_, entry), arrays in sorted(parts.items())
        ]
    except (KeyError, ValueError) as error:
        raise _no_inputs(options.inputs, error, "its arrays are named PART.ENTRY.INPUT") from error
    shapes = [array.shape for _, arrays in inputs for array in arrays]
    if any(len(shape) < 2 or 0 in shape[:2] for shape in shapes):
        raise BmcError("bad-inputs", f"'{options.inputs}' has an array without cases or steps")
    steps = [{array.shape[1:2] for array in arrays} for _, arrays in inputs]
    if len({shape[:1] for shape in shapes}) != 1 or any(len(part) != 1 for part in steps):
        raise BmcError("bad-inputs", f"'{options.inputs}' has different numbers of cases or steps")
    return tuple(
        spec.Call(
            entry,
            tuple(np.asarray(array[case, step]) for array in arrays),
            reset=part == 0 and step == 0,
        )
        for case in range(shapes[0][0])
        for part, (entry, arrays) in enumerate(inputs)
        for step in range(arrays[0].shape[1])
    )


def inputs_of(call: spec.Call, index: int, outputs: Sequence[spec.Case]) -> spec.Case:
    """Returns the input arrays of call `index`, given the outputs of all calls before it."""
    before = outputs[-1] if outputs else ()
    arrays = []
    for given in call.inputs:
        if isinstance(given, spec.Previous):
            if not 0 <= given.output < len(before):
                raise BmcError(
                    "bad-spec",
                    f"call {index} takes output {given.output} of the previous call, which returned"
                    f" {len(before)}",
                )
            given = before[given.output]
        arrays.append(given)
    return tuple(arrays)


def read(path: Path) -> tuple[spec.Case, ...]:
    """Reads ImportOptions.inputs; raises BmcError if it is no such file."""
    try:
        found = _load(path)
        arrays = [found[str(number)] for number in range(len(found))]
    except KeyError as error:
        raise _no_inputs(
            path, error, 'save it with numpy.savez(path, **{"0": first_input, "1": second_input})'
        ) from error
    counts = {len(array) if array.ndim else 0 for array in arrays}
    if len(counts) != 1 or counts == {0}:
        raise BmcError(
            "bad-inputs", f"'{path}' has {sorted(counts)} cases of its {len(arrays)} inputs"
        )
    return tuple(tuple(map(np.asarray, case)) for case in zip(*arrays, strict=True))


def _load(path: Path) -> dict[str, Array]:
    # The end of a FIFO may never come.
    if path.exists() and not path.is_file():
        raise _no_inputs(path, OSError("it is no ordinary file"), "save it with numpy.savez")
    try:
        with np.load(path) as file:
            return {name: dtype.loaded(file[name]) for name in file.files}
    except (OSError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise _no_inputs(path, error, "save it with numpy.savez") from error


def _no_inputs(path: Path, error: Exception, hint: str) -> BmcError:
    why = dtype.why_unreadable(error)
    return BmcError("bad-inputs", f"'{path}' is no file of inputs: {why}", hint=hint)
