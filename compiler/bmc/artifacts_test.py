"""Tests that an import directory keeps what was imported."""

from __future__ import annotations

import dataclasses
import json
import unittest

import numpy as np
import support

from bmc import artifacts
from bmc.spec import Exact, IntStep, Tolerance


class ImportDirectoryTest(support.FolderTest):
    def test_policies_survive_the_import_directory(self) -> None:
        model = support.import_text(support.ADD, self.folder)
        for policy in (IntStep(1, 7), Exact(), Tolerance(1e-3, 1e-4, 0.5)):
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


if __name__ == "__main__":
    unittest.main()
