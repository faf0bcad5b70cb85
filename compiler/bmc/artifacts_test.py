"""Tests that an import directory keeps what was imported."""

from __future__ import annotations

import dataclasses
import json
import os
import unittest

import numpy as np
import support

from bmc import artifacts
from bmc.spec import Exact, IntStep, Tolerance


class ImportDirectoryTest(support.FolderTest):
    def test_policies_survive_the_import_directory(self) -> None:
        for policy, numbers in (
            (IntStep(1, 7), "i32"),
            (Exact(), "f32"),
            (Tolerance(1e-3, 1e-4, 0.5), "f32"),
        ):
            model = support.import_text(support.ADD.replace("f32", numbers), self.folder)
            data = dataclasses.replace(model.golden, policies=(policy,))
            artifacts.save(dataclasses.replace(model, golden=data), self.folder)
            self.assertEqual(artifacts.load(self.folder).golden.policies, (policy,))

    def test_the_first_cases(self) -> None:
        golden = dataclasses.replace(
            support.import_text(support.ADD, self.folder).golden,
            inputs=((np.array(1),), (np.array(2),)),
            outputs=((np.array(3),), (np.array(4),)),
            labels=(0, 1),
            framework_correct=2,
            calls=(artifacts.GoldenCall(0, True), artifacts.GoldenCall(0, False)),
        )
        first = golden.first(1)
        self.assertEqual((first.inputs, first.outputs), (((1,),), ((3,),)))
        self.assertEqual((first.labels, first.framework_correct), (None, 0))
        self.assertEqual(first.calls, (artifacts.GoldenCall(0, True),))
        self.assertIs(golden.first(2), golden)

    def test_what_is_written_can_be_printed(self) -> None:
        path = self.folder / "x.json"
        artifacts.write_json(path, {"\x1bé": ["\x07", {"名": 1.5}]})
        self.assertEqual(json.loads(path.read_text("utf-8")), {"?é": ["?", {"名": 1.5}]})


class DamagedTest(support.FolderTest):
    """An import directory may come from somebody else."""

    def setUp(self) -> None:
        super().setUp()
        x = np.ones(16, np.float32)
        golden = dataclasses.replace(
            support.import_text(support.ADD, self.folder).golden,
            inputs=((x,), (x,)),
            outputs=((x + x,), (x + x,)),
            policies=(Tolerance(1e-3, 1e-4),),
        )
        model = support.import_text(support.ADD, self.folder)
        model = dataclasses.replace(model, golden=golden, compared_only=(((x,), (x + x,)),))
        artifacts.save(model, self.folder)
        self.file = self.folder / artifacts.IMPORT_FILE
        self.json = json.loads(self.file.read_text("utf-8"))
        with np.load(self.folder / artifacts.CASES_FILE) as arrays:
            self.arrays = dict(arrays)
        self.assertEqual(len(self.load(compared=True).compared_only), 1)

    def load(self, *, compared: bool = False) -> artifacts.ImportedModel:
        return artifacts.load(self.folder, compared=compared)

    def refuses_it(self, *parts: str) -> None:
        for compared in (False, True):
            error = self.refuses(
                "not-an-import",
                f"'{self.folder}' is damaged",
                *parts,
                call=lambda compared=compared: self.load(compared=compared),
            )
            self.assertEqual(error.hint, "import the model again")

    def test_json_that_bmc_does_not_write(self) -> None:
        for text, part in (
            ("[]", "import.json is not a JSON object"),
            ("[" * 200_000, "import.json is nested too deeply"),
            ("{", "import.json is not JSON"),
        ):
            self.file.write_text(text, encoding="utf-8")
            self.refuses_it(part)
        for key in self.json.keys() - {"format_version"}:
            self.file.write_text(json.dumps(self.json | {key: {"a": ["b"]}}), encoding="utf-8")
            self.refuses_it(f": {key}")
            left = {name: value for name, value in self.json.items() if name != key}
            self.file.write_text(json.dumps(left), encoding="utf-8")
            self.refuses_it(f": {key} of import.json is missing")

    def test_policies(self) -> None:
        right = self.json["policies"][0]
        for wrong in (
            {"kind": "x"},
            {"atol": float("inf")},
            {"atol": float("nan")},
            {"atol": 1e300},
            {"atol": 10**400},
            {"atol": -1.0},
            {"atol": "1;}"},
            {"rtol": float("nan")},
            {"min_cosine": float("nan")},
            {"min_cosine": 1.5},
            {"min_cosine": -0.5},
            {"more": 1},
            {"kind": "IntStep"},
        ):
            with self.subTest(wrong):
                data = self.json | {"policies": [right | wrong]}
                self.file.write_text(json.dumps(data), encoding="utf-8")
                self.refuses_it()
        step = {"kind": "IntStep", "max_step": 1, "max_differing": 1}
        for policies in ([step], [], [right, right]):
            self.file.write_text(json.dumps(self.json | {"policies": policies}), encoding="utf-8")
            self.refuses_it()

    def test_numbers_of_cases(self) -> None:
        wrongs: tuple[dict[str, object], ...] = (
            {"case_count": 0},
            {"case_count": -1},
            {"case_count": 1},
            {"case_count": 10**9},
            {"compared_count": 0},
            {"compared_count": -1},
            {"labels": [1]},
            {"calls": [{"entry": 0, "reset": True}]},
            {"calls": [{"entry": entry, "reset": True} for entry in (0, 1)]},
            {"calls": [{"entry": entry, "reset": True} for entry in (0, -1)]},
            {"made_up_entries": [0]},
            {"signatures": []},
        )
        for wrong in wrongs:
            with self.subTest(wrong):
                self.file.write_text(json.dumps(self.json | wrong), encoding="utf-8")
                self.refuses_it()

    def test_cases_that_do_not_fit_the_signatures(self) -> None:
        path = self.folder / artifacts.CASES_FILE
        for name in ("in0_0", "out0_1"):
            right = self.arrays[name]
            for wrong in (right[:3], right.reshape(4, 4), right.astype(np.float64), right[:0]):
                np.savez(path, **(self.arrays | {name: wrong}))
                self.refuses_it(f"{name} of cases.npz is not")
        np.savez(path, **(self.arrays | {"in0_9": self.arrays["in0_0"]}))
        self.refuses_it("cases.npz has other cases than import.json says")
        path.write_bytes(path.read_bytes()[:-30])
        self.refuses_it()

    def test_what_is_no_file(self) -> None:
        for name in (artifacts.MODEL_FILE, artifacts.CASES_FILE):
            path = self.folder / name
            right = path.read_bytes()
            for damage in (path.touch, path.mkdir, lambda path=path: os.mkfifo(path)):
                path.unlink()
                damage()
                self.refuses_it(f"{name} is missing, empty or no file")
                if path.is_dir():
                    path.rmdir()
                    path.touch()
            path.unlink()
            self.refuses_it(f"{name} is missing, empty or no file")
            path.write_bytes(right)
        self.load()


if __name__ == "__main__":
    unittest.main()
