"""Reads the user's data: inputs, expected outputs and labels."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bmc.artifacts import TensorInfo
from bmc.dtype import Array, loaded, why_unreadable
from tools.cli import UserError

# Name of the labels in a file of inputs.
LABELS = "labels"

# What the arrays of an archive may take.
_MOST_BYTES = 4 << 30


def read_parts(
    path: Path, parts: Sequence[tuple[str, Sequence[TensorInfo]]], sequences: bool
) -> tuple[list[list[Array]], Array | None]:
    """Reads one array per tensor, with samples along the first axis, and the labels if the file has some.

    An .npy file is the array of a single tensor. In an .npz file, arrays have the tensors' names, or there are as
    many as tensors, in their order. A sample may have the tensor's shape, or the same without a first dimension of 1.

    Args:
      path: the user's file.
      parts: the entry points that a sample calls, with their inputs or outputs. If there are several, names in the
        file are ENTRY.TENSOR.
      sequences: whether the second axis counts steps, which are calls of the same entry point.

    Returns:
      For each part, arrays whose axes are samples, steps, and those of the tensor.

    Raises:
      UserError: the file or its arrays do not fit.
    """
    arrays = _load(path)
    labels = arrays.pop(LABELS, None)
    found = []
    for entry, tensors in parts:
        mine = arrays
        if len(parts) > 1:
            begin = entry + "."
            mine = {n.removeprefix(begin): a for n, a in arrays.items() if n.startswith(begin)}
        found.append(_part(path, mine, tensors, sequences))
    counts = {len(array) for part in found for array in part}
    if len(counts) != 1 or counts == {0}:
        raise UserError(
            f"{path} has {' and '.join(map(str, sorted(counts)))} samples: every array needs the same"
            " number, at least one"
        )
    if labels is not None:
        labels = check_labels(path, labels, counts.pop())
    return found, labels


def _part(
    path: Path, arrays: dict[str, Array], tensors: Sequence[TensorInfo], sequences: bool
) -> list[Array]:
    if not tensors:
        raise UserError(f"an entry point without inputs has no samples, so {path} is not for it")
    names = [tensor.name for tensor in tensors]
    if set(arrays) == set(names):
        found = [arrays[name] for name in names]
    elif len(arrays) == len(names):
        found = list(arrays.values())
    else:
        raise UserError(
            f"{path} has the arrays {', '.join(arrays) or 'none'}, and the model takes"
            f" {_described(tensors)}: save one array for each, by these names"
        )
    own = [_samples(path, array, t, sequences) for array, t in zip(found, tensors, strict=True)]
    steps = {array.shape[1] for array in own}
    if len(steps) != 1 or steps == {0}:
        raise UserError(
            f"{path} has {' and '.join(map(str, sorted(steps)))} steps: every array of an entry point"
            " needs the same number, at least one"
        )
    return own


def read_labels(path: Path, count: int) -> Array:
    """Reads the class of each sample from an .npy file; raises UserError."""
    arrays = _load(path)
    if len(arrays) != 1:
        raise UserError(f"{path} has {len(arrays)} arrays: save one, with the class of each sample")
    return check_labels(path, next(iter(arrays.values())), count)


def check_labels(path: Path, labels: Array, count: int) -> Array:
    if labels.dtype.kind not in "iu" or labels.shape != (count,):
        raise UserError(
            f"the labels in {path} are {_shape(labels)} and there are {count} samples: give an array"
            f" of {count} integers, the class of each sample"
        )
    return labels


def check_classes(labels: Array, scores: TensorInfo) -> Array:
    """Returns the labels as int64.

    Args:
      labels: the class of each sample.
      scores: the model's first output, a score for each class.

    Raises:
      UserError: there is no score for a label.
    """
    classes = scores.shape[-1] if scores.shape else 1
    if classes < 2 or classes != math.prod(scores.shape):
        raise UserError(
            f"the output {scores.describe()} is not a score for each class: leave the labels out"
        )
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        raise UserError(
            f"the label of sample {wrong[0]} is {labels[wrong[0]]}, and the model has the classes 0 to"
            f" {classes - 1}: correct it, or leave the sample out"
        )
    return labels.astype(np.int64)


def _load(path: Path) -> dict[str, Array]:
    if path.exists() and not path.is_file():
        raise UserError(f"{path} is no file: save the arrays with numpy.savez or numpy.save")
    try:
        if zipfile.is_zipfile(path):
            _check_size(path)
        file = np.load(path)
        if isinstance(file, np.ndarray):
            return {"": loaded(file)}
        with file:
            arrays = {name: file[name] for name in file.files}
    except UserError:
        raise
    except Exception as error:  # NumPy and zipfile raise all kinds for what they did not write.
        raise UserError(
            f"{path} cannot be read ({why_unreadable(error)}): save it with numpy.savez or numpy.save"
        ) from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # another file in the archive
            raise UserError(f"{name} in {path} is no array: save it with numpy.savez")
    return {name: loaded(array) for name, array in arrays.items()}


def _check_size(path: Path) -> None:
    """Refuses an archive that unpacks to more than a machine holds."""
    with zipfile.ZipFile(path) as archive:
        size = sum(item.file_size for item in archive.infolist())
    if size > _MOST_BYTES:
        raise UserError(
            f"{path} unpacks to {size:,} bytes, more than {_MOST_BYTES:,}: give fewer samples"
        )


def _samples(path: Path, array: Array, tensor: TensorInfo, sequences: bool) -> Array:
    shape = tensor.shape
    axes = 2 if sequences else 1
    for own in (shape, shape[1:]) if shape[:1] == (1,) else (shape,):
        if array.ndim >= axes and array.shape[axes:] == own:
            steps = array.shape[1] if sequences else 1
            return _typed(path, array.reshape(len(array), steps, *shape), tensor)
    first = "axes count samples and steps" if sequences else "axis counts samples"
    raise UserError(
        f"{tensor.name} in {path} is {_shape(array)}, and the model takes {tensor.describe()}: the first"
        f" {first}, and the others are those of the model"
    )


def _typed(path: Path, array: Array, tensor: TensorInfo) -> Array:
    """Doubles and long integers, NumPy's own types, become what the model takes."""
    wanted = tensor.dtype.numpy
    if array.dtype == wanted or (array.dtype.kind == "f" and np.dtype(wanted).kind in "iu"):
        # The framework quantizes floats for an integer input.
        return array
    if array.dtype.kind == "f" and tensor.dtype.is_float:
        with np.errstate(over="ignore"):  # The answers say what becomes of infinities.
            return array.astype(wanted)
    if array.dtype.kind in "iu" and np.dtype(wanted).kind in "iu":
        cast = array.astype(wanted)
        if (cast == array).all():
            return cast
    raise UserError(
        f"{tensor.name} in {path} is {array.dtype}, and the model takes {tensor.describe()}: convert it"
        " as you did for training"
    )


def _shape(array: Array) -> str:
    return "x".join(map(str, (*array.shape, array.dtype)))


def _described(tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(tensor.describe() for tensor in tensors)
