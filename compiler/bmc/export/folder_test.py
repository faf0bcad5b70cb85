"""What an export may write to, and what it leaves there."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path

from bmc.errors import BmcError
from bmc.export import folder


class FolderTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.folder = self.scratch / "new" / "folder"

    def found(self) -> set[str]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix() for path in files}

    def refuses(self, sentence: str, instead: str = "") -> None:
        before = self.found()
        with self.assertRaisesRegex(BmcError, f"{sentence}\n  hint: name {instead}"):
            folder.write(self.folder, {"a": "new"})
        self.assertEqual(self.found(), before)

    def test_files_are_written_and_copied(self) -> None:
        original = self.scratch / "original"
        original.write_bytes(b"\0\xff")
        folder.write(self.folder, {"a/b": original, "c": "text"})
        self.assertEqual(self.found(), {"a/b", "c", folder.MANIFEST})
        self.assertEqual((self.folder / "a/b").read_bytes(), b"\0\xff")

    def test_an_earlier_export_is_brought_up_to_date(self) -> None:
        folder.write(self.folder, {"old/a": "1", "b": "1"})
        (self.folder / "mine").write_text("kept")
        folder.write(self.folder, {"b": "2", "c": "2"})
        self.assertEqual(self.found(), {"b", "c", "mine", folder.MANIFEST})
        self.assertFalse((self.folder / "old").exists())
        self.assertEqual((self.folder / "b").read_text(), "2")

    def test_somebody_elses_folder_is_left_alone(self) -> None:
        self.folder.mkdir(parents=True)
        (self.folder / "mine").write_text("kept")
        self.refuses("holds something else", "a new or empty folder")

    def test_a_file_is_no_folder(self) -> None:
        self.folder.parent.mkdir()
        self.folder.write_text("kept")
        self.refuses("holds something else")
        self.assertEqual(self.folder.read_text(), "kept")

    def test_nothing_elsewhere_is_removed(self) -> None:
        victim = self.scratch / "victim"
        victim.write_text("kept")
        for place in (str(victim), "../../victim"):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / folder.MANIFEST).write_text(json.dumps({"files": [place]}))
            self.refuses("names files elsewhere")
        self.assertTrue(victim.exists())

    def test_a_damaged_manifest_is_refused(self) -> None:
        self.folder.mkdir(parents=True)
        for text in ("{", "[]", "{}", '{"files": 1}'):
            (self.folder / folder.MANIFEST).write_text(text)
            self.refuses("is damaged", "a new folder")


if __name__ == "__main__":
    unittest.main()
