"""LSTMs of int8 in .tflite files match LiteRT's reference kernel bit for bit."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import NDArray
from tflite_graph import Graph

_OUTPUT, _ZERO_POINT = 1 / 128, -3


def _file(
    seed: int,
    *,
    steps: int = 4,
    batch: int = 2,
    inputs: int = 5,
    cells: int = 3,
    input_gate: bool = True,
    weight: float = 0.02,
    cell: float = 2.0**-11,
    flat: bool = False,
    **options: Any,
) -> bytes:
    """Returns an LSTM of int8 with random weights.

    Args:
      weight, cell: the scales of the weights and the cell.
      flat: whether the result is read as one dimension.
    """
    rng = np.random.default_rng(seed)
    made = Graph()

    def tensor(name: str, shape: tuple[int, ...], kind: str, scale: float, zero: int = 0) -> int:
        index = made.tensor(name, shape, kind)
        made.quantize(index, scale, zero)
        return index

    def constant(name: str, values: NDArray[Any], scale: float) -> int:
        index = made.constant(name, values)
        made.quantize(index, scale)
        return index

    outer = (steps, batch) if options.get("timeMajor") else (batch, steps)
    x = tensor("x", (*outer, inputs), "int8", 0.03, 5)
    y = tensor("y", (*outer, cells), "int8", _OUTPUT, _ZERO_POINT)
    operands = [x, *[-1] * 23]
    for gate in range(0 if input_gate else 1, 4):
        for first, width in ((1, inputs), (5, cells)):
            values = rng.integers(-127, 128, (cells, width)).astype(np.int8)
            scale = weight * (1 + gate / first)
            operands[first + gate] = constant(f"weight{first + gate}", values, scale)
        bias = rng.integers(-3000, 3000, cells).astype(np.int32)
        operands[12 + gate] = constant(f"bias{gate}", bias, 0.03 * weight)
    operands[18] = tensor("output", (batch, cells), "int8", _OUTPUT, _ZERO_POINT)
    operands[19] = tensor("cell", (batch, cells), "int16", cell)
    for place in (18, 19):
        made.graph.tensors[operands[place]].isVariable = True
    made.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        [y],
        options="UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=schema.ActivationFunctionType.TANH,
        **options,
    )
    made.graph.operators[-1].intermediates = [
        *(tensor(f"gate{gate}", (1,), "int16", 2.0**-12) for gate in range(4)),
        tensor("hidden", (1,), "int8", _OUTPUT, _ZERO_POINT),
    ]
    if flat:
        size = (batch * steps * cells,)
        z = tensor("z", size, "int8", _OUTPUT, _ZERO_POINT)
        made.op("RESHAPE", [y, made.constant("size", np.array(size, np.int32))], [z])
        y = z
    return made.file([x], [y])


class TfliteInt8LstmTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_forms(self) -> None:
        forms: tuple[dict[str, Any], ...] = (
            {"input_gate": False},
            {"timeMajor": True, "cellClip": 1.5, "cell": 2.0**-12, "weight": 0.05},
            {"batch": 1, "cells": 8, "cell": 2.0**-9, "weight": 0.1, "flat": True},
        )
        for seed, options in enumerate(forms):
            with self.subTest(options):
                model = self.load(_file(seed, **options))
                self.assertGreater(len(np.unique(np.stack(model.golden.outputs))), 16)
                self.agrees(model)

    def test_what_is_refused(self) -> None:
        self.rejects(
            "op-rejected",
            "'UNIDIRECTIONAL_SEQUENCE_LSTM' with cells of another scale than 2^-15 to 2^-9",
            "(at y in model.tflite)",
            data=_file(0, cell=2.0**-8),
        )


if __name__ == "__main__":
    unittest.main()
