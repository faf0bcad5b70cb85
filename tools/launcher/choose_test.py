"""Which Bazel is chosen, with programs that stand in for real ones."""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import choose
from tools.launcher.errors import LauncherError


class Choose(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / ".bazelversion").write_text("7.7.1\n")
        (self.root / "third_party").mkdir()
        (self.root / "third_party/versions.bzl").write_text(
            'BAZEL_RELEASES = {"sha256s": {}, "megabytes": 1}\nBAZEL_FROM_DEBIAN = {"recipe": 1, "megabytes": 1}\n'
        )
        self.cache = self.root / "cache"
        self.cache.mkdir()

    def program(self, path: str, prints: str, status: int = 0) -> Path:
        """A program that prints a line and notes that it was started."""
        program = self.root / path
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(
            f"#!/bin/sh\necho x >> '{self.root}/started'\necho '{prints}'\nexit {status}\n"
        )
        program.chmod(0o755)
        return program

    def started(self) -> int:
        note = self.root / "started"
        return note.read_text().count("x") if note.exists() else 0

    def debian_prefix(self, name: str, version: str) -> Path:
        prefix = self.root / name
        self.program(f"{name}/usr/bin/bazel", "No label", status=1)
        (prefix / "usr/share/bazel").mkdir(parents=True)
        (prefix / "usr/share/bazel/build-label.txt").write_text(version)
        return prefix

    def env(self, **more: str) -> dict[str, str]:
        return {"PATH": f"{self.root}/bin:/usr/bin:/bin", **more}

    def test_bazel_real_is_used_as_it_is(self) -> None:
        real = self.program("real", "bazel 7.7.1")
        bazel = choose.choose(
            self.root, self.root, self.cache, self.env(BAZEL_REAL=str(real), IRONCAST_GITHUB="yes")
        )
        self.assertEqual((bazel.program, bazel.rulesets), (real, None))

    def test_a_wrong_bazel_real_is_named(self) -> None:
        with self.assertRaisesRegex(
            LauncherError, "BAZEL_REAL is /nowhere/bazel, which is not an executable file"
        ):
            choose.choose(self.root, self.root, self.cache, self.env(BAZEL_REAL="/nowhere/bazel"))
        folder = str(self.root)
        with self.assertRaisesRegex(LauncherError, "which is not an executable file"):
            choose.choose(self.root, self.root, self.cache, self.env(BAZEL_REAL=folder))

    def test_an_installed_bazel_of_the_right_version_is_used_and_asked_once(self) -> None:
        installed = self.program("bin/bazel", "bazel 7.7.1")
        for _ in range(2):
            bazel = choose.choose(self.root, self.root, self.cache, self.env(IRONCAST_GITHUB="yes"))
            self.assertEqual(bazel.program, installed)
        self.assertEqual(self.started(), 1)

    def test_another_version_is_passed_over(self) -> None:
        for prints, status in (("bazel 8.1.0", 0), ("bazel 7.7.10", 0), ("bazel 7.7.1", 1)):
            with self.subTest(prints=prints, status=status):
                self.program("bin/bazel", prints, status)
                (self.cache / "installed.json").unlink(missing_ok=True)
                self.assertIsNone(choose.installed("7.7.1", self.cache, self.env()))

    def test_a_damaged_note_is_written_again(self) -> None:
        installed = self.program("bin/bazel", "bazel 7.7.1")
        for damage in ("[]", '{"key": 1}', "null", "[" * 100_000, ""):
            with self.subTest(damage=damage[:10]):
                (self.cache / "installed.json").write_text(damage)
                self.assertEqual(choose.installed("7.7.1", self.cache, self.env()), installed)

    def test_a_note_that_is_no_file_is_not_waited_for(self) -> None:
        installed = self.program("bin/bazel", "bazel 7.7.1")
        os.mkfifo(self.cache / "installed.json")
        self.assertEqual(choose.installed("7.7.1", self.cache, self.env()), installed)
        self.assertTrue((self.cache / "installed.json").is_file())

    def test_what_is_no_version_is_refused(self) -> None:
        own = self.root / ".bazelversion"
        for version in (
            "7.7.1…",
            "",
            "7.7.1 8",
            "latest",
            "../7.7.1",
            "7.7.1/x",
            "7.7.1\0",
            "7." * 30,
        ):
            with self.subTest(version):
                own.write_text(version + "\n")
                with self.assertRaisesRegex(LauncherError, "is not a version: write one, such as"):
                    choose.wanted_version(self.root, self.root)
        for version in ("7.7.1", "8.0.0rc1", "9.0.0-pre.20250317.1\r"):
            own.write_text(version + "\n")
            self.assertEqual(choose.wanted_version(self.root, self.root), version.strip())

    def test_a_version_from_something_without_an_end_is_refused(self) -> None:
        own = self.root / ".bazelversion"
        own.unlink()
        own.symlink_to("/dev/zero")
        with self.assertRaisesRegex(LauncherError, "is no file: restore it from git"):
            choose.wanted_version(self.root, self.root)
        own.unlink()
        os.mkfifo(own)
        with self.assertRaisesRegex(LauncherError, "is no file: restore it from git"):
            choose.wanted_version(self.root, self.root)

    def test_no_version_names_a_program_of_the_workspace(self) -> None:
        """As a path, it would lead out of the cache."""
        self.program("evil-github/bazel", "evil")
        (self.cache / "bazel-7.7.1").mkdir()
        (self.root / ".bazelversion").write_text("7.7.1/../../evil")
        with self.assertRaisesRegex(LauncherError, "is not a version"):
            choose.choose(self.root, self.root, self.cache, self.env(IRONCAST_GITHUB="yes"))

    def test_a_hanging_bazel_is_passed_over(self) -> None:
        self.program("bin/bazel", "")
        with mock.patch("subprocess.run", side_effect=subprocess.TimeoutExpired("bazel", 10)):
            self.assertIsNone(choose.installed("7.7.1", self.cache, self.env()))

    def test_debians_installed_bazel_is_known_by_its_label(self) -> None:
        prefix = self.debian_prefix("debian", "7.7.1")
        env = self.env(PATH=f"{prefix}/usr/bin", IRONCAST_GITHUB="no")
        bazel = choose.choose(self.root, self.root, self.cache, env)
        self.assertEqual(bazel.program, prefix / "usr/bin/bazel")
        self.assertEqual(
            (bazel.debian_prefix, bazel.rulesets), (prefix, prefix / "usr/share/bazel")
        )

    def test_without_github_rulesets_come_from_debian_though_bazel_does_not(self) -> None:
        real = self.program("real", "bazel 7.7.1")
        unpacked = self.cache / "bazel-7.7.1-debian-1"
        unpacked.mkdir()
        bazel = choose.choose(
            self.root, self.root, self.cache, self.env(BAZEL_REAL=str(real), IRONCAST_GITHUB="no")
        )
        self.assertEqual(
            (bazel.program, bazel.debian_prefix, bazel.rulesets),
            (real, None, unpacked / "usr/share/bazel"),
        )

    def decide(self, answer: bool, **env: str) -> bool:
        """The decision for each answer of GitHub; self.asked counts the questions."""
        with mock.patch.object(choose, "reachable", return_value=answer) as asked:
            decided = choose.decide_github(self.cache, env, "7.7.1", self.root / "debian")
        self.asked = asked.call_count
        return decided

    def test_github_is_stayed_with_once_it_has_answered(self) -> None:
        self.assertEqual((self.decide(True), self.asked), (True, 1))
        self.assertEqual((self.decide(False), self.asked), (True, 0))

    def test_a_start_without_network_is_not_remembered(self) -> None:
        self.assertEqual((self.decide(False), self.asked), (False, 1))
        (self.cache / "github").write_text("no\n")  # as older launchers did
        self.assertEqual((self.decide(True), self.asked), (True, 1))

    def test_debians_bazel_is_stayed_with_once_it_is_there(self) -> None:
        (self.root / "debian").mkdir()
        self.assertEqual((self.decide(True), self.asked), (False, 0))
        self.assertEqual((self.decide(True, IRONCAST_GITHUB="yes"), self.asked), (True, 0))

    def test_a_failed_download_from_github_asks_anew(self) -> None:
        self.decide(True)
        with (
            mock.patch("tools.launcher.github.fill", side_effect=LauncherError("no luck")),
            self.assertRaisesRegex(LauncherError, "no luck"),
        ):
            choose.choose(self.root, self.root, self.cache, self.env())
        self.assertEqual((self.decide(False), self.asked), (False, 1))

    def test_a_wrong_ironcast_github_is_named(self) -> None:
        with self.assertRaisesRegex(
            LauncherError, "IRONCAST_GITHUB is 'maybe': set it to yes or no"
        ):
            self.decide(True, IRONCAST_GITHUB="maybe")

    def test_a_missing_bazelversion_is_named(self) -> None:
        (self.root / ".bazelversion").unlink()
        with self.assertRaisesRegex(
            LauncherError, r"\.bazelversion cannot be read .*: restore it from git"
        ):
            choose.choose(self.root, self.root, self.cache, self.env())


if __name__ == "__main__":
    unittest.main()
