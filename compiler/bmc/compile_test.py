"""Tests all of `bmc compile`: the same bytes everywhere."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import numpy as np
import support

from bmc import artifacts, inspection, target
from bmc.artifacts import sha256
from bmc.compile import CompileOptions, compile_model, rewrite_until
from bmc.errors import BmcError
from bmc.explain import explain


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class DeterminismTest(support.FolderTest):
    def test_output_does_not_depend_on_where_it_is_made(self) -> None:
        folders = (self.folder / "a", self.folder / "longer name" / "b")
        for folder in folders:
            support.compile_text(support.MATMUL, folder)
        first, second = (files(folder / "out") for folder in folders)
        self.assertEqual(
            {name: sha256(data) for name, data in first.items()},
            {name: sha256(data) for name, data in second.items()},
        )
        self.assertIn("report.json", first)
        self.assertIn("kernels.elf", first)
        for name, data in first.items():
            if name not in ("weights.bin", "golden.bin"):
                for secret in (b"/tmp", b"/home", b"/root", b"site-packages", b"file://"):
                    self.assertNotIn(secret, data, name)
                self.assertIsNone(re.search(rb"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d", data), name)

    def test_tensors_without_elements(self) -> None:
        kind = "tensor<0x3xf32>"
        text = f"func.func @main(%x: {kind}) -> {kind} {{ return %x : {kind} }}"
        plan = support.lower_text(text, self.folder).plan
        self.assertEqual(plan.commands, ())
        # C has no arrays of no bytes.
        self.assertEqual(plan.arena_bytes, 64)

    def test_constants_do_not_depend_on_the_builders_cpu(self) -> None:
        a, b = np.random.default_rng(3).standard_normal((2, 16, 16)).astype(np.float32)
        text = f"""func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {{
  %a = stablehlo.constant dense<"0x{a.tobytes().hex()}"> : tensor<16x16xf32>
  %b = stablehlo.constant dense<"0x{b.tobytes().hex()}"> : tensor<16x16xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0]
    : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %1 = stablehlo.add %x, %0 : tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}}
"""
        support.compile_text(text, self.folder)
        weights = np.fromfile(self.folder / "out/weights.bin", np.float32).reshape(16, 16)
        rounded, fused = np.zeros((2, 16, 16), np.float32)
        for k in range(16):
            rounded = rounded + np.outer(a[k], b[k])
            # Most CPUs have fused multiply-add, which does not round products.
            fused = (fused + np.outer(a[k].astype(np.float64), b[k])).astype(np.float32)
        np.testing.assert_array_equal(weights, rounded)
        self.assertTrue((weights != fused).any())

    def test_other_model_gives_other_bytes(self) -> None:
        support.compile_text(support.MATMUL, self.folder / "a")
        support.compile_text(support.MATMUL.replace("<4x", "<5x"), self.folder / "b")
        first, second = (files(self.folder / name / "out") for name in "ab")
        for name in ("plan.c", "kernels.elf", "report.json"):
            self.assertNotEqual(first[name], second[name], name)
        self.assertEqual(first["weights.bin"], second["weights.bin"])

    def test_imports_are_the_same_everywhere(self) -> None:
        results = []
        for name in ("a", "other"):
            source = self.folder / name / "model.mlir"
            source.parent.mkdir()
            source.write_text(support.ADD, encoding="utf-8")
            out = source.parent / "out"
            self.assertEqual(support.bmc("import", source, "--out", out).status, 0)
            results.append(files(out))
        self.assertEqual(results[0], results[1])
        self.assertNotIn(str(self.folder).encode(), results[0][artifacts.MODEL_FILE])

    def test_report_states_the_hashes_of_the_files(self) -> None:
        report = support.compile_text(support.MATMUL, self.folder)
        written = files(self.folder / "out")
        del written["report.json"]
        for name, data in written.items():
            self.assertEqual(report["sha256"][name], sha256(data), name)
        self.assertEqual(report["flash"]["weights_bytes"], len(written["weights.bin"]))


class EndsMidwayTest(support.FolderTest):
    """What ends between two files, as on a full disk, leaves nothing that says which model they are of."""

    def replace_by_folder(self, file: str) -> Path:
        out = self.folder / "out"
        (out / file).unlink()
        (out / file).mkdir()
        return out

    def test_a_compilation(self) -> None:
        support.compile_text(support.MATMUL, self.folder)
        out = self.replace_by_folder("weights.bin")
        self.assertEqual(len(inspection.read_all(out)), 1)
        with self.assertRaises(IsADirectoryError):
            support.compile_text(support.ADD, self.folder)
        self.refuses("file-missing", "no report.json", call=lambda: inspection.read_all(out))

    def test_an_import(self) -> None:
        arguments = ("import", self.write("model.mlir", support.ADD), "--out", self.folder / "out")
        self.assertEqual(support.bmc(*arguments).status, 0)
        # What imports no model leaves an earlier import as it is.
        for source in ("model.py:f", "model.mlr", "modle.mlir"):
            support.bmc("import", self.folder / source, "--out", self.folder / "out")
        artifacts.load(self.folder / "out")
        out = self.replace_by_folder(artifacts.CASES_FILE)
        self.assertEqual(support.bmc(*arguments).status, 1)
        self.refuses("not-an-import", "no import.json", call=lambda: artifacts.load(out))


class ExplainTest(support.FolderTest):
    def test_kernels_are_explained_by_dispatch(self) -> None:
        imported = self.folder / "import"
        source = self.write("model.mlir", support.MATMUL)
        self.assertEqual(support.bmc("import", source, "--out", imported).status, 0)
        arguments = ("compile", "--import", imported, "--isa", support.ISA, "--name", "m")
        out = ("--out", self.folder / "out")
        done = support.bmc(*arguments, *out, "--explain", "matmul")
        self.assertEqual(done.status, 0, done)
        self.assertRegex(done.out, r"^main_dispatch_0_\w+, of no layer\nproblem: Product\n")
        self.assertRegex(done.out, r"\ntree: [\d,]+ instructions\n(.*\n)+\ntext: arguments x10")
        self.assertFalse((self.folder / "out" / "report.json").exists())
        done = support.bmc(*arguments, *out, "--explain", "conv7")
        self.assertEqual(done.status, 1)
        self.assertRegex(
            done.err, "no kernel for .* is one of 'conv7'\n.*there are: main_dispatch_0_"
        )
        options = CompileOptions("m", target.find("rv64gc"), self.folder, explain="matmul")
        with self.assertRaisesRegex(BmcError, "it has none of bmc's own"):
            explain(artifacts.load(imported), options)


class PlainTest(support.FolderTest):
    def test_rewrites_that_only_make_kernels_faster_are_left_out(self) -> None:
        model = support.import_text(support.MATMUL, self.folder)
        isa = target.find(support.ISA)

        def options(plain: bool) -> CompileOptions:
            return CompileOptions("m", isa, self.folder, stop_after="lowering_configs", plain=plain)

        self.assertTrue(rewrite_until(model, options(False)).is_file())
        with self.assertRaisesRegex(BmcError, "the rewrite 'lowering_configs' does not apply"):
            rewrite_until(model, options(True))
        report = compile_model(model, CompileOptions("m", isa, self.folder / "plain", plain=True))
        self.assertIn("main", report["macs"])


if __name__ == "__main__":
    unittest.main()
