"""Tests when the result of a dispatch can hold the sums."""

from __future__ import annotations

import unittest
from dataclasses import replace

from bmc.libraries import Dispatch, Loop, Operand

_LOOPS = (Loop(4, False), Loop(8, False), Loop(2, True))
_A, _B = Operand("i8", (2, 0, 1), binding=0), Operand("i8", (0, 1, 8), binding=1)
_RESULT = Operand("i32", (8, 1, 0), binding=2)


def _holds(result: Operand, *others: Operand) -> bool:
    return Dispatch("f", "rv64gc", 0, _LOOPS, (_A, _B, result, *others), None, ()).holds_sums


class HoldsSumsTest(unittest.TestCase):
    def test_a_dense_result_of_their_type(self) -> None:
        self.assertTrue(_holds(_RESULT, Operand("i32", (0, 1, 0), binding=3)))

    def test_a_result_of_another_type_as_large(self) -> None:
        self.assertFalse(_holds(replace(_RESULT, dtype="f32")))

    def test_a_result_with_gaps(self) -> None:
        self.assertFalse(_holds(replace(_RESULT, steps=(9, 1, 0))))

    def test_a_result_in_the_memory_of_something_else(self) -> None:
        self.assertFalse(_holds(_RESULT, Operand("i32", (8, 1, 0), binding=2)))


if __name__ == "__main__":
    unittest.main()
