"""Checks what a model file returns against spec.py. Later code can rely on the result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bmc import factory, policies, spec
from bmc.dtype import Array, DType
from bmc.errors import BmcError

# How the user gives inputs for a model that is a file.
HOW = "`cases` and `cases_function` of bm_model, or --cases"

_CASES = "write one tuple of numpy arrays per case: ((x,), (y,))"


def model_spec(model: spec.ModelSpec) -> spec.ModelSpec:
    """Returns the ModelSpec with tuples of NumPy arrays; raises BmcError for any value of a wrong type."""
    if isinstance(model.module, spec.ModelFile):
        _require("ModelFile.data", model.module.data, bytes)
        _require("ModelFile.suffix", model.module.suffix, str)
    if isinstance(model.module, type):
        raise BmcError(
            "bad-spec",
            f"ModelSpec.module is the class {model.module.__name__}",
            hint="give an instance of it",
        )
    calls = tuple(_call(i, call) for i, call in enumerate(_sequence("calls", model.calls)))
    cases = _cases("case", model.cases)
    if bool(cases) == bool(calls):
        what = "has both cases and calls" if cases else "has no cases"
        raise BmcError("bad-spec", f"the model {what}", hint=f"{_CASES}, or calls instead of cases")
    return replace(
        model,
        cases=cases,
        tolerance=_tolerance(model.tolerance),
        labels=_labels(model.labels),
        input_names=_names("input_names", model.input_names),
        output_names=_names("output_names", model.output_names),
        calibration=_cases("calibration", model.calibration),
        calls=calls,
        ranges=_ranges(model.ranges),
    )


def cases(function: str) -> spec.Cases:
    """Calls `cases.py:function`; raises the errors of factory.called() and model_spec()."""
    with factory.called(function, spec.Cases) as given:
        return replace(
            given,
            cases=_cases("case", given.cases),
            tolerance=_tolerance(given.tolerance),
            expected=_cases("expected outputs of case", given.expected),
            labels=_labels(given.labels),
            calibration=_cases("calibration", given.calibration),
            ranges=_ranges(given.ranges),
        )


def array(what: str, value: Any) -> Array:
    """Returns a value that has a shape and an element type as a NumPy array.

    A NumPy scalar becomes an array without dimensions. A list or a Python number has no element type.

    Args:
      what: the value's name in errors.
      value: any object.

    Raises:
      BmcError: the value has no element type or cannot become an array.
    """
    if not hasattr(value, "__array__"):
        raise BmcError(
            "bad-spec",
            f"{what} is of type {type(value).__name__}, not a numpy array",
            hint="write np.array(..., np.float32), or with the element type that the model uses",
        )
    try:
        # NumPy cannot take PyTorch's bfloat16 itself.
        is_bf16 = str(getattr(value, "dtype", "")) == "torch.bfloat16"
        bits = value.detach().view(sys.modules["torch"].int16) if is_bf16 else value
        found: Array = np.asarray(bits)
    except Exception as error:  # Frameworks' tensors raise all kinds.
        raise BmcError(
            "bad-spec", f"{what} cannot become a numpy array: {factory.first_line(error)}"
        ) from None
    if is_bf16:
        return found.view(DType.BF16.numpy)
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _cases(what: str, cases: Any) -> tuple[spec.Case, ...]:
    return tuple(
        tuple(
            array(f"input {number} of {what} {index}", value)
            for number, value in enumerate(_sequence(f"{what} {index}", case))
        )
        for index, case in enumerate(_sequence("cases", cases))
    )


def _sequence(what: str, value: Any, hint: str = _CASES) -> Sequence[Any]:
    if isinstance(value, (list, tuple)):
        return value
    raise BmcError("bad-spec", f"{what} is of type {type(value).__name__}, not a tuple", hint=hint)


def _require(what: str, value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise BmcError("bad-spec", f"{what} is of type {type(value).__name__}, not {kind.__name__}")


def _call(index: int, call: spec.Call) -> spec.Call:
    _require(f"call {index}", call, spec.Call)
    _require(f"the entry of call {index}", call.entry, str)
    inputs = _sequence(f"the inputs of call {index}", call.inputs, "write (x,) for one input")
    return replace(
        call,
        inputs=tuple(
            value
            if isinstance(value, spec.Previous)
            else array(f"input {number} of call {index}", value)
            for number, value in enumerate(inputs)
        ),
    )


def _tolerance(tolerance: Any) -> spec.Policy | tuple[spec.Policy, ...]:
    if tolerance is None:
        return ()
    if isinstance(tolerance, (list, tuple)):
        return tuple(map(policies.checked, tolerance))
    return policies.checked(tolerance)


def _ranges(ranges: Any) -> tuple[tuple[float, float] | None, ...]:
    found = []
    for index, bounds in enumerate(_sequence("ranges", ranges, "write ((0, 9),) for one input")):
        numbers = (int, float, np.number)
        if bounds is not None and not (
            isinstance(bounds, (list, tuple))
            and len(bounds) == 2
            and all(isinstance(number, numbers) for number in bounds)
            and bounds[0] <= bounds[1]
        ):
            raise BmcError(
                "bad-spec",
                f"range {index} is {bounds!r}",
                hint="give the least and the largest number of an input, or None",
            )
        found.append(None if bounds is None else (bounds[0], bounds[1]))
    return tuple(found)


def _labels(labels: Any) -> Array | None:
    if labels is None:
        return None
    try:
        found = np.asarray(labels)
    except ValueError:  # Lists of different lengths.
        found = np.empty(0, object)
    if found.dtype.kind not in "iu":
        raise BmcError(
            "bad-spec", "labels are not integers", hint="give one class per case: np.array([3, 1])"
        )
    return found


def _names(what: str, names: Any) -> tuple[str, ...]:
    found = tuple(_sequence(what, names, 'write ("x",) for one name'))
    for index, name in enumerate(found):
        _require(f"{what}[{index}]", name, str)
    return found
