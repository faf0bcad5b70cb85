"""Tests paddings."""

from __future__ import annotations

import unittest

from iree.compiler import ir

from bmc.ir import ir_util, pad

_MODULE = """func.func @main(%x: tensor<2x3xi8>, %zero: i8) {
  return
}
"""


class PadTest(unittest.TestCase):
    def test_sides_and_number(self) -> None:
        with ir.Context(), ir.Location.unknown():
            module = ir.Module.parse(_MODULE)
            (end,) = ir_util.all_of(module, "func.return")
            x, zero = end.parent.regions[0].blocks[0].arguments
            with ir.InsertionPoint(end):
                padded = pad.padded(x, (1, 0), (2, 4), zero)
            module.operation.verify()
            text = str(module)
        self.assertIn("low[1, 0] high[2, 4]", text)
        self.assertIn("tensor.yield %arg1 : i8", text)
        self.assertIn("tensor<2x3xi8> to tensor<5x7xi8>", text)
        self.assertEqual(padded.owner.name, "tensor.pad")


if __name__ == "__main__":
    unittest.main()
