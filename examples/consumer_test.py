"""A repository that fetches Ironcast's release archive: examples/consumer, built and tested by a Bazel of its own.

The inner Bazel fetches the archive, and the Python package that the example adds. Whatever else this
workspace has fetched already, it is shown with --override_repository instead of fetching it again.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

RUNFILES = Path.cwd()
# Repositories that hold the same for every workspace; not those that are made for one, like @pypi.
_SHARED = re.compile(r"(pypi_|debian_|rules_|bazel_)\w+|platforms|spike")
_NOT_SHARED = {"bazel_tools"}


def shared(external: Path) -> dict[str, Path]:
    """Repositories in `external` that are complete.

    Bazel writes a repository's marker last. A link leads to a folder that Bazel has not fetched itself.
    """
    return {
        folder.name: folder
        for folder in sorted(external.iterdir())
        if _SHARED.fullmatch(folder.name)
        and folder.name not in _NOT_SHARED
        and (folder.is_symlink() or (external / f"@{folder.name}.marker").exists())
    }


def remove(folder: Path) -> None:
    """Removes a folder in which Bazel has made folders read-only; links are removed, not followed."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            below = Path(path, name)
            if not below.is_symlink():
                below.chmod(below.stat().st_mode | stat.S_IRWXU)
    shutil.rmtree(folder)


class ConsumerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(remove, self.work)
        unpacked = self.work / "unpacked"
        with tarfile.open(RUNFILES / "ironcast.tar.gz") as tar:
            tar.extractall(unpacked)
        self.root = self.work / "consumer"
        (unpacked / "examples/consumer").rename(self.root)
        (self.root / "tools").mkdir()
        shutil.copy(RUNFILES / "tools/launcher/bazel", self.root / "tools/bazel")
        workspace = self.root / "WORKSPACE"
        workspace.write_text(self.with_archive(workspace.read_text()))

    def with_archive(self, workspace: str) -> str:
        """The example's WORKSPACE with the release's own words about its archive."""
        block = re.compile(r"http_archive\(\n(?:    .*\n)*\)\n")
        found = block.search((RUNFILES / "ironcast.snippet").read_text())
        assert found
        url = (RUNFILES / "ironcast.tar.gz").resolve().as_uri()
        text, changed = block.subn(re.sub('url = ".*"', f'url = "{url}"', found[0]), workspace)
        self.assertEqual(changed, 1)
        return text

    def bazel(self, *args: str) -> None:
        """Runs the example's launcher; fails with everything it printed."""
        # Not what Bazel sets for a test: the inner Bazel would take itself for a part of it.
        env = {
            name: value
            for name, value in os.environ.items()
            if not re.match("TEST_|RUNFILES_|BUILD_|XML_|GTEST_|PYTHON", name)
        }
        command = [sys.executable, self.root / "tools/bazel"]
        # --batch: without a server, nothing outlives this test.
        command += ["--batch", f"--output_user_root={self.work / 'root'}", "--host_jvm_args=-Xmx1g"]
        done = subprocess.run(
            [*command, *args],
            cwd=self.root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_builds_runs_and_prepares_to_flash_what_is_in_it(self) -> None:
        overrides = [
            f"--override_repository={name}={path}"
            for name, path in shared(Path(os.environ["EXTERNAL"])).items()
        ]
        self.bazel(
            "test",
            "--noshow_progress",
            "--color=no",
            "--curses=no",
            "--test_output=errors",
            "--board=//boards/sensor_node",
            *overrides,
            "//...",
            "//bands:bands_rv64.flash",
        )
        for name in ("app/tone_sensor_node_qemu_test", "bands/bands_rv64_agreement_test"):
            log = self.root / "bazel-testlogs" / name / "test.log"
            self.assertTrue(log.is_file(), f"{name} did not run")


if __name__ == "__main__":
    unittest.main()
