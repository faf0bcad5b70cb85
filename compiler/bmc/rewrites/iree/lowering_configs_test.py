"""Tests tile sizes from tuning.json."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import support

from bmc import target
from bmc.kernels.schedule.choice import DEFAULT
from bmc.rewrites.context import Context
from bmc.rewrites.iree import lowering_configs
from bmc.rewrites.kernels.tuning import Entry, Tuning

_MATMUL = """func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {
  %w = stablehlo.constant dense<1.5> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
"""
_OP = "matmul_4x64x32_f32"
_EMPTY = "func.func @f() { return }"


class TuningTest(support.FolderTest):
    def written(self, tuning: object) -> Path:
        text = tuning if isinstance(tuning, str) else json.dumps(tuning)
        return self.write("tuning.json", text)

    def tuned(self, tuning: object) -> dict[str, Any]:
        path = self.written(tuning)
        return support.compile_text(_MATMUL, self.folder / "tuned", tuning=path)

    def rejects(self, tuning: object, *parts: str) -> None:
        self.refuses("bad-tuning", *parts, call=lambda: self.tuned(tuning))

    def test_override_changes_the_kernel(self) -> None:
        tiles = {"vector_common_parallel": [2, 32, 0]}
        tuned = self.tuned({support.ISA: {_OP: tiles}})
        default = support.compile_text(_MATMUL, self.folder / "default")
        (before,), (after,) = default["dispatches"], tuned["dispatches"]
        self.assertEqual(after["tiles_by"], "tuning")
        self.assertTrue(after["tuned"])
        self.assertFalse(after["own_kernel"])
        self.assertEqual(tuple(after["tiles"]["vector_common_parallel"]), (2, 32, 0))
        self.assertNotEqual(before["tiles_by"], "tuning")
        self.assertNotEqual(before["tiles"], after["tiles"])
        self.assertNotEqual(default["sha256"]["kernels.elf"], tuned["sha256"]["kernels.elf"])

    def test_full_name_and_other_instruction_sets(self) -> None:
        name = f"main_dispatch_0_{_OP}"
        report = self.tuned({support.ISA: {name: {"vector_common_parallel": [2, 32, 0]}}})
        self.assertEqual(report["dispatches"][0]["tiles_by"], "tuning")
        report = self.tuned({"rv64gc": {name: {"vector_common_parallel": [2, 32, 0]}}})
        self.assertNotEqual(report["dispatches"][0]["tiles_by"], "tuning")

    def test_a_malformed_file_is_refused_by_the_compiler(self) -> None:
        self.rejects([], "'tuning.json' is not a JSON object")

    def test_what_the_model_does_not_have(self) -> None:
        tiles = {"vector_common_parallel": [2, 32, 0]}
        self.rejects({support.ISA: {"matmul_9x9x9_f32": tiles}}, "'matmul_9x9x9_f32'")
        tuning = {support.ISA: {_OP: {"vectors": [2, 32, 0]}}}
        self.rejects(tuning, "no tiling level 'vectors'", "vector_common_parallel")
        tuning = {support.ISA: {_OP: {"vector_common_parallel": [2, 32]}}}
        self.rejects(tuning, "'vector_common_parallel'", "needs 3 sizes, not 2")

    def test_only_the_last_dispatches_have_to_be_named(self) -> None:
        """Those of an earlier run of the pipeline have other names."""
        context = Context(
            target.find(support.ISA), tuning=Tuning("t.json", entries={_OP: Entry({}, DEFAULT, ())})
        )
        support.rewritten(_EMPTY, lowering_configs.apply, context=context)
        self.refuses("bad-tuning", f"'{_OP}'", call=lambda: lowering_configs.check_names(context))
        named = _EMPTY.replace("@f", f"@main_dispatch_0_{_OP}")
        support.rewritten(named, lowering_configs.apply, context=context)
        lowering_configs.check_names(context)

    def test_missing_file(self) -> None:
        missing = self.folder / "none.json"
        self.refuses(
            "file-missing",
            "none.json",
            call=lambda: support.compile_text(_MATMUL, self.folder / "m", tuning=missing),
        )


if __name__ == "__main__":
    unittest.main()
