"""The cache: complete or absent, one caller at a time, even if a process is killed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from third_party.debian.errors import AptError
from tools.launcher.cache import (
    cache_dir,
    fill_once,
    keep,
    locked,
    private_folder,
    warn_of_small_disk,
    write_whole,
)
from tools.launcher.errors import LauncherError

# A caller in its own process: takes the lock, fills "thing" until told to continue, and counts that it
# did.
_CALLER = """
import sys, time
from pathlib import Path
from tools.launcher.cache import fill_once, locked
cache = Path(sys.argv[1])
def fill(work):
    (work / "part").write_text("1")
    with (cache / "fills").open("a") as file:
        file.write("x")
    while not (cache / "go").exists():
        time.sleep(0.01)
    (work / "rest").write_text("2")
with locked(cache):
    fill_once(cache / "thing", fill)
"""


def start(cache: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", _CALLER, str(cache)],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(path: Path, caller: subprocess.Popen[str]) -> None:
    while not path.exists():
        if caller.poll() is not None:
            raise AssertionError(f"the caller ended without {path}: {caller.communicate()[1]}")
        time.sleep(0.01)


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)

    def test_two_callers_fill_once_and_the_second_says_that_it_waits(self) -> None:
        with start(self.cache) as first:
            wait_for(self.cache / "fills", first)
            with start(self.cache) as second:
                assert second.stderr is not None
                self.assertIn("waiting for another tools/bazel", second.stderr.readline())
                (self.cache / "go").touch()
                self.assertEqual(first.communicate()[1], "")
                self.assertEqual(second.communicate()[1], "")
        self.assertEqual((first.returncode, second.returncode), (0, 0))
        self.assertEqual((self.cache / "fills").read_text(), "x")
        self.assertEqual((self.cache / "thing/rest").read_text(), "2")

    def test_a_killed_fill_leaves_nothing_that_looks_finished(self) -> None:
        with start(self.cache) as killed:
            wait_for(self.cache / "fills", killed)
            killed.kill()
        self.assertFalse((self.cache / "thing").exists())
        (self.cache / "go").touch()
        with start(self.cache) as again:
            self.assertEqual(again.communicate()[1], "", "a dead caller's lock is nobody's")
        self.assertEqual(again.returncode, 0)
        self.assertEqual((self.cache / "thing/rest").read_text(), "2")
        self.assertEqual(
            list(self.cache.glob(".thing.*")), [], "what the killed one left is swept up"
        )

    def test_a_failed_fill_leaves_nothing(self) -> None:
        def fill(work: Path) -> None:
            (work / "part").write_text("1")
            raise LauncherError("no luck")

        with self.assertRaisesRegex(LauncherError, "no luck"):
            fill_once(self.cache / "thing", fill)
        self.assertEqual(list(self.cache.iterdir()), [])

    def test_a_full_disk_is_named_with_what_is_needed(self) -> None:
        sentence = rf"The disk of {self.cache} is full: thing needs 7 MB there and \d+ MB are free"
        for error in (
            OSError(28, "No space left on device"),
            AptError("unpacking a.deb failed: tar: b: Cannot write: No space left on device."),
            AptError("unpacking a.deb failed: tar: ./b: Wrote only 5120 of 10240 bytes."),
            AptError("`apt-get download` failed: You don't have enough free space in /c/."),
        ):

            def fill(_work: Path, error: Exception = error) -> None:
                raise error

            with self.assertRaisesRegex(LauncherError, sentence):
                fill_once(self.cache / "thing", fill, megabytes=7)
            self.assertEqual(list(self.cache.iterdir()), [])

    def test_other_errors_are_not_taken_for_a_full_disk(self) -> None:
        def fill(_work: Path) -> None:
            raise OSError(5, "Input/output error")

        with self.assertRaisesRegex(LauncherError, "thing could not be written .*Input/output"):
            fill_once(self.cache / "thing", fill)

    def test_nothing_is_begun_without_room_for_it(self) -> None:
        usage = mock.Mock(free=5_999_999)
        with (
            mock.patch("shutil.disk_usage", return_value=usage),
            self.assertRaisesRegex(LauncherError, "thing needs 6 MB there and 5 MB are free"),
        ):
            fill_once(self.cache / "thing", lambda _work: self.fail("begun"), megabytes=6)

    def test_a_disk_too_small_for_the_first_command_is_said_beforehand(self) -> None:
        for free, said in ((4_399_999_999, 1), (4_400_000_000, 0)):
            with (
                mock.patch("shutil.disk_usage", return_value=mock.Mock(free=free)),
                mock.patch("tools.launcher.cache.say") as say,
            ):
                warn_of_small_disk(self.cache)
            self.assertEqual(say.call_count, said)

    def test_without_a_home_it_says_what_to_set(self) -> None:
        with (
            mock.patch.dict(os.environ, clear=True),
            self.assertRaisesRegex(LauncherError, "set HOME or XDG_CACHE_HOME"),
        ):
            cache_dir()

    def test_a_home_with_a_line_break_is_refused(self) -> None:
        with (
            mock.patch.dict(os.environ, {"HOME": f"{self.cache}/a\nb"}, clear=True),
            self.assertRaisesRegex(LauncherError, "a line break in the cache folder's name"),
        ):
            cache_dir()

    def test_it_is_made_for_its_user_alone_whatever_the_umask_is(self) -> None:
        base = self.cache / "new/base"
        self.addCleanup(os.umask, os.umask(0))
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(base)):
            made = cache_dir()
        for folder in (made, base, base.parent):
            self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)

    def folder_of_mode(self, mode: int) -> Path:
        """A cache folder that is there already, in a base that XDG_CACHE_HOME names."""
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.cache)))
        folder = self.cache / "ironcast"
        folder.mkdir()
        folder.chmod(mode)
        return folder

    def test_a_folder_that_others_can_write_is_refused_with_the_command_that_mends_it(self) -> None:
        folder = self.folder_of_mode(0o755)
        self.assertEqual(cache_dir(), folder)
        for mode in (0o775, 0o757, 0o777):
            folder.chmod(mode)
            said = rf"^The cache folder {folder} can be written by others \(mode {mode:o}\), .*`chmod go-w {folder}`"
            with self.assertRaisesRegex(LauncherError, said):
                cache_dir()
        subprocess.run(["chmod", "go-w", folder], check=True)
        self.assertEqual(cache_dir(), folder)

    def test_a_folder_of_another_user_is_refused(self) -> None:
        folder = self.folder_of_mode(0o755)
        with (
            mock.patch("os.geteuid", return_value=os.geteuid() + 1),
            self.assertRaisesRegex(
                LauncherError, rf"^The cache folder {folder} belongs to another user: remove it, or"
            ),
        ):
            cache_dir()

    def test_a_link_is_followed_unless_its_target_is_refused(self) -> None:
        (self.cache / "base").mkdir()
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.cache / "base")))
        target = self.cache / "target"
        target.mkdir(0o700)
        (self.cache / "base/ironcast").symlink_to(target)
        self.assertTrue(cache_dir().samefile(target))
        target.chmod(0o777)
        with self.assertRaisesRegex(LauncherError, "can be written by others"):
            cache_dir()

    def test_another_users_link_to_a_folder_of_ones_own_is_refused(self) -> None:
        folder = self.folder_of_mode(0o700)
        link, own = mock.Mock(st_uid=os.geteuid() + 1), folder.stat()
        with (
            mock.patch.object(Path, "lstat", return_value=link),
            mock.patch.object(Path, "stat", return_value=own),
            self.assertRaisesRegex(LauncherError, "belongs to another user"),
        ):
            cache_dir()

    def test_ones_own_link_to_a_folder_of_another_user_is_refused(self) -> None:
        folder = self.folder_of_mode(0o700)
        own, target = folder.lstat(), mock.Mock(st_uid=os.geteuid() + 1, st_mode=0o40700)
        with (
            mock.patch.object(Path, "lstat", return_value=own),
            mock.patch.object(Path, "stat", return_value=target),
            self.assertRaisesRegex(LauncherError, "belongs to another user"),
        ):
            cache_dir()

    def test_a_private_folder_is_closed_unless_others_could_write_there(self) -> None:
        folder = private_folder(self.cache / "private")
        folder.chmod(0o755)
        self.assertEqual(stat.S_IMODE(private_folder(folder).stat().st_mode), 0o700)
        folder.chmod(0o777)
        with self.assertRaisesRegex(LauncherError, rf"^{folder} can be written by others"):
            private_folder(folder)
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o777)

    def test_a_lock_keeps_what_it_has_and_a_link_in_its_place_is_refused(self) -> None:
        victim = self.cache / "victim"
        victim.write_text("precious")
        (self.cache / "link").symlink_to(victim)
        with (
            self.assertRaisesRegex(LauncherError, "link is a link and not a lock: remove it"),
            locked(self.cache, "link"),
        ):
            self.fail("locked")
        with locked(self.cache, "victim"):
            pass
        self.assertEqual(victim.read_text(), "precious")

    def test_a_file_is_kept_only_with_its_content_and_no_link_is_followed(self) -> None:
        file, victim = self.cache / "file", self.cache / "victim"
        keep(file, b"mine")
        before = file.stat().st_ino
        keep(file, b"mine")
        self.assertEqual(file.stat().st_ino, before)
        file.write_bytes(b"other")
        keep(file, b"mine")
        self.assertEqual(file.read_bytes(), b"mine")
        victim.write_bytes(b"mine")
        for name in ("file", f".file.{os.getpid()}"):
            (self.cache / name).unlink(missing_ok=True)
            (self.cache / name).symlink_to(victim)
        keep(file, b"mine")
        self.assertFalse(file.is_symlink())
        write_whole(file, b"new")
        self.assertEqual((file.read_bytes(), victim.read_bytes()), (b"new", b"mine"))

    def test_a_file_is_whole_although_several_write_it(self) -> None:
        code = (
            "import sys\nfrom pathlib import Path\nfrom tools.launcher.cache import write_whole\n"
            "for _ in range(300): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 100_000)\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        file = self.cache / "file"
        writers = [
            subprocess.Popen([sys.executable, "-c", code, str(file), letter], env=env)
            for letter in "ab"
        ]
        while any(writer.poll() is None for writer in writers):
            if file.exists():
                self.assertIn(file.read_bytes(), (b"a" * 100_000, b"b" * 100_000))
        self.assertEqual([writer.returncode for writer in writers], [0, 0])
        self.assertEqual(list(self.cache.iterdir()), [file])

    def test_a_file_for_which_there_is_no_room_leaves_nothing(self) -> None:
        (self.cache / "file").mkdir()
        with self.assertRaises(OSError):
            write_whole(self.cache / "file", b"data")
        self.assertEqual(list(self.cache.iterdir()), [self.cache / "file"])

    def test_a_cache_that_cannot_be_made_is_named(self) -> None:
        (self.cache / "file").write_text("")
        env = {"XDG_CACHE_HOME": str(self.cache / "file")}
        with (
            mock.patch.dict(os.environ, env, clear=True),
            self.assertRaisesRegex(LauncherError, "file/ironcast cannot be created"),
        ):
            cache_dir()

    def test_the_lock_is_free_after_use(self) -> None:
        for _ in range(2):
            with locked(self.cache):
                pass


if __name__ == "__main__":
    unittest.main()
