"""What a model file hands to bmc: `model.py:factory` returns a ModelSpec, `cases.py:function` Cases.

This module imports numpy only, so that a model file can use it without pulling in the compiler.
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
    """Float outputs: |got - want| <= atol + rtol * |want| for every element.

    min_cosine, when given, is also required of every row (the last dimension).
    """

    atol: float
    rtol: float
    min_cosine: float | None = None


@dataclass(frozen=True, slots=True)
class Exact:
    """Every element must be equal."""


@dataclass(frozen=True, slots=True)
class IntStep:
    """Integer outputs: |got - want| <= max_step for every element, and no more than `max_differing`
    elements of the output differ at all in one case."""

    max_step: int
    max_differing: int


Policy = Tolerance | Exact | IntStep


@dataclass(frozen=True)
class ModelFile:
    """A model that the factory made with its framework's own tools, as the file it would be.

    Attributes:
      suffix: kind of file, ".tflite" or ".onnx".
      data: its contents.
    """

    suffix: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Previous:
    """As input of a call: what the call before it returned as output number `output`."""

    output: int


@dataclass(frozen=True)
class Call:
    """One call of an entry point of a model with several, or with state.

    Attributes:
      entry: name of the method that is called.
      inputs: one array, or Previous, per input of that method.
      reset: the state is set back to its initial value before the call.
    """

    entry: str
    inputs: tuple[Array | Previous, ...]
    reset: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """A model with the inputs it is checked on.

    Attributes:
      module: torch.nn.Module, keras.Model, tf.Module, a function of jax arrays, or a ModelFile. It
        takes one tensor per input and returns a tensor or a (nested) tuple, list or dict of
        tensors, which become the outputs in flattened order.
      cases: one tuple of numpy arrays per case; all cases have the same shapes and dtypes, and the
        first one is used to export the module.
      tolerance: one policy for all outputs, or one per output.
      labels: class of each case, shape [case_count]; makes the firmware count correct answers
        (argmax of output 0) against the framework's own count.
      input_names, output_names: names for reports; the framework's own when empty.
      calibration: inputs that `quantize = "int8"` measures ranges on, in the form of `cases`.
      calls: instead of cases, for a torch.nn.Module with several entry points or with state: the
        methods named in them become entry points, buffers the module changes are state that stays
        on the target from one call to the next, and the calls are made in this order; they are also
        what `quantize = "int8"` measures ranges on.
    """

    module: Any
    cases: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
    labels: npt.NDArray[np.integer[Any]] | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    calibration: tuple[Case, ...] = ()
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Cases:
    """Inputs for a model that is a file, from `cases.py:function`.

    Attributes:
      cases: one tuple of numpy arrays per case.
      tolerance: one policy for all outputs, or one per output.
      expected: one tuple of output arrays per case, for MLIR, which has no framework to ask.
      labels, calibration: as in ModelSpec.
    """

    cases: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
    expected: tuple[Case, ...] = ()
    labels: npt.NDArray[np.integer[Any]] | None = None
    calibration: tuple[Case, ...] = ()
