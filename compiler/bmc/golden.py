"""Checks cases and expected outputs against the model's signature before anything is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bmc import answers, dtype, intake, policies, spec
from bmc.artifacts import GOLDEN_FRAMEWORK, Golden, GoldenCall, Signature, TensorInfo
from bmc.dtype import Array, DType, is_float
from bmc.errors import BmcError


@dataclass(frozen=True, slots=True)
class Declared:
    """An input as a model file declares it. None is a dynamic dimension."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]

    def describe(self) -> str:
        dims = ("?" if dim is None else str(dim) for dim in self.shape)
        return f"{self.name}: {'x'.join((*dims, self.dtype.name.lower()))}"


def sized(
    declared: tuple[Declared, ...], shapes: Mapping[str, tuple[int, ...]]
) -> tuple[Declared, ...]:
    """Returns the inputs with the shapes that the user gives by name.

    Raises:
      BmcError: there is no such input, or it has another shape.
    """
    for name in shapes:
        require_input(name, declared)
    return tuple(
        _of_shape(info, shapes[info.name]) if info.name in shapes else info for info in declared
    )


def require_input(name: str, declared: tuple[Declared, ...]) -> Declared:
    """Returns the input of that name; raises BmcError if there is none."""
    for info in declared:
        if info.name == name:
            return info
    raise BmcError(
        "bad-option",
        f"the model has no input '{name}'",
        hint=f"its inputs are {', '.join(info.describe() for info in declared)}",
    )


def _of_shape(info: Declared, shape: tuple[int, ...]) -> Declared:
    given = Declared(info.name, info.dtype, shape)
    fits = len(shape) == len(info.shape) and all(
        want in (None, got) for want, got in zip(info.shape, shape, strict=True)
    )
    if not fits:
        raise BmcError(
            "bad-option", f"input {info.describe()} cannot have the shape of {given.describe()}"
        )
    return given


def of_file(cases: str) -> spec.Cases | None:
    """Calls `cases.py:function`; returns None if `cases` is empty.

    Raises:
      BmcError: it returns expected outputs, although the file's framework computes these.
    """
    if not cases:
        return None
    given = intake.cases(cases)
    if given.expected:
        raise BmcError(
            "bad-spec",
            "Cases.expected is given, but this model's framework computes the expected outputs",
            hint="leave it out: only MLIR needs it",
        )
    return given


def fix(declared: tuple[Declared, ...], case: spec.Case | None) -> tuple[TensorInfo, ...]:
    """Returns the static signature of a model.

    A dynamic dimension gets its size from `case`. Without a case, a dynamic first dimension is the batch
    and becomes 1.

    Raises:
      BmcError: the case does not fit, or there is none and another dimension is dynamic.
    """
    if case is None:
        return tuple(_without_case(info) for info in declared)
    names = tuple(info.name for info in declared)
    got = infos(case, names if len(case) == len(declared) else (), "tensor")
    if len(got) != len(declared) or not all(map(_fits, got, declared)):
        raise BmcError(
            "bad-spec",
            f"the cases are ({', '.join(i.describe() for i in got)}) but the model takes"
            f" ({', '.join(i.describe() for i in declared)})",
        )
    return got


def _without_case(info: Declared) -> TensorInfo:
    for index, dim in enumerate(info.shape):
        if dim is None and index > 0:
            raise BmcError(
                "dynamic-shape",
                f"dimension {index} of input {info.describe()} is dynamic",
                hint=f"give its shape, as in --shape {info.name}=1x512 or bm_model(shapes = {{...}}), or cases,"
                f" whose shapes determine it ({intake.HOW})",
            )
    return TensorInfo(info.name, info.dtype, tuple(1 if d is None else d for d in info.shape))


def _fits(got: TensorInfo, want: Declared) -> bool:
    return (
        got.dtype is want.dtype
        and len(got.shape) == len(want.shape)
        and all(w in (None, g) for g, w in zip(got.shape, want.shape, strict=True))
    )


def check_finite(name: str, array: Array, *, is_bound: bool = False) -> None:
    """Raises BmcError if a weight has NaN or Inf. One with only 0 and -Inf is an attention mask.

    With `is_bound`, ops only compare it with their operands, so any infinity means that there is no bound.
    """
    if not is_float(array) or np.isfinite(array).all():
        return
    allowed = is_bound or np.isneginf(array[array != 0]).all()
    if np.isnan(array).any() or not allowed:
        raise BmcError(
            "bad-weight",
            f"weight '{name}' contains NaN or Inf",
            hint="train or convert the model again, or mark elements by a mask of truth values",
        )


def infos(
    arrays: Sequence[Array], names: Sequence[str], default_name: str
) -> tuple[TensorInfo, ...]:
    """Returns the signature of one case. `names` is empty or has one name per array."""
    if names and len(names) != len(arrays):
        raise BmcError(
            "bad-spec", f"{len(names)} {default_name} names given for {len(arrays)} {default_name}s"
        )
    called = names or [f"{default_name}{i}" for i in range(len(arrays))]
    return tuple(
        TensorInfo(name, dtype.from_numpy(array, name), tuple(array.shape))
        for name, array in zip(called, arrays, strict=True)
    )


def check_cases(
    cases: tuple[spec.Case, ...], inputs: tuple[TensorInfo, ...], what: str = "case"
) -> None:
    """Raises BmcError unless every case has the shapes and dtypes of the model's inputs."""
    for index, case in enumerate(cases):
        _check_signature(f"{what} {index}", case, inputs)


def make(
    *,
    inputs: tuple[spec.Case, ...],
    outputs: tuple[spec.Case, ...],
    input_infos: tuple[TensorInfo, ...],
    output_infos: tuple[TensorInfo, ...],
    tolerance: spec.Policy | tuple[spec.Policy, ...],
    labels: Array | None,
    source: str,
) -> Golden:
    """Returns checked golden data. Its arrays are contiguous and have the signature's dtypes.

    Args:
      inputs: for each case, one array per input.
      outputs: for each case, the expected arrays.
      input_infos: the model's inputs.
      output_infos: the model's outputs.
      tolerance: one policy for all outputs, or one per output.
      labels: class of each case, shape [case_count], or None.
      source: GOLDEN_FRAMEWORK or GOLDEN_IREE_HOST.

    Raises:
      BmcError: there are no cases or outputs, or something does not fit the signature.
    """
    if not inputs:
        raise BmcError(
            "bad-spec", "the model has no cases", hint="give at least one tuple of input arrays"
        )
    if not output_infos:
        raise BmcError(
            "bad-signature", "the model has no outputs", hint="return the values that it computes"
        )
    check_cases(inputs, input_infos)
    for index, expected in enumerate(outputs):
        _check_signature(f"expected outputs of case {index}", expected, output_infos)
    label_tuple: tuple[int, ...] | None = None
    correct = 0
    if labels is not None:
        if np.asarray(labels).shape != (len(inputs),):
            raise BmcError(
                "bad-spec", f"labels has shape {np.asarray(labels).shape} for {len(inputs)} cases"
            )
        if not output_infos[0].byte_count:
            raise BmcError(
                "bad-spec",
                f"labels are given, but {output_infos[0].describe()} has no elements",
                hint="return the scores of the classes first",
            )
        label_tuple = tuple(int(label) for label in labels)
        correct = sum(
            int(answers.ranking(answers.numbers(expected[0]).ravel())[0] == label)
            for expected, label in zip(outputs, label_tuple, strict=True)
        )
    return Golden(
        inputs=_contiguous(inputs),
        outputs=_contiguous(outputs),
        policies=policies_of(tolerance, output_infos),
        labels=label_tuple,
        framework_correct=correct,
        source=source,
    )


def make_calls(
    *,
    calls: tuple[GoldenCall, ...],
    inputs: tuple[spec.Case, ...],
    outputs: tuple[spec.Case, ...],
    signatures: tuple[Signature, ...],
    tolerance: spec.Policy | tuple[spec.Policy, ...],
) -> Golden:
    """Returns checked golden data for a model with several entry points or with state.

    Args:
      calls: the call of each case.
      inputs: for each case, one array per input.
      outputs: for each case, the expected arrays.
      signatures: the entry points.
      tolerance: one policy for all outputs, or one per output, for all entry points in order.

    Raises:
      BmcError: something does not fit the signature of its entry point.
    """
    for index, (call, case, expected) in enumerate(zip(calls, inputs, outputs, strict=True)):
        signature = signatures[call.entry]
        _check_signature(f"call {index}", case, signature.inputs)
        _check_signature(f"what call {index} returned", expected, signature.outputs)
    results = tuple(info for signature in signatures for info in signature.outputs)
    return Golden(
        inputs=_contiguous(inputs),
        outputs=_contiguous(outputs),
        policies=policies_of(tolerance, results),
        labels=None,
        framework_correct=0,
        source=GOLDEN_FRAMEWORK,
        calls=calls,
    )


def _contiguous(cases: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
    return tuple(tuple(np.ascontiguousarray(a).reshape(a.shape) for a in case) for case in cases)


def policies_of(
    tolerance: spec.Policy | tuple[spec.Policy, ...], output_infos: tuple[TensorInfo, ...]
) -> tuple[spec.Policy, ...]:
    """Returns a policy per output; raises BmcError if there are too few, or one is for another type of number."""
    each = tolerance if isinstance(tolerance, tuple) else (tolerance,) * len(output_infos)
    if len(each) != len(output_infos):
        raise BmcError("bad-spec", f"{len(each)} tolerances given for {len(output_infos)} outputs")
    for info, policy in zip(output_infos, each, strict=True):
        policies.require_fit(policy, info.dtype, info.describe())
    return each


def _check_signature(what: str, case: spec.Case, want: tuple[TensorInfo, ...]) -> None:
    got = infos(case, tuple(info.name for info in want) if len(case) == len(want) else (), "tensor")
    if got != want:
        raise BmcError(
            "bad-spec",
            f"{what} is ({', '.join(i.describe() for i in got)}) but the model takes"
            f" ({', '.join(i.describe() for i in want)})",
            hint="all need the same shapes and dtypes",
        )
