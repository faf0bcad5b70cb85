"""Tests which products go to the dot unit, and how their weights are packed."""

from __future__ import annotations

import sys
import unittest
from dataclasses import replace

import numpy as np
from take import take

from bmc.libraries import Dispatch, Loop, Operand, Packed, Padding

# Loops: rows, outputs, and what is summed; weights are stored as [byte, output].
_ROWS, _OUTPUTS, _BYTES = 3, 5, 8


def _dispatch(rows: int = _ROWS, size: int = _BYTES, dtype: str = "i8") -> Dispatch:
    loops = (Loop(rows, False), Loop(_OUTPUTS, False), Loop(size, True))
    steps = ((size, 0, 1), (0, 1, _OUTPUTS), (_OUTPUTS, 1, 0))
    a, b, result = (Operand(dtype, each, binding=number) for number, each in enumerate(steps))
    operands = (a, b, replace(result, dtype="i32"))
    return Dispatch("f", "rv32imc", 0, loops, operands, None, ())


class TakeTest(unittest.TestCase):
    def test_rows_of_a_matrix_are_windows(self) -> None:
        call = take(_dispatch())
        assert call
        steps = {"lines": 1, "columns": 3, "line_step": 0, "column_step": 8}
        self.assertEqual(call.params, {**steps, "words": 2, "outputs": 5})
        packed = call.arguments[1]
        assert isinstance(packed, Packed)
        weights = np.arange(_OUTPUTS * _BYTES, dtype=np.int8).reshape(_OUTPUTS, _BYTES)
        np.testing.assert_array_equal(packed.pack(weights), weights)

    def test_others_are_left(self) -> None:
        dispatch = _dispatch()
        behind = Operand("i8", dispatch.a.steps, offset=2)
        others = {
            "floats": _dispatch(dtype="f32"),
            "no whole words": _dispatch(size=6),
            "more words than there is room for": _dispatch(size=1028),
            "not aligned": replace(dispatch, operands=(behind, *dispatch.operands[1:])),
            "padded": replace(dispatch, padding=Padding(dispatch.a, 0, ())),
            "cheaper without": replace(dispatch, cost=100),
        }
        for name, other in others.items():
            with self.subTest(name):
                self.assertIsNone(take(other))
        self.assertIsNotNone(take(_dispatch(size=1024)))


if __name__ == "__main__":
    sys.exit(unittest.main())
