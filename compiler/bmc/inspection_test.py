"""Runs `bmc inspect` on a compiled MLIR model."""

from __future__ import annotations

import functools
import json
import re
import tempfile
import unittest
from pathlib import Path

import support

from bmc import inspection
from bmc.errors import BmcError

_MODEL = """
func.func @main(%a: tensor<8x64xf32>, %b: tensor<64x64xf32>) -> tensor<8x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
"""
_CASES = """
import numpy as np
from bmc.spec import Cases, Tolerance

def cases():
    random = np.random.default_rng(0)
    a = random.standard_normal((8, 64)).astype(np.float32)
    b = random.standard_normal((64, 64)).astype(np.float32)
    return Cases(((a, b),), Tolerance(1e-4, 1e-4), ((a @ b,),))
"""


class InspectionTest(unittest.TestCase):
    folder: Path
    compiled: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        imported = cls.folder / "imported"
        cls.compiled = cls.folder / "compiled"
        (cls.folder / "model.mlir").write_text(_MODEL, encoding="utf-8")
        (cls.folder / "cases.py").write_text(_CASES, encoding="utf-8")
        source = cls.folder / "model.mlir"
        cases = f"{cls.folder}/cases.py:cases"
        done = support.bmc("import", source, "--cases", cases, "--out", imported)
        assert done.status == 0, done.err
        isa = ("--isa", "rv64gcv_zvl256b", "--name", "product")
        done = support.bmc("compile", "--import", imported, *isa, "--out", cls.compiled)
        assert done.status == 0, done.err

    def test_inspect_shows_sizes_and_kernels(self) -> None:
        done = support.bmc("inspect", self.compiled)
        self.assertEqual(done.status, 0)
        self.assertIn("product for rv64gcv_zvl256b", done.out)
        self.assertIn("input0: 8x64xf32", done.out)
        self.assertRegex(done.out, r"0 +1 +3 +0  matmul_8x64x64_f32")

    def test_inspect_configs_shows_iree_and_applied_tiles(self) -> None:
        done = support.bmc("inspect", "--configs", self.compiled)
        self.assertEqual(done.status, 0)
        self.assertIn("(op matmul_8x64x64_f32, linalg.matmul), a kernel of bmc's own", done.out)
        self.assertIn("vector_common_parallel: [3, 64, 0]  set by bmc, IREE: [", done.out)

    def test_inspect_shows_every_model_of_an_image(self) -> None:
        report = json.loads((self.compiled / "report.json").read_text(encoding="utf-8"))
        image = self.folder / "image.report.json"
        image.write_text(json.dumps({"models": [report, {**report, "name": "other"}]}))
        done = support.bmc("inspect", image)
        self.assertEqual(done.status, 0)
        self.assertRegex(done.out, "(?s)product for rv64gcv_zvl256b.*\n\nother for rv64gcv_zvl256b")

    def test_inspect_of_something_else_is_one_sentence(self) -> None:
        done = support.bmc("inspect", self.folder)
        self.assertEqual(done.status, 1)
        self.assertIn("contains no report.json", done.err)
        other = self.folder / "other.json"
        for text in ("{}", "5", '{"models": [1]}', '{"models": 5}', '{"models": []}'):
            with self.subTest(text):
                other.write_text(text, encoding="utf-8")
                done = support.bmc("inspect", other)
                self.assertEqual(done.status, 1)
                self.assertIn("is not a report of a compiled model or of an image", done.err)
                self.assertNotIn("Traceback", done.err)

    def test_inspect_of_a_damaged_report_is_one_sentence(self) -> None:
        report = json.loads((self.compiled / "report.json").read_text(encoding="utf-8"))
        other = self.folder / "other.json"
        damaged = [({"dispatches": 5}, "name")]
        for place, value in (
            ("dispatches", 5),
            ("dispatches[0].uses", None),
            ("dispatches[0].bindings", True),
            ("dispatches[0].tiles", []),
            ("entries[0].inputs[1].offset", "text"),
            ("entries[0].inputs[1].shape[0]", None),
            ("flash.weights_bytes", "text"),
            ("arena", None),
            ("golden.second_reference", 1),
            ("int8", {}),
        ):
            changed = json.loads(json.dumps(report))
            *keys, last = [int(key) if key.isdigit() else key for key in re.findall(r"\w+", place)]
            functools.reduce(lambda at, key: at[key], keys, changed)[last] = value
            damaged.append((changed, f"{place}.integer_dispatches" if place == "int8" else place))
        for changed, place in damaged:
            other.write_text(json.dumps(changed), encoding="utf-8")
            with self.subTest(place):
                with self.assertRaises(BmcError) as caught:
                    inspection.read_all(other)
                self.assertIn(f"bmc: {place} is missing or not", caught.exception.message)
        other.write_text("[" * 100_000, encoding="utf-8")
        with self.assertRaisesRegex(BmcError, "is not a report"):
            inspection.read_all(other)
        # What comes of it on the command line.
        other.write_text('{"dispatches": 5}', encoding="utf-8")
        done = support.bmc("inspect", other)
        self.assertEqual(done.status, 1)
        self.assertNotIn("Traceback", done.err)
        # Negative control: it is the change that is refused.
        other.write_text(json.dumps(report), encoding="utf-8")
        self.assertEqual(inspection.read_all(other), [report])

    def test_names_in_a_report_cannot_steer_the_terminal(self) -> None:
        report = json.loads((self.compiled / "report.json").read_text(encoding="utf-8"))
        report["dispatches"][0]["op"] = "\x1b[2Jop"
        report["dispatches"][0]["tiles"] = {"\x1b[2Jlevel": [1]}
        other = self.folder / "other.json"
        other.write_text(json.dumps(report), encoding="utf-8")
        (read,) = inspection.read_all(other)
        for line in (*inspection.full(read), *inspection.configs(read)):
            self.assertTrue(line.isprintable(), line)
        self.assertTrue(inspection.full(read)[-3].endswith("  ?[2Jop"), inspection.full(read))

    def test_the_report_carries_the_second_reference(self) -> None:
        report = json.loads((self.compiled / "report.json").read_text(encoding="utf-8"))
        self.assertIn("the import is right", report["golden"]["second_reference"])


if __name__ == "__main__":
    unittest.main()
