"""What an export may write to, and what it leaves there."""

from __future__ import annotations

import json
import os
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

    def test_a_file_to_copy_that_is_missing_is_named_and_nothing_is_left(self) -> None:
        missing = self.scratch / "runtime" / "LICENSE"
        with self.assertRaisesRegex(BmcError, f"'{missing}', which an export copies, is missing"):
            folder.write(self.folder, {"a": "text", "LICENSE": missing})
        self.assertFalse(self.folder.exists())

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

    def test_nothing_is_written_or_removed_through_links(self) -> None:
        victims = self.scratch / "victims"
        victims.mkdir()
        (victims / "precious").write_text("kept")
        files = {"README.md": "new", "src/mlp/plan.c": "new"}
        for number, (place, target) in enumerate((
            ("old", "."),
            ("src", "."),
            ("src/mlp", "."),
            ("README.md", "precious"),
            ("README.md", "none"),
        )):  # fmt: skip
            with self.subTest(place=place, target=target):
                self.folder = self.scratch / str(number)
                link = self.folder / place
                link.parent.mkdir(parents=True)
                link.symlink_to(Path(os.path.relpath(victims, link.parent), target))
                manifest = {"files": ["old/precious", "a"]}
                (self.folder / folder.MANIFEST).write_text(json.dumps(manifest))
                (self.folder / "a").write_text("earlier")
                with self.assertRaisesRegex(
                    BmcError, f"'{link}' is a link, which may lead elsewhere\n  hint: name a new"
                ):
                    folder.write(self.folder, files)
                self.assertEqual((self.folder / "a").read_text(), "earlier")
                found = {path.name: path.read_text() for path in victims.iterdir()}
                self.assertEqual(found, {"precious": "kept"})
                # Negative control: it is the link that is refused.
                link.unlink()
                folder.write(self.folder, files)
                self.assertEqual(self.found(), {*files, folder.MANIFEST})

    def test_a_link_for_the_manifest_is_refused(self) -> None:
        self.folder.mkdir(parents=True)
        other = self.scratch / "other"
        other.write_text('{"files": []}')
        (self.folder / folder.MANIFEST).symlink_to(other)
        self.refuses("is a link, which may lead elsewhere", "a new folder")
        self.assertEqual(other.read_text(), '{"files": []}')

    def test_a_second_name_of_a_file_elsewhere_is_not_written_through(self) -> None:
        folder.write(self.folder, {"a": "1"})
        other = self.scratch / "other"
        (self.folder / "a").rename(other)
        (self.folder / "a").hardlink_to(other)
        folder.write(self.folder, {"a": "2"})
        self.assertEqual((other.read_text(), (self.folder / "a").read_text()), ("1", "2"))

    def test_files_and_folders_that_changed_places(self) -> None:
        folder.write(self.folder, {"a": "1", "b/c": "1"})
        for place, files, sentence in (
            ("a", {"a/d": "2"}, "is a file, where an export has a folder"),
            ("b", {"b": "2"}, "is a folder, where an export has a file"),
        ):
            with self.assertRaisesRegex(
                BmcError, f"{place}' {sentence}\n  hint: name a new folder"
            ):
                folder.write(self.folder, {**files, "c": "3"})
            self.assertEqual(self.found(), {"a", "b/c", folder.MANIFEST})

    def test_a_damaged_manifest_is_refused(self) -> None:
        self.folder.mkdir(parents=True)
        names = ('{"files": ["a\\u0000b"]}', '{"files": ["\\ud800"]}')
        for text in ("{", "[]", "{}", '{"files": 1}', "[" * 100_000, *names):
            (self.folder / folder.MANIFEST).write_text(text)
            self.refuses("is damaged", "a new folder")


if __name__ == "__main__":
    unittest.main()
