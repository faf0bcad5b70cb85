"""The store: entries appear whole, once, and output bases keep what they have of them."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import store
from tools.launcher.errors import LauncherError
from tools.launcher.main import collect

# Another process that fills the same entry, slowly.
_OTHER = """
import sys, time
from pathlib import Path
from tools.launcher import store
def fill(work):
    (work / "begun").touch()
    (Path(sys.argv[1]) / "begun").touch()
    while not (Path(sys.argv[1]) / "go").exists():
        time.sleep(0.01)
    (work / "file").write_text("other")
store.provide("thing", "1", fill, Path(sys.argv[1], "other"))
"""


class Store(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.packages = self.folder / "cache/ironcast/packages"
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache")))
        self.fills = 0

    def fill(self, work: Path) -> None:
        self.fills += 1
        (work / "bin").mkdir()
        (work / "bin/program").write_text("program")
        (work / "bin/program").chmod(0o755)
        (work / "link").symlink_to("bin/program")

    def provide(self, name: str, key: str = "1") -> Path:
        store.provide("thing", key, self.fill, self.folder / name)
        return self.folder / name

    def test_it_is_filled_once_and_the_files_are_the_same(self) -> None:
        first, second = self.provide("first"), self.provide("second")
        self.assertEqual(self.fills, 1)
        self.assertTrue((first / "bin/program").samefile(second / "bin/program"))
        self.assertEqual(os.readlink(second / "link"), "bin/program")
        self.provide("third", "2")
        self.assertEqual(self.fills, 2)

    def test_only_its_user_can_enter_it_and_files_are_not_for_writing(self) -> None:
        file = self.provide("first") / "bin/program"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o555)
        self.assertEqual(stat.S_IMODE(self.packages.stat().st_mode), 0o700)

    def test_what_an_output_base_has_stays_without_the_store(self) -> None:
        first = self.provide("first")
        with mock.patch("time.time", return_value=time.time() + 31 * 24 * 3600):
            store.collect()
        self.assertEqual([path.name for path in self.packages.glob("thing*")], [])
        self.assertEqual((first / "bin/program").read_text(), "program")

    def test_what_was_asked_for_lately_stays_and_what_was_killed_goes(self) -> None:
        self.provide("first")
        (self.packages / ".thing-2.killed").mkdir()
        (self.packages / "uv/archive").mkdir(parents=True)
        for later, names in ((0, {"thing-1", "uv"}), (2 * 24 * 3600, {"thing-1"})):
            with mock.patch("time.time", return_value=time.time() + later):
                store.collect()
            self.assertEqual({p.name for p in self.packages.iterdir() if p.is_dir()}, names)

    def test_where_files_cannot_be_linked_they_are_copied(self) -> None:
        with mock.patch("os.link", side_effect=OSError(18, "Invalid cross-device link")):
            first = self.provide("first")
        self.assertEqual((first / "bin/program").read_text(), "program")
        self.assertEqual((first / "bin/program").stat().st_nlink, 1)
        self.assertEqual(os.readlink(first / "link"), "bin/program")

    def test_without_a_folder_for_it_everybody_has_their_own(self) -> None:
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            first, second = self.provide("first"), self.provide("second")
        self.assertEqual(self.fills, 2)
        self.assertFalse((first / "bin/program").samefile(second / "bin/program"))

    def test_what_is_no_entry_is_replaced(self) -> None:
        foreign = self.folder / "foreign"
        foreign.mkdir()
        (foreign / "planted").touch()
        entry = self.packages / "thing-1"
        self.provide("first")

        def link() -> None:
            entry.symlink_to(foreign)

        for number, make in enumerate((link, entry.mkdir, entry.touch)):
            shutil.rmtree(entry) if not entry.is_symlink() else entry.unlink()
            make()
            self.assertFalse(store.has(entry))
            mine = self.provide(f"again{number}")
            self.assertEqual(sorted(p.name for p in mine.iterdir()), ["bin", "link"])
            self.assertFalse(entry.is_symlink())
            self.assertTrue(store.has(entry))
        self.assertTrue((foreign / "planted").exists())

    def test_an_entry_of_another_user_is_replaced(self) -> None:
        self.provide("first")
        entry = self.packages / "thing-1"
        (entry / "planted").touch()
        real, other = Path.lstat, mock.Mock(st_mode=stat.S_IFDIR | 0o755, st_uid=os.geteuid() + 1)

        def lstat(path: Path) -> os.stat_result | mock.Mock:
            return other if path == entry else real(path)

        with mock.patch.object(Path, "lstat", lstat):
            mine = self.provide("second")
        self.assertEqual(sorted(p.name for p in mine.iterdir()), ["bin", "link"])
        self.assertEqual(self.fills, 2)

    def test_a_folder_that_others_could_write_is_not_used_and_that_is_said(self) -> None:
        self.provide("first")
        with mock.patch("tools.launcher.store.say") as say:
            store.check()
            say.assert_not_called()
            self.packages.chmod(0o777)
            store.check()
        self.assertRegex(say.call_args[0][0], "not shared .*packages can be written by others")
        self.provide("second")
        self.assertEqual(self.fills, 2)

    def test_a_collection_leaves_alone_what_it_cannot_use(self) -> None:
        self.provide("first")
        (self.packages / "thing-2").symlink_to("/nonexistent")
        with mock.patch("time.time", return_value=time.time() + 31 * 24 * 3600):
            with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
                store.collect()
            self.assertTrue((self.packages / "thing-1").exists())
            store.collect()
        self.assertFalse((self.packages / "thing-1").exists())

    def test_a_collection_that_fails_is_said_and_stops_nothing(self) -> None:
        disk = mock.Mock()
        disk.collect.side_effect = PermissionError(13, "Permission denied", "/x")
        with (
            mock.patch.object(store, "collect", side_effect=LauncherError("no luck")),
            mock.patch("tools.launcher.main.say") as say,
        ):
            collect(disk)
        said = [call[0][0] for call in say.call_args_list]
        self.assertEqual(len(said), 2)
        self.assertRegex(said[0], "what was not used for long stays: no luck")
        self.assertRegex(said[1], "what was not used for long stays: .*Permission denied")

    def test_a_fill_that_fails_leaves_nothing(self) -> None:
        def fails(work: Path) -> None:
            self.fill(work)
            raise LauncherError("no luck")

        with self.assertRaisesRegex(LauncherError, "no luck"):
            store.provide("thing", "1", fails, self.folder / "first")
        self.assertEqual(list(self.packages.glob("*thing*1*")), [])
        self.provide("first")

    def test_two_at_once_fill_once_and_nothing_is_collected_meanwhile(self) -> None:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", _OTHER, str(self.folder)]
        with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as other:
            while not (self.folder / "begun").exists():
                self.assertIsNone(other.poll())
                time.sleep(0.01)
            store.collect()
            (self.folder / "go").touch()
            mine = self.provide("mine")
            self.assertEqual(other.communicate()[1], "")
        self.assertEqual(self.fills, 0)
        self.assertEqual((mine / "file").read_text(), "other")

    def test_a_key_depends_on_values_and_on_the_content_of_files(self) -> None:
        file = self.folder / "file"
        keys = []
        for text in ("a", "b"):
            file.write_text(text)
            keys += [store.key(file, 1), store.key(file, "1"), store.key(file), store.key(1, file)]
        self.assertEqual(len(set(keys)), len(keys))
        self.assertEqual(keys[-1], store.key(1, file))


if __name__ == "__main__":
    unittest.main()
