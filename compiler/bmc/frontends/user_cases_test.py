"""Other inputs than a model's own cases."""

from __future__ import annotations

import os
import pickle
import unittest
from pathlib import Path

import numpy as np
import support

from bmc import artifacts, spec
from bmc.errors import BmcError
from bmc.frontends import import_model, user_cases
from bmc.frontends.options import ImportOptions

_ADD = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.add %a, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""
_CASE: spec.Case = (np.zeros(3, np.float32),)


class UserCasesTest(support.FolderTest):
    def saved(self, **arrays: object) -> Path:
        path = self.folder / f"inputs{len(list(self.folder.iterdir()))}.npz"
        np.savez(path, **arrays)  # type: ignore[arg-type]
        return path

    def test_every_case_has_all_inputs(self) -> None:
        a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
        cases = user_cases.read(self.saved(**{"0": a, "1": np.array([5, 6], np.int8)}))
        self.assertEqual([len(case) for case in cases], [2, 2])
        np.testing.assert_array_equal(cases[1][0], a[1])
        self.assertEqual((cases[1][1].shape, cases[1][1].dtype, cases[1][1]), ((), np.int8, 6))

    def test_they_replace_the_cases_of_a_factory_and_its_labels(self) -> None:
        model = spec.ModelSpec(None, (_CASE,), (), labels=np.array([1]), calibration=(_CASE,))
        options = ImportOptions(inputs=self.saved(**{"0": np.ones((4, 3), np.float32)}))
        found = user_cases.of_factory(model, options)
        self.assertEqual((len(found.cases), found.labels), (4, None))
        # Another calibration would be another model.
        self.assertEqual(found.calibration, (_CASE,))
        self.assertIs(user_cases.of_factory(model, ImportOptions()), model)

    def test_a_case_of_calls_is_a_sequence_after_a_reset(self) -> None:
        model = spec.ModelSpec(None, (), (), calls=(spec.Call("step", ()),))
        prompt = np.arange(6).reshape(2, 1, 3)
        x = np.arange(8).reshape(2, 4)
        options = ImportOptions(inputs=self.saved(**{"1.step.0": x, "0.fill.0": prompt}))
        calls = user_cases.of_calls(model, options)
        self.assertIs(user_cases.of_factory(model, options), model)
        self.assertEqual([c.entry for c in calls], ["fill", *["step"] * 4] * 2)
        self.assertEqual([c.reset for c in calls], [True, *[False] * 4] * 2)
        np.testing.assert_array_equal(calls[5].inputs[0], prompt[1, 0])
        self.assertEqual(calls[9].inputs[0], 7)
        self.assertIs(user_cases.of_calls(model, ImportOptions()), model.calls)

    def test_wrong_files_of_calls_are_named(self) -> None:
        model = spec.ModelSpec(None, (), (), calls=(spec.Call("step", ()),))
        for arrays, message in (
            ({"0": np.ones((1, 1))}, "PART.ENTRY.INPUT"),
            ({"0.step.1": np.ones((1, 1))}, "PART.ENTRY.INPUT"),
            ({"0.step.0": np.ones((1, 1)), "0.step.1": np.ones((1, 2))}, "cases or steps"),
            ({"0.step.0": np.ones((1, 1)), "1.step.0": np.ones((2, 1))}, "cases or steps"),
            ({"0.step.0": np.ones(())}, "an array without cases"),
            ({"0.step.0": np.ones(3)}, "an array without cases"),
            ({"0.step.0": np.ones((0, 1))}, "an array without cases"),
            ({"0.step.0": np.ones((1, 0))}, "an array without cases"),
            ({}, "cases or steps"),
        ):
            options = ImportOptions(inputs=self.saved(**arrays))
            with self.subTest(message), self.assertRaisesRegex(BmcError, message):
                user_cases.of_calls(model, options)

    def test_mlir_is_computed_on_this_machine(self) -> None:
        a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
        b = np.arange(6, dtype=np.float32).reshape(2, 3)
        path = self.folder / "add.mlir"
        path.write_text(_ADD)
        options = ImportOptions(inputs=self.saved(**{"0": a, "1": b}))
        model = import_model(str(path), options, self.folder / "out")
        self.assertEqual(model.golden.source, artifacts.GOLDEN_IREE_HOST)
        np.testing.assert_array_equal(np.stack(model.golden.outputs)[:, 0], a + b[:, None])

    def test_wrong_files_are_named(self) -> None:
        damaged = self.folder / "damaged.npz"
        damaged.write_bytes(b"PK\x03\x04")
        pickled, fifo = self.folder / "pickled.npz", self.folder / "fifo.npz"
        pickled.write_bytes(pickle.dumps({"0": 1}))
        os.mkfifo(fifo)
        for path, message in (
            (self.saved(), "has \\[\\] cases"),
            (self.saved(x=np.ones(3)), "no file of inputs"),
            (self.saved(**{"0": np.ones(())}), "has \\[0\\] cases"),
            (self.saved(**{"0": np.ones(3), "1": np.ones(4)}), "has \\[3, 4\\] cases"),
            (damaged, "no file of inputs"),
            (self.folder / "missing.npz", "no file of inputs"),
            (pickled, "inputs: it has Python objects, or nothing of NumPy's\\n"),
            (fifo, "inputs: it is no ordinary file"),
        ):
            with self.subTest(message), self.assertRaisesRegex(BmcError, message):
                user_cases.read(path)
        path = self.saved(**{"0": np.ones((1, 2)), "1": np.ones((1, 3), np.float32)})
        model = self.folder / "add.mlir"
        model.write_text(_ADD)
        with self.assertRaisesRegex(BmcError, "input"):
            import_model(str(model), ImportOptions(inputs=path), self.folder / "out")


if __name__ == "__main__":
    unittest.main()
