"""TensorFlow Lite's float ops: LiteRT's reference kernels, its optimized ones, and XNNPACK's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import tflite_table
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from subject import Subject

from bmc.dtype import Array
from bmc.frontends import quiet

_KERNELS = (
    OpResolverType.BUILTIN_REF,
    OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    OpResolverType.BUILTIN,
)


def subjects() -> Iterator[Subject]:
    """Yields every op of the table of the suite that computes floats."""
    for op, function in tflite_table.OPS.items():
        data, is_float = tflite_table.convert(function)
        if is_float:
            kind = op.partition(" (")[0]
            runners = [_runner(data, kernels) for kernels in _KERNELS]
            yield Subject(kind, tflite_table.IMAGE, tuple(filter(None, runners)))


def _runner(data: bytes, kernels: Any) -> Callable[[Array], Array] | None:
    """Returns a model's interpreter as a function, None if an op is not among these kernels."""
    with quiet.native():
        try:
            made = Interpreter(
                model_content=data, num_threads=1, experimental_op_resolver_type=kernels
            )
        except ValueError:
            return None
        made.allocate_tensors()
    return functools.partial(_run, made)


def _run(made: Any, x: Array) -> Array:
    made.set_tensor(made.get_input_details()[0]["index"], x)
    made.invoke()
    result: Array = made.get_tensor(made.get_output_details()[0]["index"])
    return result
