"""A model's Python file is read as it is now."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from unittest import mock

import support

from bmc import factory


@mock.patch.object(sys, "dont_write_bytecode", False)
class FactoryTest(support.FolderTest):
    def model(self, value: int) -> Path:
        """Writes a model of always one length and time."""
        path = self.write("model.py", f"def make():\n    return {value}\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        return path

    def test_a_file_of_the_same_length_and_time(self) -> None:
        for value in (1, 2):
            self.assertEqual(factory.call(f"{self.model(value)}:make", int), value)

    def test_nothing_is_left_beside_the_model(self) -> None:
        path = self.model(1)
        factory.call(f"{path}:make", int)
        self.assertEqual(list(self.folder.iterdir()), [path])


if __name__ == "__main__":
    unittest.main()
