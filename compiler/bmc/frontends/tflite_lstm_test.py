"""LSTMs of .tflite files as the ops of their steps, against LiteRT's kernel of the whole."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from ai_edge_litert import schema_py_generated as schema
from tflite_graph import Graph

_RNG = np.random.default_rng(0)
_STEPS, _BATCH, _INPUTS, _CELLS = 6, 2, 5, 4
_ACTIVATIONS = schema.ActivationFunctionType


def _file(
    *,
    input_gate: bool = True,
    more: tuple[int, ...] = (),
    activation: int = _ACTIVATIONS.TANH,
    **options: Any,
) -> bytes:
    """Returns an LSTM; `more` are places of operands that most LSTMs lack."""
    made = Graph()

    def floats(name: str, *shape: int) -> int:
        return made.constant(name, _RNG.standard_normal(shape).astype(np.float32))

    outer = (_STEPS, _BATCH) if options.get("timeMajor") else (_BATCH, _STEPS)
    x, y = made.tensor("x", (*outer, _INPUTS)), made.tensor("y", (*outer, _CELLS))
    operands = [x, *[-1] * 23]
    for gate in range(0 if input_gate else 1, 4):
        operands[1 + gate] = floats(f"input{gate}", _CELLS, _INPUTS)
        operands[5 + gate] = floats(f"recurrent{gate}", _CELLS, _CELLS)
        operands[12 + gate] = floats(f"bias{gate}", _CELLS)
    for place in more:
        operands[place] = floats(f"more{place}", _CELLS)
    for place in (18, 19):
        operands[place] = made.tensor(f"state{place}", (_BATCH, _CELLS))
        made.graph.tensors[operands[place]].isVariable = True
    made.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        [y],
        options="UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=activation,
        **options,
    )
    return made.file([x], [y])


class TfliteLstmTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_forms(self) -> None:
        for options in (
            {"cellClip": 10.0},
            {"cellClip": 0.4, "timeMajor": True},
            {"input_gate": False},
        ):
            with self.subTest(options):
                model = self.load(_file(**options))
                self.assertEqual(model.golden.calls, ())
                self.agrees(model)

    def test_what_is_refused(self) -> None:
        peephole = _file(more=(9, 10, 11))
        self.rejects("op-rejected", "'UNIDIRECTIONAL_SEQUENCE_LSTM' with a peephole", data=peephole)
        relu = _file(activation=_ACTIVATIONS.RELU)
        self.rejects("op-rejected", "another activation", "(at y in model.tflite)", data=relu)


if __name__ == "__main__":
    unittest.main()
