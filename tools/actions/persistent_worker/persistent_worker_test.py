"""One process serves requests of Bazel's as separate programs would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

# A program that remembers how often it ran, fails, prints, reads its input, and waits.
_PROGRAM = """
import os, sys, time
from tools.actions.persistent_worker import persistent_worker
runs = 0
def main(args):
    global runs
    runs += 1
    print("run", runs, *args)
    os.system("echo from a child")
    print("error", file=sys.stderr)
    if args == ["input"]:
        print(repr(sys.stdin.read()))
    if args == ["usage"]:
        sys.exit("wrong")
    if args == ["crash"]:
        raise ValueError("broken")
    if args == ["killed"]:
        os.kill(os.getpid(), 9)
    if args[:1] == ["wait"]:
        open(args[1], "w").write(str(os.getpid()))
        time.sleep(60)
    return len(args)
sys.exit(persistent_worker.run(main, sys.argv[1:]))
"""


class PersistentWorker(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "program.py").write_text(_PROGRAM)

    def start(self, *args: str, **options: Any) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            [sys.executable, self.folder / "program.py", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
            text=True,
            **options,
        )

    def serve(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        with self.start("--persistent_worker") as worker:
            out, _ = worker.communicate("".join(f"{json.dumps(one)}\n" for one in requests))
        self.assertEqual(worker.returncode, 0)
        return [json.loads(line) for line in out.splitlines()]

    def test_each_request_is_a_run_of_its_own(self) -> None:
        first, second = self.serve(
            {"arguments": ["a"], "requestId": 3}, {"arguments": ["b", "c"], "inputs": []}
        )
        self.assertEqual((first["exitCode"], first["requestId"]), (1, 3))
        self.assertEqual((second["exitCode"], second["requestId"]), (2, 0))
        self.assertEqual(sorted(first["output"].splitlines()), ["error", "from a child", "run 1 a"])
        self.assertIn("run 1 b c\n", second["output"])

    def test_requests_are_not_the_programs_input(self) -> None:
        (only, after) = self.serve({"arguments": ["input"]}, {"arguments": []})
        self.assertIn("''", only["output"])
        self.assertEqual(after["exitCode"], 0)

    def test_after_a_failure_it_goes_on(self) -> None:
        usage, crash, killed, good = self.serve(
            *({"arguments": [word]} for word in ("usage", "crash", "killed")), {"arguments": []}
        )
        self.assertEqual((usage["exitCode"], crash["exitCode"], killed["exitCode"]), (1, 1, 137))
        self.assertIn("wrong\n", usage["output"])
        self.assertIn("ValueError: broken", crash["output"])
        self.assertEqual(good["exitCode"], 0)

    def test_a_request_ends_with_its_worker(self) -> None:
        pid = self.folder / "pid"
        with self.start("--persistent_worker") as worker:
            assert worker.stdin
            worker.stdin.write(json.dumps({"arguments": ["wait", str(pid)]}) + "\n")
            worker.stdin.flush()
            while not pid.is_file() or not pid.read_text():
                self.assertIsNone(worker.poll())
            worker.send_signal(signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    def test_without_a_worker_the_arguments_are_in_a_file(self) -> None:
        file = self.folder / "args"
        file.write_text("a b\nc\n")
        for args in ([f"@{file}"], ["a b", "c"]):
            with self.start(*args, stderr=subprocess.DEVNULL) as program:
                out, _ = program.communicate()
            self.assertEqual(program.returncode, 2)
            self.assertIn("run 1 a b c\n", out)


if __name__ == "__main__":
    unittest.main()
