"""The disk cache: whose it is, how large it gets, and that nobody collects under a build."""

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

from tools.launcher.disk_cache import VARIABLE, DiskCache, limit_of, open_cache
from tools.launcher.errors import LauncherError

# A launcher that becomes another program, as it becomes Bazel.
_BUILD = """
import os, sys
from pathlib import Path
from tools.launcher.disk_cache import open_cache
disk = open_cache(Path(sys.argv[1]), 1)
disk.hold()
os.execv("/bin/sh", ["sh", "-c", "echo builds; read wait"])
"""


class Size(unittest.TestCase):
    def test_it_is_in_gigabytes(self) -> None:
        self.assertEqual(limit_of({VARIABLE: "0.5"}), 500_000_000)
        self.assertEqual(limit_of({VARIABLE: ""}), limit_of({}))

    def test_what_is_no_size_is_refused(self) -> None:
        for said in ("many", "-1", "inf", "nan", "5G"):
            with self.assertRaisesRegex(LauncherError, f"{VARIABLE} is '{said}'"):
                limit_of({VARIABLE: said})

    def test_zero_is_no_cache(self) -> None:
        self.assertIsNone(open_cache(Path("/nowhere"), limit_of({VARIABLE: "0"})))


class Cache(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)
        self.disk = self.open(100_000)

    def open(self, limit: int) -> DiskCache:
        disk = open_cache(self.cache, limit)
        assert disk
        self.addCleanup(os.close, disk.lock)
        return disk

    def put(self, name: str, age: int, size: int = 50_000) -> Path:
        """Writes a file that was used last `age` seconds ago."""
        path = self.disk.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(size))
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    def taken(self) -> int:
        """What `du` says."""
        done = subprocess.run(
            ["du", "-s", "--block-size=1", self.disk.folder],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout.split()[0])

    def test_only_its_user_can_enter_it(self) -> None:
        self.assertEqual(stat.S_IMODE(self.disk.folder.stat().st_mode), 0o700)
        self.disk.folder.chmod(0o755)
        self.assertEqual(stat.S_IMODE(self.open(1).folder.stat().st_mode), 0o700)

    def test_what_others_could_write_is_not_believed(self) -> None:
        self.disk.folder.chmod(0o777)
        with mock.patch("tools.launcher.disk_cache.say") as say:
            self.assertIsNone(open_cache(self.cache, 1))
        self.assertRegex(say.call_args[0][0], "disk can be written by others .*chmod go-w")

    def test_a_link_is_no_lock(self) -> None:
        lock = self.disk.folder / "gc/lock"
        lock.unlink()
        lock.symlink_to(self.cache / "elsewhere")
        with mock.patch("tools.launcher.disk_cache.say") as say:
            self.assertIsNone(open_cache(self.cache, 1))
        self.assertEqual(say.call_count, 1)
        self.assertFalse((self.cache / "elsewhere").exists())

    def test_a_collection_that_fails_is_not_due_again_at_once(self) -> None:
        os.utime(self.disk.lock, (1, 1))
        self.put("cas/a", 1, 200_000)
        with (
            mock.patch.object(Path, "unlink", side_effect=PermissionError(13, "no")),
            self.assertRaises(PermissionError),
        ):
            self.disk.collect()
        self.assertFalse(self.disk.is_due())

    def test_a_folder_of_another_user_is_left_alone_and_said_once(self) -> None:
        with (
            mock.patch("os.geteuid", return_value=os.geteuid() + 1),
            mock.patch("tools.launcher.disk_cache.say") as say,
        ):
            self.assertIsNone(open_cache(self.cache, 1))
        self.assertRegex(say.call_args[0][0], "disk belongs to another user: remove it")
        self.assertEqual(say.call_count, 1)

    def test_what_cannot_be_written_is_said_once(self) -> None:
        (self.cache / "file").touch()
        with mock.patch("tools.launcher.disk_cache.say") as say:
            self.assertIsNone(open_cache(self.cache / "file", 1))
        self.assertRegex(say.call_args[0][0], "cannot be made a folder of this user's alone")

    def test_what_was_used_last_stays(self) -> None:
        old, stale, new = self.put("cas/a", 30), self.put("tmp/b", 20), self.put("ac/c", 10)
        self.disk.collect()
        self.assertEqual([p.exists() for p in (old, stale, new)], [False, False, True])
        self.assertLessEqual(self.taken(), self.disk.limit)

    def test_no_more_than_that_is_removed(self) -> None:
        files = [self.put(f"cas/{age}", age, 20_000) for age in range(5)]
        self.disk.collect()
        self.assertEqual([p.exists() for p in files], [True, True, True, True, False])

    def test_small_files_count_as_what_they_take(self) -> None:
        for age in range(100):
            self.put(f"cas/{age}", age, 1)
        self.disk.collect()
        self.assertLessEqual(self.taken(), self.disk.limit)

    def test_a_collection_is_due_an_hour_after_the_last(self) -> None:
        self.assertFalse(self.disk.is_due())
        os.utime(self.disk.lock, (1, 1))
        self.assertTrue(self.disk.is_due())
        self.disk.collect()
        self.assertFalse(self.disk.is_due())

    def test_nothing_is_collected_under_a_build(self) -> None:
        old = self.put("cas/a", 1, 200_000)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(self.cache)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as build:
            assert build.stdout
            self.assertEqual(build.stdout.readline(), "builds\n")
            self.disk.collect()
            self.assertTrue(old.exists())
            build.communicate("\n")
        self.disk.collect()
        self.assertFalse(old.exists())


if __name__ == "__main__":
    unittest.main()
