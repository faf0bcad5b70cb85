"""Made-up inputs and default tolerances by what LiteRT answers.

- A network that looks for something answers noise with nothing but roundings. It may answer a made-up picture.
- For int8 weights and floats, LiteRT rounds the floats to int8 at run time (dynamic range quantization). bmc does not:
  it computes with floats. The same file with float weights tells how much this rounding changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bmc import answers, pictures, spec, spread, tolerances
from bmc.artifacts import TensorInfo
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_build, tflite_schema
from bmc.frontends.tflite_file import Runner, TfliteFile
from bmc.spread import Spread

# Other inputs may be further apart than those that were measured.
_MARGIN = 2
# Made-up pictures that are tried where noise gives no answer.
_PICTURES = 24


def with_picture(
    file: TfliteFile,
    inputs: tuple[TensorInfo, ...],
    outputs: tuple[TensorInfo, ...],
    answered: Sequence[tuple[spec.Case, spec.Case]],
    answer: Callable[[spec.Case], spec.Case],
) -> list[tuple[spec.Case, spec.Case]]:
    """Returns the made-up cases, with a picture before them if an output is no more than rounding without it.

    Args:
      file: the model.
      inputs, outputs: its signature.
      answered: cases, and their outputs from reference kernels.
      answer: returns such outputs.
    """
    apart = spread.of("tflite", file.ops())

    def silent(expected: spec.Case) -> int:
        policies = tolerances.default(outputs, (expected,), apart)
        return sum(
            tolerances.is_met_by_zeros((expected,), index, policy, info)
            for index, (policy, info) in enumerate(zip(policies, outputs, strict=True))
        )

    if not pictures.are_pictures(inputs) or not (fewest := silent(answered[0][1])):
        return [*answered]
    best: list[spec.Case] = []
    try:
        runner = Runner(file, inputs, fast=True)
        for case in (pictures.case(inputs, index) for index in range(_PICTURES)):
            if (count := silent(runner.run(case))) < fewest:
                best, fewest = [case], count
            if not fewest:
                break
    except BmcError:
        return [*answered]  # There are no fast kernels for it.
    return [*((case, answer(case)) for case in best), *answered]


def of_rounded_inputs(
    file: TfliteFile,
    inputs: tuple[TensorInfo, ...],
    answered: Sequence[tuple[spec.Case, spec.Case]],
    apart: Spread,
) -> Spread:
    """Returns the spread of a model with int8 weights for floats: what LiteRT's rounding of the floats changes.

    Args:
      file: the model.
      inputs: its inputs.
      answered: cases, and LiteRT's outputs.
      apart: the spread of the kernels of the model's ops.
    """
    runner = Runner(replace(file, data=_with_float_weights(file.data)), inputs)
    distance = max(
        max(map(answers.share, expected, runner.run(case))) for case, expected in answered
    )
    return replace(apart, relative=apart.relative + _MARGIN * distance)


def _with_float_weights(data: bytes) -> bytes:
    """Returns a file in which ops on floats have float weights instead of int8 ones."""
    from ai_edge_litert.schema_py_generated import ModelT, TensorType

    model = ModelT.InitFromPackedBuf(data, 0)
    for graph in model.subgraphs:
        made: dict[int, int] = {}
        for op in graph.operators:
            if not len(op.inputs) or graph.tensors[op.inputs[0]].type != TensorType.FLOAT32:
                continue
            for index in op.inputs[1:]:
                is_int8 = index >= 0 and graph.tensors[index].type == TensorType.INT8
                if is_int8 and index not in made:
                    made[index] = _float_of(model, graph, graph.tensors[index])
            op.inputs = [made.get(index, index) for index in op.inputs]
    return tflite_schema.pack(model, 4 * len(data))


def _float_of(model: Any, graph: Any, weight: Any) -> int:
    """Adds a float tensor with the numbers that an int8 tensor stands for; returns its index."""
    shape, quantization = tflite_schema.shape(weight), weight.quantization
    stored = np.asarray(model.buffers[weight.buffer].data, np.uint8).view(np.int8).reshape(shape)
    axis = np.ones(len(shape), int)
    if len(quantization.scale) > 1:
        axis[quantization.quantizedDimension] = -1
    scale = np.asarray(quantization.scale, np.float32).reshape(axis)
    zero = np.asarray(quantization.zeroPoint, np.float32).reshape(axis)
    values: Array = (stored.astype(np.float32) - zero) * scale
    name = tflite_schema.text(weight.name) + "_float"
    return tflite_build.add_constant(model, graph, name, values.astype(np.float32))
