"""Tests that tensors that are filled alike stay apart."""

from __future__ import annotations

import unittest
from pathlib import Path

import numpy as np
import support

from bmc import reference
from bmc.dtype import Array
from bmc.iree import phases
from bmc.rewrites.meaning import shared_splats

_REPORT = Path(__file__).parents[4] / "docs/upstream/iree-shared-splats.md"
_X = np.arange(6).reshape(2, 3) * 100
_FLOW = """util.func public @main() -> (tensor<2x3x{0}>, tensor<3x2x{0}>) {{
  %n = arith.constant {1} : {0}
  %a = flow.tensor.splat %n : tensor<2x3x{0}>
  %b = flow.tensor.splat %n : tensor<3x2x{0}>
  util.return %a, %b : tensor<2x3x{0}>, tensor<3x2x{0}>
}}
"""


def _reported() -> str:
    _, _, text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")
    return text.partition("```")[0]


class SplatsTest(support.FolderTest):
    def answer(self, text: str, *, apart: bool) -> Array:
        from iree import runtime

        flags = (
            *reference.HOST_FLAGS,
            "--iree-stream-partitioning-favor=debug",
            "--iree-input-demote-f64-to-f32=false",
        )
        rewrite = shared_splats.apply if apart else None
        data = self.compiled_apart(text, phases.FLOW, flags, rewrite)
        loaded = runtime.load_vm_flatbuffer(data, driver="local-sync")
        x = _X.astype(np.float64 if "f64" in text else np.int64)
        return np.asarray(loaded["main"](x))

    def test_paddings(self) -> None:
        """The fault is as reported, and the rewrite mends it."""
        wide = _reported()
        real = wide.replace("i64", "f64").replace("arith.addi", "arith.addf")
        for text, fill in (
            (wide, 7),
            (real.replace("constant 7 : f64", "constant 0.1 : f64"), 0.1),
        ):
            ends = ((0, 2), (0, 2)), ((2, 0), (2, 0))
            first, second = (np.pad(_X * (fill / fill), end, constant_values=fill) for end in ends)
            wanted = first.ravel() + second.ravel()[::-1]
            np.testing.assert_array_equal(self.answer(text, apart=True), wanted)
            self.assertFalse((self.answer(text, apart=False) == wanted).all())

    def test_only_kernels_that_fill(self) -> None:
        for kind, number, count in (
            ("i64", "7", 1), ("i64", "0", 0), ("i64", "-1", 0), ("i64", str(5 * 2**32 + 5), 0),
            ("f64", "0.1", 1), ("f64", "0.0", 0), ("i32", "7", 0), ("f32", "0.1", 0),
        ):  # fmt: skip
            text = support.rewritten(_FLOW.format(kind, number), shared_splats.apply)
            self.assertEqual(text.count("optimization_barrier"), count, (kind, number))

    def test_a_splat_that_two_read(self) -> None:
        text = _FLOW.format("i64", "7").replace(
            "%b = flow.tensor.splat %n", "%b = flow.tensor.reshape %a"
        )
        text = text.replace("reshape %a : tensor", "reshape %a : tensor<2x3xi64> -> tensor")
        made = support.rewritten(text, shared_splats.apply)
        self.assertEqual(made.count("flow.tensor.splat"), 2)


if __name__ == "__main__":
    unittest.main()
