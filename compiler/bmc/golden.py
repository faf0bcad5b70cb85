"""Checks cases and expected outputs against the model's signature before anything is compiled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bmc import dtype, spec
from bmc.artifacts import Golden, TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError


def infos(
    arrays: Sequence[Array], names: Sequence[str], default_name: str
) -> tuple[TensorInfo, ...]:
    """Returns the signature of one case; `names` is empty or has one name per array."""
    if names and len(names) != len(arrays):
        raise BmcError(
            "bad-spec", f"{len(names)} {default_name} names given for {len(arrays)} {default_name}s"
        )
    return tuple(
        TensorInfo(
            names[i] if names else f"{default_name}{i}", dtype.from_numpy(array), tuple(array.shape)
        )
        for i, array in enumerate(arrays)
    )


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
    """Returns checked golden data; arrays are contiguous and have the dtypes of the signature."""
    if not inputs:
        raise BmcError(
            "bad-spec", "the model has no cases", hint="give at least one tuple of input arrays"
        )
    for index, (case, expected) in enumerate(zip(inputs, outputs, strict=True)):
        _check_signature(f"case {index}", case, input_infos)
        _check_signature(f"expected outputs of case {index}", expected, output_infos)
    policies = tolerance if isinstance(tolerance, tuple) else (tolerance,) * len(output_infos)
    if len(policies) != len(output_infos):
        raise BmcError(
            "bad-spec", f"{len(policies)} tolerances given for {len(output_infos)} outputs"
        )
    for info, policy in zip(output_infos, policies, strict=True):
        if isinstance(policy, spec.Tolerance) and not info.dtype.is_float:
            raise BmcError(
                "bad-spec",
                f"a float tolerance is given for output {info.describe()}",
                hint="use Exact or IntStep",
            )
        if isinstance(policy, spec.IntStep) and info.dtype.is_float:
            raise BmcError(
                "bad-spec",
                f"IntStep is given for output {info.describe()}",
                hint="use Tolerance or Exact",
            )
    label_tuple: tuple[int, ...] | None = None
    correct = 0
    if labels is not None:
        if np.asarray(labels).shape != (len(inputs),):
            raise BmcError(
                "bad-spec", f"labels has shape {np.asarray(labels).shape} for {len(inputs)} cases"
            )
        label_tuple = tuple(int(label) for label in labels)
        correct = sum(
            int(np.argmax(expected[0]) == label)
            for expected, label in zip(outputs, label_tuple, strict=True)
        )
    return Golden(
        inputs=tuple(
            tuple(np.ascontiguousarray(a).reshape(a.shape) for a in case) for case in inputs
        ),
        outputs=tuple(
            tuple(np.ascontiguousarray(a).reshape(a.shape) for a in case) for case in outputs
        ),
        policies=policies,
        labels=label_tuple,
        framework_correct=correct,
        source=source,
    )


def random_case(inputs: tuple[TensorInfo, ...], seed: int) -> spec.Case:
    """Returns seeded inputs: floats ~ N(0, 1), integers small enough to be indices of anything."""
    rng = np.random.default_rng(seed)
    arrays: list[Array] = []
    for info in inputs:
        if info.dtype is DType.BF16:
            raise BmcError(
                "unsupported-dtype",
                f"cannot make random bf16 data for {info.describe()}",
                hint="give --cases",
            )
        if info.dtype.is_float:
            arrays.append(rng.standard_normal(info.shape).astype(info.dtype.numpy))
        else:
            arrays.append(rng.integers(0, 2, info.shape).astype(info.dtype.numpy))
    return tuple(arrays)


def _check_signature(what: str, case: spec.Case, want: tuple[TensorInfo, ...]) -> None:
    got = infos(case, tuple(info.name for info in want) if len(case) == len(want) else (), "tensor")
    if got != want:
        raise BmcError(
            "bad-spec",
            f"{what} is ({', '.join(i.describe() for i in got)}) but the model takes"
            f" ({', '.join(i.describe() for i in want)})",
            hint="all cases need the shapes and dtypes of the first one",
        )
