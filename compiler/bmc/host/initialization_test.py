"""Tests that initialization needs no kernel."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.iree import phases

_CONSTANT_WORK = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = stablehlo.sine %a : tensor<4xf32>
  %c = stablehlo.dot_general %b, %b, contracting_dims = [] x []
    : (tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %d = stablehlo.dot_general %x, %c, contracting_dims = [0] x [0]
    : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}
"""


class InitializationTest(support.FolderTest):
    def test_kernels_do_not_run_at_initialization(self) -> None:
        # Without bmc's flags IREE leaves this work on constants to the target.
        with (
            mock.patch.object(phases, "HOIST_EARLY", "--iree-opt-const-eval=false"),
            mock.patch.object(phases, "HOIST_NO_MORE", "--iree-opt-const-eval=false"),
        ):
            self.refuses(
                "init-work",
                "while it initializes",
                "_dispatch_0",
                call=lambda: support.lower_text(_CONSTANT_WORK, self.folder),
            )
        compiled = support.lower_text(_CONSTANT_WORK, self.folder)
        self.assertEqual(set(compiled.kinds), {"DISPATCH"})


if __name__ == "__main__":
    unittest.main()
