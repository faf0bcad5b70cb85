"""What a model file hands to bmc: `model.py:factory` returns a ModelSpec (or MlirCases for .mlir files).

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
    """Integer outputs: |got - want| <= max_step for every element."""

    max_step: int


Policy = Tolerance | Exact | IntStep


@dataclass(frozen=True)
class ModelSpec:
    """A PyTorch model with the inputs it is checked on.

    Attributes:
      module: torch.nn.Module; its forward takes one tensor per input and returns a tensor or a
        (nested) tuple, list or dict of tensors, which become the outputs in flattened order.
      cases: one tuple of numpy arrays per case; all cases have the same shapes and dtypes, and the
        first one is used to export the module.
      tolerance: one policy for all outputs, or one per output.
      labels: class of each case, shape [case_count]; makes the firmware count correct answers
        (argmax of output 0) against the framework's own count.
      input_names, output_names: names for reports; "input0", "output0", ... when empty.
    """

    module: Any
    cases: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
    labels: npt.NDArray[np.integer[Any]] | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class MlirCases:
    """Inputs and expected outputs for an MLIR model (`--cases module.py:fn`).

    Attributes:
      cases: one tuple of numpy arrays per case.
      expected: one tuple of output arrays per case.
      tolerance: one policy for all outputs, or one per output.
    """

    cases: tuple[Case, ...]
    expected: tuple[Case, ...]
    tolerance: Policy | tuple[Policy, ...]
