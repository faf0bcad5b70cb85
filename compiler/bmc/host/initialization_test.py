"""Tests that initialization needs no kernel."""

from __future__ import annotations

import struct
import unittest
from unittest import mock

import support

from bmc.host.initialization import Initialization
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

    def test_a_constant_is_its_part_of_the_data(self) -> None:
        initial = Initialization()
        (span,) = initial.allocator_import("", 0, 0, 0, 0, b"abcdef", 2, 3)
        self.assertEqual(initial.constants[span.storage.index].data, b"cde")

    def test_parameters_are_loaded_whole(self) -> None:
        def load(source: int, target: int) -> str:
            initial = Initialization()
            table, spans = struct.pack("<II", 1, 2), struct.pack("<QQQ", source, target, 64)
            initial.parameters_load("", 0, "", "", b"", 0, 0, 0, table, b"-w0-", spans)
            return initial.constants[0].parameter

        self.assertEqual(load(0, 0), "w0")
        for part in ((64, 0), (0, 64)):
            self.refuses("unsupported-host-op", "part of a parameter", call=lambda p=part: load(*p))


if __name__ == "__main__":
    unittest.main()
