"""A model's Python file is read as it is now, and leaves nothing in the process."""

from __future__ import annotations

import os
import sys
import unittest
from pathlib import Path
from unittest import mock

import support

from bmc import factory
from bmc.errors import BmcError


@mock.patch.object(sys, "dont_write_bytecode", False)
class FactoryTest(support.FolderTest):
    def model(self, value: int) -> Path:
        """Writes a model file that always has the same length and time."""
        path = self.write("model.py", f"def make():\n    return {value}\n")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        return path

    def test_a_file_of_the_same_length_and_time(self) -> None:
        for value in (1, 2):
            with factory.called(f"{self.model(value)}:make", int) as made:
                self.assertEqual(made, value)

    def test_nothing_is_left_beside_the_model(self) -> None:
        path = self.model(1)
        with factory.called(f"{path}:make", int):
            pass
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_the_next_model_has_its_own_neighbors(self) -> None:
        for value in (1, 2):
            folder = self.folder / str(value)
            (folder / "package").mkdir(parents=True)
            (folder / "package/__init__.py").write_text("from package import part\n")
            (folder / "package/part.py").write_text(f"VALUE = {value}\n")
            source = "import package\ndef make():\n    return package.part.VALUE\n"
            (folder / "model.py").write_text(source)
            with factory.called(f"{folder / 'model.py'}:make", int) as made:
                self.assertEqual(made, value)
                # Frameworks look up modules like this while they export a model.
                self.assertEqual(sys.modules["package.part"].VALUE, value)
                self.assertEqual(sys.modules["model"].make(), value)
            self.assertFalse({"model", "package", "package.part"} & sys.modules.keys())

    def test_the_process_is_as_before(self) -> None:
        """Even if the file has another module's name, adds folders to the search path, or fails."""
        import json

        installed = self.folder / "venv/site-packages"
        installed.mkdir(parents=True)
        (installed / "installed_by_the_user.py").touch()
        lines = (
            f"import sys\nsys.path.insert(0, {str(installed)!r})\nimport installed_by_the_user\n"
        )
        path = self.write("json.py", lines + "def make():\n    return 3\ndef fail():\n    1 / 0\n")
        before = list(sys.path)
        with factory.called(f"{path}:make", int):
            self.assertIsNot(sys.modules["json"], json)
            self.assertNotIn(str(self.folder), sys.path)
        self.assertIs(sys.modules["json"], json)
        self.assertEqual(sys.path, before)
        # A library remains loaded, because frameworks cannot be loaded twice.
        self.assertIsNotNone(sys.modules.pop("installed_by_the_user", None))
        with self.assertRaises(BmcError), factory.called(f"{path}:fail", int):
            pass
        self.assertIs(sys.modules["json"], json)
        self.assertEqual(sys.path, before)


if __name__ == "__main__":
    unittest.main()
