"""The interface for model files: `model.py:factory` returns a ModelSpec, `cases.py:function` returns Cases.

This module imports only NumPy, so that a model file can use it without loading the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Case = tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """For float outputs: |got - want| <= atol + rtol * |want| for every element.

    If min_cosine is given, every row (last dimension) must also have at least this cosine.
    """

    atol: float
    rtol: float
    min_cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """Every element must be equal: bit by bit, but for NaN, of which one is as good as another."""


@dataclass(frozen=True, slots=True)
class IntStep:
    """For integer outputs: |got - want| <= max_step for every element.

    In each case, at most `max_differing` elements of the output may differ at all.
    """

    max_step: int
    max_differing: int


Policy = Tolerance | Exact | IntStep


@dataclass(frozen=True)
class ModelFile:
    """A model that the factory made with its framework's own tools, as the contents of a file.

    Attributes:
      suffix: kind of file, ".tflite" or ".onnx".
      data: the contents.
    """

    suffix: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Previous:
    """An input of a call: output number `output` of the previous call."""

    output: int


@dataclass(frozen=True)
class Call:
    """One call to an entry point, of a model with several entry points or with state.

    Attributes:
      entry: name of the method to call.
      inputs: one array or Previous per input of that method.
      reset: whether to reset the state to its initial value before the call.
    """

    entry: str
    inputs: tuple[Array | Previous, ...]
    reset: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """A model, and the inputs on which it is checked.

    Attributes:
      module: torch.nn.Module, keras.Model, tf.Module, a function of JAX arrays, or a ModelFile. It takes
        one tensor per input. It returns a tensor or a (nested) tuple, list or dict of tensors, which
        become the outputs in flattened order.
      cases: one tuple of NumPy arrays per case. All cases have the same shapes and dtypes, and the first
        one is used to export the module.
      tolerance: one policy for all outputs, or one per output. With cases, () is the default tolerance, that
        of a model file without cases.
      labels: class of each case, shape [case_count]. With labels, the firmware counts correct answers
        (argmax of output 0) and compares the count with the framework's.
      input_names, output_names: names for reports; the framework's own if empty.
      calibration: inputs, in the form of `cases`, on which `quantize = "int8"` measures ranges.
      calls: calls to make instead of cases, for a torch.nn.Module with several entry points or with
        state. The methods that they name become entry points. Buffers that the module changes become
        state, which stays on the target between calls. The calls are made in this order, and
        `quantize = "int8"` measures ranges on them. A .tflite file with variables takes calls to "main".
      ranges: for each input, of all entry points in order, the least and the largest number that it may have, or None.
        The import also compares made-up inputs (docs/how-to/made-up-inputs.md), which keep to it. (0, 9) says of a
        digit what its type does not.
    """

    module: Any
    cases: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
    labels: npt.NDArray[np.integer[Any]] | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    calibration: tuple[Case, ...] = ()
    calls: tuple[Call, ...] = ()
    ranges: tuple[tuple[float, float] | None, ...] = ()


@dataclass(frozen=True)
class Cases:
    """Inputs for a model that is a file, from `cases.py:function`.

    Attributes:
      cases: one tuple of NumPy arrays per case.
      tolerance: one policy for all outputs, or one per output.
      expected: one tuple of output arrays per case. Only for MLIR, which has no framework to compute them.
      labels, calibration, ranges: as in ModelSpec.
    """

    cases: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
    expected: tuple[Case, ...] = ()
    labels: npt.NDArray[np.integer[Any]] | None = None
    calibration: tuple[Case, ...] = ()
    ranges: tuple[tuple[float, float] | None, ...] = ()
