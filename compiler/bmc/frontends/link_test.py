"""Tests how functions with states become one model with mutable globals."""

from __future__ import annotations

import unittest

import numpy as np
import support
from iree.compiler import ir

from bmc import golden, reference
from bmc.artifacts import Signature
from bmc.errors import InternalError
from bmc.frontends import link
from bmc.ir import ir_util

# Takes and returns two states, the second as it was.
_STEP = """func.func @step__pure(%x: tensor<4xf32>, %sum: tensor<4xf32>, %flag: tensor<9xi1>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<9xi1>) {
  %0 = arith.addf %x, %sum : tensor<4xf32>
  return %x, %0, %flag : tensor<4xf32>, tensor<4xf32>, tensor<9xi1>
}
"""
_READ = """func.func @read__pure(%sum: tensor<4xf32>, %flag: tensor<9xi1>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<9xi1>) {
  return %sum, %sum, %flag : tensor<4xf32>, tensor<4xf32>, tensor<9xi1>
}
"""
# The same state, once as StableHLO has it and once as linalg has it.
_DIVIDE = """func.func @divide__pure(%x: tensor<2xui8>, %left: tensor<2xui8>)
    -> (tensor<2xui8>, tensor<2xui8>) {
  %0 = stablehlo.divide %left, %x : tensor<2xui8>
  return %0, %0 : tensor<2xui8>, tensor<2xui8>
}
"""
_SWAP = """func.func @swap__pure(%x: tensor<2xi8>, %left: tensor<2xi8>)
    -> (tensor<2xi8>, tensor<2xi8>) {
  return %left, %x : tensor<2xi8>, tensor<2xi8>
}
"""


class LinkTest(support.FolderTest):
    def linked(self, start: float = 0.0) -> str:
        functions = tuple(
            link.Function(name, self.write(f"{name}.mlir", text))
            for name, text in (("step", _STEP), ("read", _READ))
        )
        states = {
            "cache.sum": np.full(4, start, np.float32),
            "cache.flag": np.arange(9) % 2 == 0,
        }
        link.link(functions, states, self.folder / "model.mlirbc")
        with ir.Context():
            return str(ir_util.read(self.folder / "model.mlirbc"))

    def test_entry_points_load_and_store_what_they_change(self) -> None:
        text = self.linked()
        step, read = (
            text.partition(f"func.func @{name}(")[2].partition("\n  }")[0]
            for name in ("step", "read")
        )
        for entry in (step, read):
            self.assertIn("util.global.load @cache_sum : tensor<4xf32>", entry)
            self.assertIn("util.global.load @cache_flag : tensor<9xi1>", entry)
        self.assertIn("%arg0: tensor<4xf32>) -> tensor<4xf32>", step)
        self.assertIn("@cache_sum : tensor<4xf32>", step.partition("util.global.store")[2])
        self.assertEqual(step.count("util.global.store"), 1)
        self.assertNotIn("util.global.store", read)
        self.assertIn("func.func private @step__pure", text)

    def test_initial_values(self) -> None:
        # Zeros are a splat, which takes no flash.
        sum_, flag = (
            f"util.global private mutable @cache_{name} = dense" for name in ("sum", "flag")
        )
        text = self.linked()
        self.assertIn(f"{sum_}<0.000000e+00> : tensor<4xf32>", text)
        bits = ", ".join(("true", "false") * 4 + ("true",))
        self.assertIn(f"{flag}<[{bits}]> : tensor<9xi1>", text)
        self.assertIn(f"{sum_}<1.500000e+00> : tensor<4xf32>", self.linked(1.5))

    def test_unsigned_bytes(self) -> None:
        functions = tuple(
            link.Function(name, self.write(f"{name}.mlir", text))
            for name, text in (("divide", _DIVIDE), ("swap", _SWAP))
        )
        model = self.folder / "model.mlirbc"
        link.link(functions, {"left": np.array([250, 9], np.uint8)}, model)
        tensors = golden.infos((np.zeros(2, np.uint8),), (), "x")
        signatures = tuple(Signature(each.name, tensors, tensors) for each in functions)
        host = reference.HostModel.compile(model, signatures, self.folder / "reproducer")
        for entry, given, wanted in (
            (0, [2, 3], [125, 3]),
            (1, [255, 128], [125, 3]),
            (0, [2, 2], [127, 64]),
        ):
            (got,) = host.run((np.array(given, np.uint8),), entry)
            self.assertEqual(got.tolist(), wanted)

    def test_a_function_that_is_missing(self) -> None:
        other = link.Function("other", self.write("other.mlir", _READ))
        with self.assertRaisesRegex(InternalError, "no function other__pure"):
            link.link((other,), {}, self.folder / "model.mlirbc")


if __name__ == "__main__":
    unittest.main()
