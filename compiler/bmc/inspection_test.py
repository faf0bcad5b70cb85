"""Runs `bmc inspect` and `bmc verify` on a compiled MLIR model."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import numpy as np

from bmc import artifacts, cli, verify
from bmc.errors import BmcError
from bmc.spec import Tolerance

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


def _bmc(*arguments: str) -> tuple[int, str, str]:
    """Returns exit status, stdout and stderr of one bmc command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = cli.main(arguments)
    return status, out.getvalue(), err.getvalue()


class InspectionTest(unittest.TestCase):
    folder: Path
    imported: Path
    compiled: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.imported = cls.folder / "imported"
        cls.compiled = cls.folder / "compiled"
        (cls.folder / "model.mlir").write_text(_MODEL, encoding="utf-8")
        (cls.folder / "cases.py").write_text(_CASES, encoding="utf-8")
        source = str(cls.folder / "model.mlir")
        cases = str(cls.folder / "cases.py") + ":cases"
        status, _, err = _bmc("import", source, "--cases", cases, "--out", str(cls.imported))
        assert status == 0, err
        isa = ("--isa", "rv64gcv_zvl256b", "--name", "product")
        status, _, err = _bmc(
            "compile", "--import", str(cls.imported), *isa, "--out", str(cls.compiled)
        )
        assert status == 0, err

    def test_inspect_shows_sizes_and_kernels(self) -> None:
        status, out, _ = _bmc("inspect", str(self.compiled))
        self.assertEqual(status, 0)
        self.assertIn("product for rv64gcv_zvl256b", out)
        self.assertIn("input0: 8x64xf32", out)
        self.assertRegex(out, r"0 +1 +3 +0  matmul_8x64x64_f32")

    def test_inspect_configs_shows_iree_and_applied_tiles(self) -> None:
        status, out, _ = _bmc("inspect", "--configs", str(self.compiled))
        self.assertEqual(status, 0)
        self.assertIn("(op matmul_8x64x64_f32, linalg.matmul)", out)
        self.assertIn("vector_common_parallel: [3, 64, 0]  set by bmc, IREE: [", out)

    def test_inspect_of_something_else_is_one_sentence(self) -> None:
        status, _, err = _bmc("inspect", str(self.folder))
        self.assertEqual(status, 1)
        self.assertIn("contains no report.json", err)
        other = self.folder / "other.json"
        other.write_text("{}", encoding="utf-8")
        status, _, err = _bmc("inspect", str(other))
        self.assertEqual(status, 1)
        self.assertIn("is not a report from `bmc compile`", err)

    def test_verify_agrees_and_says_where_to_look(self) -> None:
        status, out, _ = _bmc("verify", "--import", str(self.imported))
        self.assertEqual(status, 0)
        self.assertIn("case 0 output0: ok", out)
        self.assertIn("the import is right", out)

    def test_the_report_carries_the_second_reference(self) -> None:
        report = json.loads((self.compiled / "report.json").read_text(encoding="utf-8"))
        self.assertIn("the import is right", report["golden"]["second_reference"])

    def test_verify_blames_the_import_for_other_golden_data(self) -> None:
        model = artifacts.load(self.imported)
        wrong = tuple(
            tuple(array + np.float32(1) for array in case) for case in model.golden.outputs
        )
        broken = replace(
            model,
            golden=replace(model.golden, outputs=wrong, policies=(Tolerance(1e-4, 1e-4),)),
        )
        checks = verify.run(broken, self.folder / "reproducer")
        self.assertFalse(checks[0].difference.ok)
        self.assertAlmostEqual(checks[0].difference.max_abs, 1.0, places=4)
        with self.assertRaisesRegex(
            BmcError, "the expected outputs: output output0 of case 0 is off by 1, 512 elements"
        ):
            verify.require(broken, checks)
        other = self.folder / "wrong"
        other.mkdir()
        (other / artifacts.MODEL_FILE).write_bytes(model.mlir.read_bytes())
        artifacts.save(broken, other)
        status, out, err = _bmc("verify", "--import", str(other))
        self.assertEqual(status, 1)
        self.assertIn("MISMATCH", out)
        self.assertIn("error[import-disagrees]", err)


if __name__ == "__main__":
    unittest.main()
