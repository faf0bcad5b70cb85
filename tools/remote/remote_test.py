"""Actions on other machines: a checkout of the release archive, built by a Bazel of its own.

First by a worker. Then in another folder, by another user's name, with what the worker has kept. Last with a
changed package.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tools.inner_bazel import inner_bazel
from tools.remote import worker

RUNFILES = Path.cwd()
# The worker's options that name its programs.
PROGRAMS = sys.argv[1:]
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

    reads: whether PACKAGE is among its inputs. runner: who ran it, in Bazel's words.
    """

    mnemonic: str
    reads: bool
    runner: str


def actions(log: str) -> list[Action]:
    """The actions in a log of Bazel's, which is one JSON object behind the other."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(log):
        entry, at = decoder.raw_decode(log, at)
        reads = any(PACKAGE in file["path"] for file in entry["inputs"])
        found.append(Action(entry["mnemonic"], reads, entry["runner"]))
        while log[at : at + 1].isspace():
            at += 1
    return found


def built(root: Path) -> bytes:
    """The image, which Bazel keeps in a folder of its board's."""
    (image,) = root.glob("bazel-out/*/bin/models/mlp/mlp_rv64.bin")
    return image.read_bytes()


def start_worker(store: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Starts a worker; returns it with its address once it listens."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    program = [sys.executable, worker.__file__, *PROGRAMS]
    started = subprocess.Popen([*program, f"--listen={address}", f"--store={store}"])
    host, _, port = address.partition(":")
    for _ in range(300):
        time.sleep(0.1)
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return started, address
        except ConnectionRefusedError:
            if started.poll() is not None:
                break
    raise AssertionError(f"the worker does not listen: it ended with {started.poll()}")


class RemoteTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(inner_bazel.remove, self.work)
        self.external = Path(os.environ["EXTERNAL"])
        process, self.worker = start_worker(self.work / "store")
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.enterContext(mock.patch.dict(os.environ, inner_bazel.environment(), clear=True))

    def checkout(self, folder: str) -> Path:
        """Unpacks the archive into a folder of `work`."""
        root = self.work / folder
        root.mkdir(parents=True)
        with tarfile.open(RUNFILES / "ironcast.tar.gz") as tar:
            tar.extractall(root)
        return root

    def bazel(self, root: Path, command: str, *arguments: str, **packages: Path) -> list[Action]:
        """Runs Bazel with these packages in place of the real ones; returns its actions."""
        log = self.work / "log.json"
        repositories = inner_bazel.shared(self.external) | packages
        inner_bazel.configure(
            root,
            root.with_suffix(".bazel"),
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
        executor = f"--remote_executor=grpc://{self.worker}"
        done = self.bazel(first, "test", executor, IMAGE, AGREEMENT, "//probe:seen.txt")
        self.assertGreater(len(UNDECLARED), 1)
        self.assertEqual((first / "bazel-bin/probe/seen.txt").read_text(), "")
        self.assertEqual({action.runner for action in done}, {"remote"})
        image = built(first)

        second = self.checkout("elsewhere/and/deeper/second")
        cache = f"--remote_cache=grpc://{self.worker}"
        with mock.patch.dict(os.environ, {"USER": "another", "LANG": "C"}):
            again = self.bazel(second, "test", cache, IMAGE, AGREEMENT)
        self.assertEqual({action.runner for action in again}, {"remote cache hit"})
        self.assertEqual(len(again) + 1, len(done))  # without the probe

        # The same version of a package, changed by a comment. This machine runs what is not in the cache, and shows
        # as little of itself as the worker does.
        changed = self.work / PACKAGE
        shutil.copytree(self.external / PACKAGE, changed, symlinks=True)
        (module,) = changed.glob("site-packages/*/__init__.py")
        module.chmod(0o644)
        module.write_text(module.read_text() + "# Changed.\n")
        patched = self.bazel(second, "build", "--config=worker", cache, IMAGE, **{PACKAGE: changed})
        self.assertLessEqual({"BmImport", "BmCompile"}, {action.mnemonic for action in patched})
        runners = {action.runner for action in patched if action.reads}
        self.assertEqual(runners, {"linux-sandbox"})
        self.assertEqual(built(second), image)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
