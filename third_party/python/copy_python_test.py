"""Tests for copy_python.py."""

import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from third_party.python import copy_python


def digests(folder: Path) -> dict[Path, str]:
    """Path -> hash of what every file below `folder` contains."""
    return {
        file.relative_to(folder): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


class CopyPythonTest(unittest.TestCase):
    def test_copies_are_the_same_and_run_where_they_are(self) -> None:
        folders = [Path(self.enterContext(tempfile.TemporaryDirectory())) / name for name in "ab"]
        for folder in folders:
            python = copy_python.copy(folder)
            code = "import ctypes, hashlib, sys, zlib; print(sys.prefix, *sys.path)"
            shown = subprocess.run(
                [python, "-I", "-c", code], env={}, check=True, capture_output=True, text=True
            )
            for path in shown.stdout.split():
                self.assertTrue(path.startswith(f"{folder}"), path)
        first, second = map(digests, folders)
        self.assertGreater(len(first), 500)
        self.assertEqual(first, second)

        changed = next((folders[0] / "lib").glob("python3.*/os.py"))
        changed.chmod(0o644)  # the store is not to be written to
        changed.write_text("# Changed.\n")
        self.assertNotEqual(digests(folders[0]), second)

    def test_the_key_is_of_this_python_and_its_library(self) -> None:
        before = copy_python.key()
        self.assertEqual(copy_python.key(), before)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(Path(os.__file__).parent / "json", Path(folder, "json"))
            with mock.patch("sysconfig.get_path", return_value=folder):
                keys = [copy_python.key()]
                for name, left_out in (("test/x.py", True), ("json/x.py", False)):
                    file = Path(folder, name)
                    file.parent.mkdir(exist_ok=True)
                    file.touch()
                    keys.append(copy_python.key())
                    self.assertEqual(keys[-1] == keys[-2], left_out)


if __name__ == "__main__":
    unittest.main()
