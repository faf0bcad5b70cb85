"""Tests what is said of int8 models that are mostly floats."""

from __future__ import annotations

import unittest

from blank import blank

from bmc.emit import gain
from bmc.report import Dispatch, Operand


def _row(op: str, accumulator: str, macs: int, uses: int = 1, dtype: str = "i8") -> Dispatch:
    operands = (("i8", (99,)), (dtype, (2, 3)), (dtype, None))
    return blank(
        Dispatch,
        name=f"main_dispatch_0_{op}",
        op=op,
        accumulator=accumulator,
        macs=macs,
        uses=uses,
        operands=tuple(blank(Operand, dtype=kind, shape=shape) for kind, shape in operands),
    )


class GainTest(unittest.TestCase):
    def test_products_that_stay_in_floats(self) -> None:
        rows = [_row("conv", "i32", 100), _row("lstm", "f32", 150, 2, "f32")]
        self.assertEqual(
            gain.note(rows, {"lstm": "recurrent"}),
            "int8 gains little over f32 here: 25 % of the multiply-accumulates are of integers, and 300 of 400 are in"
            " 'lstm', which stays in f32 (recurrent).",
        )
        self.assertIn("stays in f32.", gain.note(rows, {}))
        self.assertEqual(gain.note([_row("conv", "i32", 100), _row("fc", "f32", 99)], {}), "")

    def test_floats_between_products(self) -> None:
        exp = _row("exp", "", 0, 3, "f32")
        rows = [_row("conv", "i32", 143, 2), exp, _row("never", "f32", 9, 0)]
        self.assertEqual(
            gain.note(rows, {}),
            "int8 gains little over f32 here: besides 286 multiply-accumulates of integers, 18 floats are"
            " computed between the products, in 1 of 2 kernels.",
        )
        self.assertEqual(gain.note([_row("conv", "i32", 144, 2), exp], {}), "")

    def test_integers_everywhere(self) -> None:
        self.assertEqual(gain.note([_row("conv", "i32", 5), _row("move", "", 0, 9)], {}), "")


if __name__ == "__main__":
    unittest.main()
