"""Tests which dispatches are matrix products, and with which steps."""

from __future__ import annotations

import unittest

from bmc.libraries import Dispatch, Loop, Matmul, Operand, matmul

# Loops: rows, columns, terms.
_ROWS, _COLUMNS, _TERMS = (2, False), (3, False), (5, True)


def _dispatch(loops: list[tuple[int, bool]], *steps: tuple[int, ...]) -> Dispatch:
    operands = tuple(Operand("f32", each) for each in steps)
    return Dispatch("f", "rv64gc", 0, tuple(Loop(*loop) for loop in loops), operands, None, ())


def _found(dispatch: Dispatch) -> Matmul:
    product = matmul(dispatch)
    assert product is not None
    return product


class MatmulTest(unittest.TestCase):
    def test_rows_columns_and_terms(self) -> None:
        dispatch = _dispatch([_ROWS, _COLUMNS, _TERMS], (5, 0, 1), (0, 1, 3), (3, 1, 0))
        found = _found(dispatch)
        self.assertEqual((found.batch, found.rows, found.columns, found.terms), (1, 2, 3, 5))
        self.assertEqual((found.a_row, found.a_term), (5, 1))
        self.assertEqual((found.b_term, found.b_column), (3, 1))
        self.assertEqual((found.result_row, found.result_column), (3, 1))
        self.assertEqual((found.sums_row, found.sums_column), (3, 1))
        self.assertIs(found.a, dispatch.a)

    def test_the_columns_are_neighbors_in_the_result(self) -> None:
        # The result is stored by columns, so that its rows are neighbors.
        dispatch = _dispatch([_ROWS, _COLUMNS, _TERMS], (5, 0, 1), (0, 1, 3), (1, 2, 0))
        found = _found(dispatch)
        self.assertIs(found.a, dispatch.b)
        self.assertEqual((found.rows, found.columns), (3, 2))
        self.assertEqual((found.a_row, found.a_term, found.b_column), (1, 3, 5))
        # Sums are in the order of the loops still.
        self.assertEqual((found.sums_row, found.sums_column), (1, 3))

    def test_loops_that_visit_memory_as_one_are_one(self) -> None:
        # 4 x 2 pixels, as in a convolution of 1x1.
        dispatch = _dispatch(
            [(4, False), (2, False), (3, False), (5, True)],
            (10, 5, 0, 1), (0, 0, 1, 3), (6, 3, 1, 0),
        )  # fmt: skip
        found = _found(dispatch)
        self.assertEqual((found.rows, found.a_row, found.result_row), (8, 5, 3))

    def test_more_than_one_loop_of_a_kind_is_no_matrix_product(self) -> None:
        # The same with a gap behind each line of pixels.
        loops = [(4, False), (2, False), (3, False), (5, True)]
        self.assertIsNone(matmul(_dispatch(loops, (11, 5, 0, 1), (0, 0, 1, 3), (6, 3, 1, 0))))

    def test_loops_of_both_factors_are_the_batch(self) -> None:
        dispatch = _dispatch(
            [(7, False), _ROWS, _COLUMNS, _TERMS],
            (10, 5, 0, 1), (15, 0, 1, 3), (6, 3, 1, 0),
        )  # fmt: skip
        found = _found(dispatch)
        self.assertEqual((found.batch, found.a_batch, found.b_batch), (7, 10, 15))
        self.assertEqual((found.result_batch, found.sums_batch), (6, 6))


if __name__ == "__main__":
    unittest.main()
