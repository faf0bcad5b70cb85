"""A repository that fetches Ironcast's release archive: examples/consumer, built and tested by a Bazel of its own.

First a worker executes actions of it, with its WORKSPACE. In another folder, and by another user's name, Bazel takes
what the worker has kept, and then builds with a changed package. The first checkout also runs all tests of the example
and ironcast.Session, and then, with its MODULE.bazel, the application. What this workspace has fetched already is shown
to the Bazel of the example, which fetches only the archive and the Python package that the example adds.

One test has all of this, because each part uses what the parts before it have built.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np

import ironcast
from examples.consumer import Consumer, overrides
from examples.mistakes import MISTAKES
from tools.actions.remote import worker
from tools.dev.inner_bazel import inner_bazel
from tools.terminal import at_terminal, lines

# The worker's options that name its programs.
PROGRAMS = sys.argv[1:]
BOARD = "//boards/sensor_node"
APPLICATION = "//app:tone_sensor_node_qemu_test"
# The worker gets its own copy of a compiler for each C file that it compiles, where it may not mount one: a few are
# enough.
FEW_C_FILES = (
    "--strategy=CppCompile=linux-sandbox",
    "--strategy_regexp=Compiling .*runtime_bm/plan/=remote",
)
# Every third mistake is made at a terminal as well.
AT_A_TERMINAL = 3
# A package that every import of a model and every compilation reads.
PACKAGE = "pypi_ml_dtypes"
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


def runners(said: str) -> dict[str, int]:
    """Who ran how many actions, by the line in which Bazel counts them, without those that start no program."""
    (line,) = re.findall(r"(?m)^INFO: \d+ process(?:es)?: (.*)\.$", said)
    counts = {name: int(number) for number, name in re.findall(r"(\d+) ([^,]+)", line)}
    counts.pop("internal", None)
    return counts


def passed(said: str) -> set[str]:
    """The tests that have run and passed; not those that had done so before."""
    return set(re.findall(r"(?m)^(//\S+) +PASSED in ", said))


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


class ConsumerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.work = Path(tempfile.mkdtemp(dir=os.environ["TEST_TMPDIR"]))
        self.addCleanup(inner_bazel.remove, self.work)
        process, self.worker = start_worker(self.work / "store")
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.enterContext(mock.patch.dict(os.environ, inner_bazel.environment(), clear=True))

    def checkout(self, folder: str) -> Consumer:
        consumer = Consumer(self.work / folder)
        consumer.configure(*overrides(inner_bazel.shared()))
        self.addCleanup(consumer.bazel, "shutdown")
        return consumer

    def test_a_worker_others_a_user_and_modules_build_and_run_it(self) -> None:
        first = self.checkout("first")
        executed = self.check_that_a_worker_needs_nothing_of_its_machine(first)
        self.check_that_others_share_its_results(executed, first.built("app/app.bin"))
        self.check_that_everything_runs(first)
        self.check_that_mistakes_end_in_a_sentence(first)
        self.check_that_the_application_runs_with_modules(first)

    def check_that_a_worker_needs_nothing_of_its_machine(self, consumer: Consumer) -> int:
        """Returns how many actions APPLICATION took, most of them executed by the worker."""
        (consumer.root / "probe").mkdir()
        (consumer.root / "probe/BUILD.bazel").write_text(PROBE)
        self.assertGreater(len(UNDECLARED), 1)
        targets = ["//app", APPLICATION, "//probe:seen.txt"]
        executor = f"--remote_executor=grpc://{self.worker}"
        log = self.work / "remote.json"
        record = f"--execution_log_json_file={log}"
        said = consumer.bazel("test", executor, record, *FEW_C_FILES, *targets)
        by_runner: dict[str, set[str]] = {}
        for action in actions(log.read_text()):
            by_runner.setdefault(action.runner, set()).add(action.mnemonic)
        self.assertEqual(by_runner.keys(), {"linux-sandbox", "remote"})
        self.assertEqual(by_runner["linux-sandbox"], {"CppCompile"})
        self.assertIn("CppCompile", by_runner["remote"])
        done = runners(said)
        self.assertEqual(passed(said), {APPLICATION})
        self.assertEqual((consumer.root / "bazel-bin/probe/seen.txt").read_text(), "")
        return sum(done.values()) - 1  # without the probe

    def check_that_others_share_its_results(self, executed: int, image: bytes) -> None:
        consumer = self.checkout("elsewhere/and/deeper/second")
        cache = f"--remote_cache=grpc://{self.worker}"
        with mock.patch.dict(os.environ, {"USER": "another", "LANG": "C"}):
            again = consumer.bazel("test", cache, "//app", APPLICATION)
            self.assertEqual(runners(again), {"remote cache hit": executed})

            # The same version of a package, changed by a comment. This machine runs what is not in the cache, and
            # shows as little of itself as the worker does.
            changed = self.work / PACKAGE
            shutil.copytree(inner_bazel.shared()[PACKAGE], changed, symlinks=True)
            (module,) = changed.glob("site-packages/*/__init__.py")
            module.chmod(0o644)
            module.write_text(module.read_text() + "# Changed.\n")
            log = self.work / "log.json"
            consumer.configure(*overrides(inner_bazel.shared() | {PACKAGE: changed}))
            record = f"--execution_log_json_file={log}"
            consumer.bazel("build", "--config=worker", cache, record, "//app")
        patched = actions(log.read_text())
        self.assertLessEqual({"BmImport", "BmCompile"}, {action.mnemonic for action in patched})
        runners_of_readers = {action.runner for action in patched if action.reads}
        self.assertEqual(runners_of_readers, {"linux-sandbox"})
        self.assertEqual(consumer.built("app/app.bin"), image)

    def check_that_everything_runs(self, consumer: Consumer) -> None:
        self.assertIn(
            "//kernels:bands_test", passed(consumer.bazel("test", "--test_output=errors", "//..."))
        )
        # Cosines of different frequencies are orthogonal.
        frame = np.cos(np.pi / 32 * (np.arange(32) + 0.5) * 3)[None].astype(np.float32)
        with ironcast.Session("//bands:bands_rv64", checkout=consumer.root) as session:
            (bands,) = session.run(None, {session.get_inputs()[0].name: frame})
        np.testing.assert_allclose(bands, [[0, 0, 16, 0, 0, 0, 0, 0]], atol=0.01)

    def check_that_mistakes_end_in_a_sentence(self, consumer: Consumer) -> None:
        for mistake in MISTAKES:
            with self.subTest(mistake.last_line):
                package = consumer.root / "mistake"
                shutil.rmtree(package, ignore_errors=True)
                package.mkdir()
                for name, text in (("BUILD.bazel", mistake.build), *mistake.files):
                    (package / name).write_text(text)
                with self.assertRaises(AssertionError) as failed:
                    consumer.bazel(*mistake.arguments)
                *_, last = str(failed.exception).splitlines()
                self.assertTrue(last.endswith(mistake.last_line), last)
                if mistake in MISTAKES[::AT_A_TERMINAL]:
                    line = consumer.line(*mistake.arguments)
                    _, text = at_terminal(line, cwd=consumer.root)
                    *_, last = filter(None, lines(text))
                    self.assertTrue(last.endswith(mistake.last_line), text)
        shutil.rmtree(consumer.root / "mistake")

    def check_that_the_application_runs_with_modules(self, consumer: Consumer) -> None:
        """And that the model can be flashed to the example's board, and boots in its emulator."""
        consumer.configure(*consumer.use_modules())
        targets = [f"--board={BOARD}", APPLICATION, "//bands:bands_rv64.flash"]
        said = consumer.bazel("test", "--test_output=errors", *targets)
        self.assertEqual(passed(said), {APPLICATION})
        booted = consumer.bazel("run", f"--board={BOARD}", "//bands:bands_rv64")
        self.assertIn("on sensor_node, VLEN 256", booted)
        # A board changes the image, and nothing of what is imported.
        log = self.work / "without_board.json"
        record = f"--execution_log_json_file={log}"
        consumer.bazel("build", record, "//bands:bands_rv64")
        done = {action.mnemonic for action in actions(log.read_text())}
        self.assertIn("CppLink", done)
        self.assertNotIn("BmImport", done)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
