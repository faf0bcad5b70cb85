"""Tests `bmc verify`, which tells wrong imports from wrong code."""

from __future__ import annotations

import unittest
from dataclasses import replace

import numpy as np
import support

from bmc import artifacts, verify
from bmc.errors import BmcError
from bmc.spec import Case, Tolerance

_CASES = """
import numpy as np
from bmc.spec import Cases, Tolerance

def cases():
    x = np.arange(16, dtype=np.float32)
    return Cases(((x,),), Tolerance(1e-4, 1e-4), ((x + x,),))
"""


def _less(model: artifacts.ImportedModel, number: int) -> tuple[Case, ...]:
    """The outputs of all cases, less a number."""
    return tuple(
        tuple(array - np.float32(number) for array in case) for case in model.golden.outputs
    )


class VerifyTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.imported = self.folder / "imported"
        source = self.write("add.mlir", support.ADD)
        cases = f"{self.write('cases.py', _CASES)}:cases"
        done = support.bmc("import", source, "--cases", cases, "--out", self.imported)
        self.assertEqual(done.status, 0, done.err)

    def test_it_agrees_and_says_where_to_look(self) -> None:
        done = support.bmc("verify", "--import", self.imported)
        self.assertEqual(done.status, 0)
        self.assertIn("case 0 output0: ok", done.out)
        self.assertIn("the import is right", done.out)

    def test_a_build_gets_the_results_in_a_file(self) -> None:
        out = self.folder / "verified.txt"
        done = support.bmc("verify", "--import", self.imported, "--out", out)
        self.assertEqual((done.status, done.out), (0, ""))
        self.assertIn("case 0 output0: ok", out.read_text())
        self.assertIn("the import is right", out.read_text())

    def test_an_import_can_leave_the_check_to_it(self) -> None:
        wrong = self.write("wrong.py", _CASES.replace("x + x", "x"))
        source, out = self.folder / "add.mlir", self.folder / "unchecked"
        command = ("import", source, "--cases", f"{wrong}:cases", "--out", out)
        self.assertIn("error[import-disagrees]", support.bmc(*command).err)
        done = support.bmc(*command, "--no-host-check")
        self.assertEqual(done.status, 0, done.err)
        self.assertNotIn("the import is right", done.out)
        result = self.folder / "verified.txt"
        done = support.bmc("verify", "--import", out, "--out", result)
        self.assertIn("error[import-disagrees]", done.err)
        self.assertFalse(result.exists())

    def test_it_also_compares_what_the_target_does_not_carry(self) -> None:
        model = artifacts.load(self.imported)
        x = np.ones(16, np.float32)
        for added, status in ((x, 0), (x + 1, 1)):
            artifacts.save(replace(model, compared_only=(((x,), (x + added,)),)), self.imported)
            self.assertEqual(len(artifacts.load(self.imported).golden.inputs), 1)
            done = support.bmc("verify", "--import", self.imported)
            self.assertEqual(done.status, status, done.err)
            self.assertIn("case 1 output0", done.out)

    def test_a_tolerance_that_everything_meets(self) -> None:
        model = artifacts.load(self.imported)
        golden = replace(model.golden, policies=(Tolerance(1e30, 0.0),))
        artifacts.save(replace(model, golden=golden), self.imported)
        done = support.bmc("verify", "--import", self.imported)
        self.assertEqual((done.status, done.out), (1, ""))
        self.assertIn("error[weak-tolerance]: zeros would pass as output output0", done.err)

    def test_it_blames_the_import_for_other_golden_data(self) -> None:
        model = artifacts.load(self.imported)
        broken = replace(
            model,
            golden=replace(
                model.golden, outputs=_less(model, 1), policies=(Tolerance(1e-4, 1e-4),)
            ),
        )
        checks = verify.run(broken, self.folder / "reproducer")
        self.assertFalse(checks[0].difference.ok)
        self.assertAlmostEqual(checks[0].difference.max_abs, 1.0, places=4)
        with self.assertRaisesRegex(
            BmcError, "the expected outputs: output output0 of case 0 is off by 1, 16 elements"
        ):
            verify.require(broken, checks)
        # All outputs are even.
        quantized = replace(
            broken, int8=True, golden=replace(broken.golden, outputs=_less(model, 4))
        )
        with self.assertRaisesRegex(BmcError, r"is off by 4 \(2 quantization steps\), 16 elements"):
            verify.require(quantized, verify.run(quantized, self.folder / "reproducer"))
        other = self.folder / "wrong"
        other.mkdir()
        (other / artifacts.MODEL_FILE).write_bytes(model.mlir.read_bytes())
        artifacts.save(broken, other)
        done = support.bmc("verify", "--import", other)
        self.assertEqual(done.status, 1)
        self.assertIn("MISMATCH", done.out)
        self.assertIn("error[import-disagrees]", done.err)


if __name__ == "__main__":
    unittest.main()
