"""Actions on other machines: a checkout of the release archive, built by a Bazel of its own.

First as a remote worker would, in --config=worker, and with a cache. Then in another folder, by another user's
name, with that cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.inner_bazel import inner_bazel

RUNFILES = Path.cwd()
# A package that every import of a model and every compilation reads.
PACKAGE = "pypi_ml_dtypes"
IMAGE = "//models:mlp_rv64"
AGREEMENT = "//models/mlp:mlp_rv64_agreement_test"
# The last line of a build: "114 processes: 78 disk cache hit, 36 internal."
_PROCESSES = re.compile(r"INFO: \d+ process(?:es)?: (.+)\.")


def processes(printed: str) -> dict[str, int]:
    """How the actions were done -> how many; `internal` ones do not start a program."""
    found = _PROCESSES.findall(printed)
    assert found, printed
    parts = (part.split(" ", 1) for part in found[-1].split(", "))
    return {how: int(count) for count, how in parts if how != "internal"}


class CacheTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(inner_bazel.remove, self.work)
        self.external = Path(os.environ["EXTERNAL"])
        self.enterContext(mock.patch.dict(os.environ, inner_bazel.environment(), clear=True))

    def checkout(self, folder: str) -> Path:
        """Unpacks the archive into a folder of `work`."""
        root = self.work / folder
        root.mkdir(parents=True)
        with tarfile.open(RUNFILES / "ironcast.tar.gz") as tar:
            tar.extractall(root, filter="tar")
        return root

    def bazel(self, root: Path, command: str, *arguments: str, **packages: Path) -> dict[str, int]:
        """Runs Bazel with the cache and these packages in place of the real ones; counts its actions."""
        repositories = inner_bazel.shared(self.external) | packages
        inner_bazel.configure(
            root,
            root.with_suffix(".bazel"),
            f"--disk_cache={self.work / 'cache'}",
            *(f"--override_repository={name}={path}" for name, path in repositories.items()),
        )
        done = subprocess.run(
            [sys.executable, root / "tools/bazel", command, *arguments],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        return processes(done.stdout)

    def test_a_worker_needs_nothing_of_its_machine_and_others_share_its_results(self) -> None:
        first = self.checkout("first")
        done = self.bazel(first, "test", "--config=worker", IMAGE, AGREEMENT)
        self.assertNotIn("disk cache hit", done)

        second = self.checkout("elsewhere/and/deeper/second")
        with mock.patch.dict(os.environ, {"USER": "another", "LANG": "C"}):
            self.assertEqual(set(self.bazel(second, "test", IMAGE, AGREEMENT)), {"disk cache hit"})

        # The same version of a package, changed by a comment.
        changed = self.work / PACKAGE
        shutil.copytree(self.external / PACKAGE, changed, symlinks=True)
        (module,) = changed.glob("site-packages/*/__init__.py")
        module.write_text(module.read_text() + "# Changed.\n")
        self.assertIn("linux-sandbox", self.bazel(second, "build", IMAGE, **{PACKAGE: changed}))


if __name__ == "__main__":
    unittest.main()
