"""Tests that what `bmc optimize` writes stands for a model, whatever it is compiled for."""

from __future__ import annotations

import json
import unittest
from dataclasses import replace
from pathlib import Path

import support

from bmc import optimize, target
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, compile_model

# A sum over calls, with weights that IREE computes.
_SUM = """util.global private mutable @sum = dense<1.0> : tensor<8x4xf32>
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x4xf32> {
  %old = util.global.load @sum : tensor<8x4xf32>
  %a = stablehlo.constant dense<1.5> : tensor<4x16xf32>
  %w = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %new = stablehlo.add %old, %y : tensor<8x4xf32>
  util.global.store %new, @sum : tensor<8x4xf32>
  return %new : tensor<8x4xf32>
}
"""


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class OptimizeTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.model = support.import_text(_SUM, self.folder / "sum")
        self.optimized = self.folder / "optimized"
        optimize.optimize_into(self.model, self.optimized)

    def compiled(self, isa: str, optimized: Path | None) -> dict[str, bytes]:
        out = self.folder / f"{isa}_{optimized is not None}"
        compile_model(self.model, CompileOptions("m", target.find(isa), out, optimized=optimized))
        return _files(out)

    def loaded(self, model: ImportedModel) -> optimize.Optimized:
        return optimize.load(self.optimized, model)

    def test_every_instruction_set_gets_the_same_files_as_from_the_import(self) -> None:
        for isa in ("rv32imafc_zve32f_zvl128b", "x86_64"):
            with self.subTest(isa):
                got = self.compiled(isa, self.optimized)
                self.assertIn("plan.c", got)
                self.assertEqual(got, self.compiled(isa, None))

    def test_states_are_kept(self) -> None:
        again = optimize.optimize(self.model, self.folder, self.folder)
        self.assertEqual([i.name for i in again.states.infos], ["sum"])
        self.assertEqual(self.loaded(self.model).states, again.states)

    def test_output_does_not_depend_on_where_it_is_made(self) -> None:
        other = self.folder / "longer name" / "b"
        optimize.optimize_into(self.model, other)
        self.assertEqual(_files(self.optimized), _files(other))

    def test_what_ends_midway_is_refused(self) -> None:
        (mlir,) = self.optimized.glob("*.mlirbc")
        mlir.unlink()
        mlir.mkdir()
        with self.assertRaises(IsADirectoryError):
            optimize.optimize_into(self.model, self.optimized)
        self.refuses("not-optimized", "No such file", call=lambda: self.loaded(self.model))

    def test_another_model_is_refused(self) -> None:
        other = support.import_text(support.ADD, self.folder / "add")
        self.refuses("not-optimized", "another model", call=lambda: self.loaded(other))
        same = replace(other, mlir=self.model.mlir)
        self.assertTrue(self.loaded(same).mlir.is_file())

    def test_what_is_not_from_optimize_is_refused(self) -> None:
        file = self.optimized / "optimized.json"
        data = json.loads(file.read_text(encoding="utf-8"))
        for text, words in (
            (json.dumps(data | {"format_version": 0}), "another version of bmc"),
            (json.dumps(data | {"states": [{}]}), "is not from `bmc optimize`"),
            ("[]", "is not from `bmc optimize`"),
            ("{", "is not from `bmc optimize`"),
        ):
            with self.subTest(text[:20]):
                file.write_text(text, encoding="utf-8")
                self.refuses("not-optimized", words, call=lambda: self.loaded(self.model))
        file.unlink()
        self.refuses("not-optimized", "optimized.json", call=lambda: self.loaded(self.model))


if __name__ == "__main__":
    unittest.main()
