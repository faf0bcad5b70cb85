"""The harness itself: deadlines, leftovers, programs that are not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from tools.emulate import process

SHELL = "/bin/sh"


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


class RunTest(unittest.TestCase):
    def test_lines_and_status(self) -> None:
        seen: list[str] = []
        outcome = process.run([SHELL, "-c", "echo one; printf two; exit 3"], 10, seen.append)
        self.assertEqual(outcome.lines, ("one", "two"))
        self.assertEqual(outcome.exit_status, 3)
        self.assertEqual(seen, ["one", "two"])

    def test_no_input(self) -> None:
        outcome = process.run([SHELL, "-c", "read x; echo got:$x"], 10)
        self.assertEqual(outcome.lines, ("got:",))

    def test_deadline_ends_children_too(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pid_file = Path(folder) / "pid"
            script = f"sleep 1000 & echo $! > {pid_file}; echo started; wait"
            outcome = process.run([SHELL, "-c", script], 1)
            self.assertIsNone(outcome.exit_status)
            self.assertEqual(outcome.lines, ("started",))
            self.assertTrue(wait_gone(int(pid_file.read_text())))

    def test_closed_console_does_not_end_the_wait(self) -> None:
        outcome = process.run([SHELL, "-c", "exec >&- 2>&-; sleep 1000"], 1)
        self.assertIsNone(outcome.exit_status)

    def test_endless_printing(self) -> None:
        with self.assertRaisesRegex(process.EmulatorError, "more than"):
            process.run([SHELL, "-c", "while :; do echo x; done"], 60)

    def test_missing_program(self) -> None:
        with self.assertRaisesRegex(process.EmulatorError, "does not exist"):
            process.run(["/no/such/emulator"], 1)

    def test_program_that_cannot_be_started(self) -> None:
        with (
            tempfile.NamedTemporaryFile() as file,
            self.assertRaisesRegex(process.EmulatorError, "cannot start"),
        ):
            process.run([file.name], 1)


class LeftoverTest(unittest.TestCase):
    """The runner is ended from outside; the emulator must go with it."""

    def check(self, signum: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            pid_file = Path(folder) / "pid"
            code = (
                "from tools.emulate import process\n"
                f"process.run(['{SHELL}', '-c', 'echo $$ > {pid_file}; exec sleep 1000'], 1000)\n"
            )
            env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            runner = subprocess.Popen([sys.executable, "-c", code], env=env)
            for _ in range(200):
                if pid_file.exists() and pid_file.read_text():
                    break
                time.sleep(0.05)
            pid = int(pid_file.read_text())
            self.assertTrue(alive(pid))
            runner.send_signal(signum)
            runner.wait(10)
            self.assertTrue(wait_gone(pid))

    def test_terminated(self) -> None:
        self.check(signal.SIGTERM)

    def test_killed(self) -> None:
        self.check(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
