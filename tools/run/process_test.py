"""The harness itself: deadlines, leftover processes, missing programs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from tools.cli import UserError
from tools.run import deadline, process, result
from tools.run.fake_clock import FakeClock

SHELL = "/bin/sh"
NEVER = 1e6  # a deadline that does not pass


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the second: it went between open and read
        return False


def wait_gone(pid: int) -> None:
    while alive(pid):
        time.sleep(0.01)


class RunTest(unittest.TestCase):
    def test_lines_and_status(self) -> None:
        seen: list[str] = []
        outcome = process.run([SHELL, "-c", "echo one; printf two; exit 3"], NEVER, seen.append)
        self.assertEqual(outcome.lines, ("one", "two"))
        self.assertEqual(outcome.exit_status, 3)
        self.assertEqual(seen, ["one", "two"])

    def test_no_input(self) -> None:
        outcome = process.run([SHELL, "-c", "read x; echo got:$x"], NEVER)
        self.assertEqual(outcome.lines, ("got:",))

    def run_until_a_line(self, script: str) -> result.Outcome:
        """The deadline passes when the first line has come."""
        clock = FakeClock()
        with mock.patch.object(deadline, "time", clock):
            return process.run([SHELL, "-c", script], NEVER, clock.pass_deadlines)

    def test_deadline_ends_children_too(self) -> None:
        outcome = self.run_until_a_line("sleep 1000000 & echo $!; wait")
        self.assertIsNone(outcome.exit_status)
        (child,) = outcome.lines
        wait_gone(int(child))

    def test_half_a_line_is_kept_at_the_deadline(self) -> None:
        outcome = self.run_until_a_line("printf 'one\\ntwo'; sleep 1000000")
        self.assertIsNone(outcome.exit_status)
        self.assertEqual("\n".join(outcome.lines), "one\ntwo")

    def test_closed_console_does_not_end_the_wait(self) -> None:
        outcome = process.run([SHELL, "-c", "exec >&- 2>&-; sleep 1000000"], 0.1)
        self.assertIsNone(outcome.exit_status)

    def test_endless_printing(self) -> None:
        with self.assertRaisesRegex(UserError, "more than"):
            process.run([SHELL, "-c", "while :; do echo x; done"], NEVER)

    def test_missing_program(self) -> None:
        with self.assertRaisesRegex(UserError, "does not exist"):
            process.run(["/no/such/emulator"], NEVER)

    def test_program_that_cannot_be_started(self) -> None:
        with (
            tempfile.NamedTemporaryFile() as file,
            self.assertRaisesRegex(UserError, "cannot start"),
        ):
            process.run([file.name], NEVER)


class DeadlineTest(unittest.TestCase):
    """Two clocks: the machine's and the processor's."""

    def seconds_until_passed(self, share: float) -> float:
        """Returns when a deadline of 10 s passes for a process that has a share of a processor."""
        clock = FakeClock(tick=0.25)
        began = clock.monotonic()
        with (
            mock.patch.object(deadline, "time", clock),
            mock.patch.object(
                deadline, "computed_seconds", lambda _pid: (clock.monotonic() - began) * share
            ),
        ):
            end = deadline.Deadline(1, 10)
            while not end.passed():
                pass
            return clock.monotonic() - began

    def test_time_of_other_programs_does_not_count(self) -> None:
        self.assertAlmostEqual(self.seconds_until_passed(1.0), 10, delta=1)
        self.assertAlmostEqual(self.seconds_until_passed(0.25), 40, delta=4)

    def test_several_threads_are_not_faster(self) -> None:
        self.assertAlmostEqual(self.seconds_until_passed(4.0), 10, delta=1)

    def test_a_program_that_waits_has_no_more_time(self) -> None:
        self.assertAlmostEqual(self.seconds_until_passed(0.001), 10, delta=1)

    def test_processor_seconds(self) -> None:
        code = "import time\nwhile time.process_time() < 0.2: pass\nprint(flush=True)\ninput()"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as busy:
            assert busy.stdout is not None
            busy.stdout.readline()
            self.assertGreaterEqual(deadline.computed_seconds(busy.pid), 0.18)
            busy.communicate(b"\n")
        self.assertEqual(deadline.computed_seconds(busy.pid), 0)


class LeftoverTest(unittest.TestCase):
    """When the runner is killed from outside, the emulator must end too."""

    def check(self, signum: int) -> int:
        """Returns the runner's exit status."""
        code = (
            "from tools.run import process\n"
            f"process.run(['{SHELL}', '-c', 'echo $$; exec sleep 1000000'], {NEVER},\n"
            "            lambda line: print(line, flush=True))\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True
        ) as runner:
            assert runner.stdout is not None
            pid = int(runner.stdout.readline())
            self.assertTrue(alive(pid))
            runner.send_signal(signum)
        wait_gone(pid)
        return runner.returncode

    def test_terminated(self) -> None:
        self.assertEqual(self.check(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_killed(self) -> None:
        self.check(signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
