"""Tests what is left of a command of IREE that fails."""

from __future__ import annotations

import unittest

import support

from bmc.errors import InternalError
from bmc.iree import tool
from bmc.iree.tool import IreeTool


class IreeToolTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.reproducer = self.folder / "reproducer"
        self.tool = IreeTool(self.folder, self.reproducer)

    def test_a_rejected_file_is_kept_with_the_command(self) -> None:
        self.write("source.mlir", "func.func @main() {\n  %0 = no.op\n}\n")
        error = self.refuses(
            "op-rejected",
            "no.op",
            call=lambda: self.tool.opt("source.mlir", "out.mlir", "--canonicalize"),
        )
        self.assertEqual(error.where, "source.mlir:2")
        kept = {path.name: path.read_text("utf-8") for path in self.reproducer.iterdir()}
        self.assertEqual(kept.keys(), {"source.mlir", "command.sh", "stderr.txt"})
        # It can be run anywhere.
        self.assertEqual(kept["command.sh"], "iree-opt source.mlir -o out.mlir --canonicalize\n")
        self.assertIn("no.op", kept["stderr.txt"])

    def test_nothing_is_kept_of_a_command_that_succeeds(self) -> None:
        self.write("source.mlir", support.ADD)
        self.tool.opt("source.mlir", "out.mlir")
        self.assertIn("stablehlo.add", (self.folder / "out.mlir").read_text("utf-8"))
        self.assertFalse(self.reproducer.exists())

    def test_a_program_that_iree_lacks(self) -> None:
        self.assertTrue(tool.find("iree-opt").is_file())
        with self.assertRaisesRegex(InternalError, "iree-none is missing"):
            tool.find("iree-none")


if __name__ == "__main__":
    unittest.main()
