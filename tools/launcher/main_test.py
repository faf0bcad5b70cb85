"""tools/bazel as a process, with a program instead of Bazel that prints how it was started."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REPO = Path(__file__).absolute().parents[2]

_STAND_IN = """#!{python} -IS
import os, sys
if "query" in sys.argv:
    print("//models/a:qemu_test")
    print("//models/b:qemu_test")
else:
    print(sys.argv[1:])
    names = ("PIP_CERT", "IRONCAST_QEMU", "BAZELISK_SKIP_WRAPPER")
    print(*(os.environ.get(name) for name in names))
sys.exit(7 if "fail" in sys.argv else 0)
"""


class ToolsBazel(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in (
            "tools/bazel",
            "tools/launcher",
            "third_party/debian",
            "third_party/versions.bzl",
        ):
            target = self.root / "work" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(REPO / name, target) if (REPO / name).is_dir() else shutil.copy(
                REPO / name, target
            )
        (self.root / "work/.bazelversion").write_text("7.7.1\n")
        self.real = self.root / "bazel-real"
        self.real.write_text(_STAND_IN.format(python=sys.executable))
        self.real.chmod(0o755)

    def start(
        self, *args: str, program: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        base = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "BAZEL_REAL": str(self.real),
            "IRONCAST_GITHUB": "yes",
            "PIP_INDEX_URL": "file:///none",
        }
        command = [sys.executable, str(program or self.root / "work/tools/bazel"), *args]
        return subprocess.run(command, env={**base, **env}, capture_output=True, text=True)

    def passed_on(self, done: subprocess.CompletedProcess[str]) -> list[str]:
        """What Bazel was started with, without the rc files that it is told to read."""
        arguments: list[str] = ast.literal_eval(done.stdout.splitlines()[0])
        self.assertRegex(arguments[3], r"--bazelrc=\S+/\.cache/ironcast/\w+\.bazelrc")
        # Nor with what tells the launcher why a build failed.
        return [a for a in arguments[4:] if not a.startswith(("--build_event", "--ui_event"))]

    def test_arguments_status_and_environment_pass_through(self) -> None:
        done = self.start(
            "--output_base=/x",
            "fail",
            "//a b",
            "--",
            "-c",
            IRONCAST_QEMU="/my/qemu",
            SSL_CERT_FILE="/my/ca.pem",
        )
        self.assertEqual(done.returncode, 7)
        self.assertEqual(self.passed_on(done), ["--output_base=/x", "fail", "//a b", "--", "-c"])
        self.assertEqual(done.stdout.splitlines()[1], "/my/ca.pem /my/qemu 1")
        self.assertEqual(done.stderr, "")

    def test_a_build_s_status_passes_through_and_its_output_may_stay_as_it_is(self) -> None:
        for options, watched in (((), True), (("--verbose_failures",), False)):
            done = self.start("build", *options, "fail")
            self.assertEqual(done.returncode, 7)
            self.assertEqual("--ui_event_filters=-error" in done.stdout, watched)

    def test_a_named_pattern_is_expanded(self) -> None:
        done = self.start("test", "--jobs=1", "//...:qemu_test")
        self.assertEqual(
            self.passed_on(done),
            ["test", "--jobs=1", "//models/a:qemu_test", "//models/b:qemu_test"],
        )

    def test_root_is_warned_once(self) -> None:
        self.assertEqual(self.start("help").stderr, "")
        said = [self.start("build").stderr for _ in range(2)]
        root = os.geteuid() == 0
        self.assertEqual(["ordinary user" in line for line in said], [root, False])

    def test_an_error_is_one_line_and_a_status(self) -> None:
        done = self.start("build", BAZEL_REAL="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(
            done.stderr,
            "tools/bazel: BAZEL_REAL is /nowhere, which is not an executable file: "
            "correct or unset it.\n",
        )

    def test_bazel_is_not_started_from_a_cache_folder_that_others_can_write(self) -> None:
        cache = self.root / "home/.cache/ironcast"
        cache.mkdir(parents=True)
        cache.chmod(0o777)
        done = self.start("info")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(
            done.stderr,
            rf"\Atools/bazel: The cache folder {cache} can be written by others[^\n]*\n\Z",
        )
        done = self.start("doctor")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, "In the way: .*cache")

    def test_only_the_user_can_enter_bazels_folder(self) -> None:
        self.start("info")
        folder = self.root / "home/.cache/bazel"
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)

    def test_packages_that_cannot_be_kept_stop_nothing(self) -> None:
        self.assertEqual(self.start("info").stderr, "")
        cache = self.root / "home/.cache/ironcast"
        (cache / "packages").chmod(0o777)
        lock = cache / "disk/gc/lock"
        for command in ("info", "shutdown"):
            os.utime(lock, (1, 1))
            done = self.start(command)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(
                done.stderr, r"\Aironcast: unpacked packages are not shared [^\n]*\n\Z"
            )
        shutil.rmtree(cache / "packages")
        (cache / "packages").mkdir()
        (cache / "packages/x-1").symlink_to("/nonexistent")
        os.utime(lock, (1, 1))
        for command in ("info", "shutdown"):
            done = self.start(command)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_home_is_one_line_and_a_status(self) -> None:
        done = self.start("build", HOME="")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn("set HOME or XDG_CACHE_HOME", done.stderr)

    def test_without_github_and_apt_it_says_what_is_left(self) -> None:
        (self.root / "empty").mkdir()
        done = self.start(
            "build", BAZEL_REAL="", PATH=str(self.root / "empty"), IRONCAST_GITHUB="no"
        )
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn("`apt-get` is not on PATH", done.stderr)
        self.assertIn("BAZEL_REAL may name any Bazel 7.7.1", done.stderr)
        done = self.start("build", PATH=str(self.root / "empty"), IRONCAST_GITHUB="no")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1))
        self.assertIn("Bazel's rulesets come from there or from Debian", done.stderr)
        self.assertNotIn("BAZEL_REAL", done.stderr)

    def test_debians_bazel_tells_its_version_and_gets_its_options(self) -> None:
        prefix = self.root / "prefix"
        for folder in ("usr/bin", "usr/share/bazel", "usr/lib/jvm/java-25-openjdk-amd64"):
            (prefix / folder).mkdir(parents=True)
        (prefix / "usr/share/bazel/build-label.txt").write_text("7.7.1")
        shutil.copy(self.real, prefix / "usr/bin/bazel")
        real = {"BAZEL_REAL": str(prefix / "usr/bin/bazel"), "IRONCAST_GITHUB": "no"}
        self.assertEqual(self.start("--version", **real).stdout, "bazel 7.7.1\n")
        self.assertEqual(self.start("version", **real).stdout, "Build label: 7.7.1\n")
        started = self.start("--batch", "info", **real).stdout
        for option in (
            f"--install_base={prefix}/usr/share/bazel",
            "--trust_install_base",
            "--nosystem_rc",
        ):
            self.assertIn(option, started)
        self.assertRegex(started, r"--bazelrc=\S+', '--batch', 'info'")
        (rc,) = (self.root / "home/.cache/ironcast").glob("*.bazelrc")
        overrides = rc.read_text()
        self.assertIn(
            f'common "--override_repository=rules_python={prefix}/usr/share/bazel/rules/python"\n',
            overrides,
        )

    def test_one_file_is_all_of_it(self) -> None:
        other = self.root / "other/tools/bazel"
        other.parent.mkdir(parents=True)
        shutil.copy(REPO / "tools/launcher/bazel", other)
        shutil.rmtree(self.root / "work")
        for version in (None, "7.7.1\n"):
            if version:
                (self.root / "other/.bazelversion").write_text(version)
            done = self.start("build", "//a", program=other)
            self.assertEqual(self.passed_on(done), ["build", "//a"], done.stderr)
        self.assertEqual([p for p in other.parent.iterdir()], [other])

    def test_nothing_is_written_outside_the_cache(self) -> None:
        self.start("info")
        written = {str(p.relative_to(self.root)) for p in (self.root / "home").rglob("*")}
        self.assertTrue(
            all(name.startswith(".cache") for name in {w.removeprefix("home/") for w in written}),
            written,
        )
        self.assertEqual([p for p in (self.root / "work").rglob("__pycache__")], [])


if __name__ == "__main__":
    unittest.main()
