"""Kernel libraries: functions of other people that take the place of a model's kernels.

A kernel library is C, C++ or assembly, and a Python file with a function that is asked about every product of a model:

    from bmc.libraries import Call, Dispatch

    def take(dispatch: Dispatch) -> Call | None:
        ...

It returns how the dispatch is computed by a call of the library, or None to leave it as it is.
"""

from bmc.libraries.call import Call, Packed, Scratch, Sums
from bmc.libraries.convolutions import Axis, Convolution, convolution
from bmc.libraries.dispatch import Dispatch, Edge, Loop, Operand, Padding
from bmc.libraries.products import Matmul, matmul
from bmc.libraries.requantization import (
    Addition,
    Requantization,
    Scale,
    Term,
    addition,
    is_per_output,
    per_output,
    requantization,
    requantization_by_output,
)
from bmc.libraries.window_params import (
    addition_params,
    limits,
    output_numbers,
    result_steps,
    sums_steps,
    window_params,
)
from bmc.libraries.windows import Way, Windows, windows

__all__ = [
    "Addition",
    "Axis",
    "Call",
    "Convolution",
    "Dispatch",
    "Edge",
    "Loop",
    "Matmul",
    "Operand",
    "Packed",
    "Padding",
    "Requantization",
    "Scale",
    "Scratch",
    "Sums",
    "Term",
    "Way",
    "Windows",
    "addition",
    "addition_params",
    "convolution",
    "is_per_output",
    "limits",
    "matmul",
    "output_numbers",
    "per_output",
    "requantization",
    "requantization_by_output",
    "result_steps",
    "sums_steps",
    "window_params",
    "windows",
]
