"""Tests that an import directory keeps what was imported."""

from __future__ import annotations

import dataclasses
import json
import unittest

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

    def test_what_is_written_can_be_printed(self) -> None:
        path = self.folder / "x.json"
        artifacts.write_json(path, {"\x1bé": ["\x07", {"名": 1.5}]})
        self.assertEqual(json.loads(path.read_text("utf-8")), {"?é": ["?", {"名": 1.5}]})


if __name__ == "__main__":
    unittest.main()
