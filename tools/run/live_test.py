"""What `bazel run` of an image shows and how it ends, with a shell in the place of an emulator."""

from __future__ import annotations

import contextlib
import io
import tempfile
import unittest
from unittest import mock

from tools.run import live, process


def run(script: str, *args: str) -> tuple[int, list[str]]:
    """Returns the exit status and the lines that are shown."""
    said = io.StringIO()
    emulator = ("--emulator", "/bin/sh", "--emulator=-c", "--emulator", script)
    with contextlib.redirect_stdout(said):
        status = live.main(["--deadline", "60", *args, *emulator])
    return status, said.getvalue().splitlines()


class LiveTest(unittest.TestCase):
    def test_an_application_ends_as_it_was_announced(self) -> None:
        status, lines = run("echo digit 7", "--expect", "EXIT")
        self.assertEqual((status, lines[0]), (0, "digit 7"))
        self.assertRegex(lines[-1], "^PASS: the application ended with exit status 0")
        status, lines = run("echo digit 7")
        self.assertEqual(status, 1)
        self.assertRegex(lines[-1], "^FAIL: .* without a PASS record")
        status, lines = run("exit 7", "--expect", "EXIT")
        self.assertEqual(status, 1)
        self.assertRegex(lines[-1], "^FAIL: the application ended with exit status 7")

    def test_a_damaged_record_fails_a_run_that_says_pass(self) -> None:
        good = "echo BM1 MODEL name=m; echo BM1 PASS cases=1"
        for raw in ((), ("--raw",)):
            self.assertEqual(run(good, *raw)[0], 0)
            status, lines = run(f"echo BM1 garbage; {good}", *raw)
            self.assertEqual(status, 1)
            self.assertIn("BM1 garbage", lines)
            self.assertRegex(lines[-1], "^FAIL: the record 'garbage' .*run the firmware again")

    def test_what_a_run_has_said_is_shown_when_it_cannot_go_on(self) -> None:
        record = "echo BM1 STATS instret=5 cycles=0 arena=64 stack=9 walker=- workgroup=-"
        with mock.patch.object(process, "MAX_LINES", 10):
            status, lines = run(f"{record}; yes | head -20")
        self.assertEqual((status, lines[-1]), (2, "  arena 64 bytes, stack 9 bytes"))

    def test_a_report_of_another_ironcast_is_refused_in_a_sentence(self) -> None:
        with tempfile.NamedTemporaryFile("w") as report:
            report.write("{}")
            report.flush()
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(run("true", f"--report={report.name}")[0], 2)
        self.assertRegex(said.getvalue(), r"^run: .* is no report of this Ironcast: .*\n$")

    def test_raw_shows_the_records(self) -> None:
        record = "BM1 BOOT isa=rv64gc vlen=0 board=b"
        self.assertEqual(run(f"echo {record}", "--raw")[1][0], record)
        self.assertEqual(run(f"echo {record}")[1][0], "rv64gc on b")


if __name__ == "__main__":
    unittest.main()
