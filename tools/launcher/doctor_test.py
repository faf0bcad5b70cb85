"""What `doctor` says of machines that lack something."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import unittest
from collections import namedtuple
from pathlib import Path
from unittest import mock

from tools.launcher import doctor

_Usage = namedtuple("_Usage", "total used free")


class DoctorTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name) / "ironcast"
        self.programs = Path(folder.name) / "bin"
        self.programs.mkdir()
        (self.programs / "apt-get").touch(0o755)

    def report(self, free_megabytes: int = 100_000, **env: str) -> tuple[int, str]:
        env = {"PATH": str(self.programs), "SSL_CERT_FILE": "/certificates", **env}
        usage = _Usage(0, 0, free_megabytes * 1_000_000)
        said = io.StringIO()
        with (
            mock.patch.object(shutil, "disk_usage", return_value=usage),
            contextlib.redirect_stdout(said),
        ):
            status = doctor.report(self.cache, env)
        return status, said.getvalue()

    def test_a_good_machine(self) -> None:
        status, said = self.report()
        self.assertEqual(status, 0, said)
        self.assertTrue(said.endswith("Nothing is in the way.\n"), said)

    def test_a_small_disk(self) -> None:
        status, said = self.report(free_megabytes=1000)
        self.assertEqual(status, 1)
        self.assertIn("1,000 MB free: the README's first command needs 4400 MB more", said)
        self.assertTrue(said.endswith("In the way: disk.\n"), said)
        status, said = self.report(free_megabytes=9000)
        self.assertEqual(status, 0)
        self.assertIn("all tests take 22,000 MB", said)

    def test_a_cache_folder_that_would_be_refused(self) -> None:
        self.cache.mkdir(mode=0o700)
        self.assertEqual(self.report()[0], 0)
        for folder in (self.cache, self.cache / "packages"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o777)
            status, said = self.report()
            self.assertEqual(status, 1)
            self.assertRegex(
                said, rf"(?m)^! cache +{folder}: can be written by others .*`chmod go-w {folder}`"
            )
            self.assertTrue(said.endswith("In the way: cache.\n"), said)
            folder.chmod(0o700)
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            self.assertIn(f"{self.cache}: belongs to another user", self.report()[1])
        shutil.rmtree(self.cache)
        self.cache.symlink_to("nowhere")
        self.assertRegex(self.report()[1], r"(?m)^! cache .*cannot be used \(No such file")

    def test_a_system_without_apt_and_without_tools_of_its_own(self) -> None:
        (self.programs / "apt-get").unlink()
        status, said = self.report()
        self.assertEqual(status, 1)
        self.assertIn("name your own tools", said)
        # A setting is no tool.
        self.assertEqual(self.report(IRONCAST_CACHE_GIGABYTES="3")[0], 1)
        status, said = self.report(IRONCAST_QEMU="/opt/qemu")
        self.assertEqual(status, 0)
        self.assertRegex(said, r"(?m)^  IRONCAST_QEMU +/opt/qemu$")

    def test_what_takes_disk_space_counts_once(self) -> None:
        for folder in ("packages", "disk"):
            (self.cache / folder).mkdir(parents=True)
        (self.cache / "packages/file").write_bytes(b"x" * 3_000_000)
        os.link(self.cache / "packages/file", self.cache / "packages/again")
        (self.cache / "disk/link").symlink_to("../packages/file")
        _, said = self.report()
        self.assertRegex(said, r"(?m)packages +3 MB$")
        self.assertRegex(said, r"(?m)disk +0 MB$")
        self.assertRegex(said, r"(?m)^  in all +3 MB: ")


if __name__ == "__main__":
    unittest.main()
