"""Actions on other machines: a checkout of the release archive, built by a Bazel of its own.

First as a remote worker would, in --config=worker, and with a cache. Then in another folder, by another user's
name, with that cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tools.inner_bazel import inner_bazel

RUNFILES = Path.cwd()
# A package that every import of a model and every compilation reads.
PACKAGE = "pypi_ml_dtypes"
IMAGE = "//models:mlp_rv64"
AGREEMENT = "//models/mlp:mlp_rv64_agreement_test"
# Parts of this machine that no action declares, and an action that lists those it sees.
UNDECLARED = [
    path
    for path in ("/etc/passwd", "/home", "/usr/lib/python3", "/usr/share")
    if Path(path).exists()
]
PROBE = f"""genrule(
    name = "probe",
    outs = ["seen.txt"],
    cmd = "for path in {" ".join(UNDECLARED)}; do [ ! -e $$path ] || echo $$path; done > $@",
)
"""


@dataclass(frozen=True)
class Action:
    """An action that started a program, or would have.

    reads: whether PACKAGE is among its inputs. hit: whether the cache had its results.
    """

    mnemonic: str
    reads: bool
    hit: bool


def actions(log: str) -> list[Action]:
    """The actions in a log of Bazel's, which is one JSON object behind the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(log):
        entry, at = decoder.raw_decode(log, at)
        reads = any(PACKAGE in file["path"] for file in entry["inputs"])
        found.append(Action(entry["mnemonic"], reads, entry["cacheHit"]))
        while log[at : at + 1].isspace():
            at += 1
    return found


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

    def bazel(self, root: Path, command: str, *arguments: str, **packages: Path) -> list[Action]:
        """Runs Bazel with the cache and these packages in place of the real ones; returns its actions."""
        log = self.work / "log.json"
        repositories = inner_bazel.shared(self.external) | packages
        inner_bazel.configure(
            root,
            root.with_suffix(".bazel"),
            f"--disk_cache={self.work / 'cache'}",
            f"--execution_log_json_file={log}",
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
        return actions(log.read_text())

    def test_a_worker_needs_nothing_of_its_machine_and_others_share_its_results(self) -> None:
        first = self.checkout("first")
        (first / "probe").mkdir()
        (first / "probe/BUILD.bazel").write_text(PROBE)
        probe = "//probe:seen.txt"
        done = self.bazel(first, "test", "--config=worker", IMAGE, AGREEMENT, probe)
        self.assertGreater(len(UNDECLARED), 1)
        self.assertEqual((first / "bazel-bin/probe/seen.txt").read_text(), "")
        self.assertEqual([action for action in done if action.hit], [])

        second = self.checkout("elsewhere/and/deeper/second")
        with mock.patch.dict(os.environ, {"USER": "another", "LANG": "C"}):
            again = self.bazel(second, "test", IMAGE, AGREEMENT)
        self.assertEqual([action for action in again if not action.hit], [])
        self.assertEqual(len(again) + 1, len(done))  # without the probe

        # The same version of a package, changed by a comment.
        changed = self.work / PACKAGE
        shutil.copytree(self.external / PACKAGE, changed, symlinks=True)
        (module,) = changed.glob("site-packages/*/__init__.py")
        module.write_text(module.read_text() + "# Changed.\n")
        patched = self.bazel(second, "build", IMAGE, **{PACKAGE: changed})
        self.assertLessEqual({"BmImport", "BmCompile"}, {action.mnemonic for action in patched})
        self.assertEqual([action for action in patched if action.reads and action.hit], [])


if __name__ == "__main__":
    unittest.main()
