"""An import that takes more than a file may ends in one sentence, and whoever waits long hears for what."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import support

from bmc import supervisor

_HEAD = """import os, pathlib, subprocess, sys, time
from bmc import guard, limits, progress, supervisor
from bmc.errors import BmcError

supervisor.QUIET_SECONDS = float(os.environ.get("QUIET", "60"))
"""
# A file whose import starts a program that does the same as itself: wait and compute.
_BUSY = (
    _HEAD
    + """
def work():
    allowed = limits.Limits(cpu_seconds={cpu}, memory_gib={memory}, idle_seconds={idle})
    progress.begin(progress.CONVERT)
    supervisor.tell(step="iree-opt")
    with supervisor.limited("model.onnx", allowed):
        {busy}
    {after}
    return 3

try:
    sys.exit(guard.run(work))
except BmcError as error:
    print(error)
"""
)
_SPIN = "while True: pass"
_CHILD = f"subprocess.run([sys.executable, '-c', '{_SPIN}'])"
# Starts a program as IREE's, which notes its number and sleeps.
_TOOL = (
    _HEAD
    + """
from bmc.iree import tool

program = pathlib.Path("sleeper")
program.write_text("#!/bin/sh\\necho $$ > pid.part\\nmv pid.part pid\\nexec sleep 300\\n")
program.chmod(0o755)
tool.find = lambda name: program.absolute()
work = pathlib.Path.cwd()
guard.run(lambda: tool.IreeTool(work, work).opt("a", "b"))
"""
)


class SupervisorTest(support.FolderTest):
    def run_busy(
        self,
        busy: str,
        cpu: int = 600,
        memory: int = 8,
        idle: int = 300,
        after: str = "",
        quiet: str = "60",
    ) -> tuple[str, str]:
        code = _BUSY.format(busy=busy, cpu=cpu, memory=memory, idle=idle, after=after)
        done = support.python("-c", code, env={"QUIET": quiet})
        return done.stdout or str(done.returncode), done.stderr

    def test_time_and_memory_of_all_that_it_starts(self) -> None:
        start = "error[over-limit]: the import of 'model.onnx' takes more than "
        where = ", in phase 'convert (iree-opt)'\n  hint: allow it with --limit "
        for busy in (_SPIN, _CHILD):
            said, _ = self.run_busy(busy, cpu=1)
            self.assertIn(f"{start}1 s of CPU time{where}cpu_seconds=2,", said)
        said, _ = self.run_busy("time.sleep(60)", memory=0)
        self.assertIn(f"{start}0 GiB of memory{where}memory_gib=", said)

    def test_waiting_for_what_never_comes(self) -> None:
        sleep = "subprocess.run(['sleep', '60'])"
        said, _ = self.run_busy(sleep, idle=1)
        self.assertIn("the import of 'model.onnx' has done nothing for 1 s, in phase", said)
        self.assertIn("--limit idle_seconds=2,", said)
        # It may wait for long in all.
        steps = "for _ in range(8): time.sleep(0.3); sum(range(10**6))"
        self.assertEqual(self.run_busy(steps, idle=1)[0], "3")

    def test_only_the_import_is_limited(self) -> None:
        more = "block = bytearray(1 << 30) * 1; time.sleep(0.6)"
        self.assertEqual(self.run_busy("pass", memory=1, after=more)[0], "3")
        self.assertIn("1 GiB of memory", self.run_busy(more, memory=1)[0])

    def test_long_work_says_what_it_does(self) -> None:
        _, said = self.run_busy("time.sleep(1)", quiet="0.3")
        self.assertRegex(said, r"\A(bmc: still busy after \d+ s: convert \(iree-opt\)\n)+\Z")
        self.assertEqual(self.run_busy("pass"), ("3", ""))

    def test_a_program_ends_with_the_bmc_that_started_it(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", _TOOL], cwd=self.folder, env=environment
        ) as bmc:
            number = self.folder / "pid"
            _until(number.is_file)
            started = int(number.read_text())
            self.addCleanup(_end, started)
            self.assertIn(started, supervisor.descendants(bmc.pid))
            bmc.send_signal(signal.SIGKILL)
        _until(lambda: not _runs(started))


def _until(happened: object) -> None:
    """Waits for a function to return True, up to a minute."""
    assert callable(happened)
    end = time.monotonic() + 60
    while not happened():
        if time.monotonic() > end:
            raise AssertionError("it did not happen")
        time.sleep(0.05)


def _end(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _runs(process: int) -> bool:
    """Whether a process is there and has not ended; a container may never collect one that has."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


if __name__ == "__main__":
    unittest.main()
