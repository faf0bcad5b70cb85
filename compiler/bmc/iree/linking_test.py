"""Tests that functions that IREE's 32-bit library gets wrong are refused."""

from __future__ import annotations

import unittest

import support

from bmc.iree import linking

_FLOOR = """func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.floor %x : tensor<4xf64>
  return %0 : tensor<4xf64>
}
"""


class LinkingTest(support.FolderTest):
    def check(self, line: str) -> None:
        (self.folder / "link.map").write_text(
            f"  8c0 8c0 0 2         /tmp/main-1.o:({line})\n", encoding="utf-8"
        )
        linking.check(self.folder)

    def test_map_of_the_linker(self) -> None:
        self.refuses("broken-function", "call fmaf, which", call=lambda: self.check(".text.fmaf"))
        self.check(".text.floorf")
        self.check(".rodata.exp")

    def test_a_model_that_calls_one(self) -> None:
        for isa in ("rv32imac", "rv32imafc_zve32f_zvl128b"):
            self.refuses(
                "broken-function",
                "the kernels call floor, which",
                call=lambda i=isa: support.lower_text(_FLOOR, self.folder, i),
            )
        # The 64-bit library is correct.
        support.lower_text(_FLOOR, self.folder, "rv64gc")


if __name__ == "__main__":
    unittest.main()
