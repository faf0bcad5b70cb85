"""Programs at a terminal of 100 columns, and in a pipe: how wide their lines are, and whether there are colors.

usage: terminal_test.py PROGRAM...
"""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from tools.terminal import COLUMNS, at_terminal, lines

ESCAPE = "\x1b"
# What runs here of each program, beside --help: the exit status and the arguments.
OUTPUTS = {
    "fixture_rv64": (0, ()),
    "fixture_rv64.debug": (0, ("--batch",)),
    # Its board is an emulator, and so it is refused.
    "fixture_rv64.flash": (2, ("--dry-run",)),
    "fixture_rv64.report": (0, ()),
    "fixture_rv64.spike": (0, ()),
}


def programs() -> dict[str, Path]:
    """Returns the programs by the names of their targets."""
    return {Path(arg).name.removesuffix(".sh"): Path(arg).absolute() for arg in sys.argv[1:]}


def piped(command: list[str]) -> str:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.stdout.decode()


def shown(command: list[str]) -> tuple[int, str]:
    """Returns the exit status of a program and what it writes to a terminal."""
    # Whoever has a terminal has a home; gdb complains without.
    return at_terminal(command, {**os.environ, "HOME": os.environ["TEST_TMPDIR"]})


class TerminalTest(unittest.TestCase):
    def assert_fits(self, text: str) -> None:
        self.assertEqual([line for line in lines(text) if len(line) > COLUMNS], [])

    def test_help_begins_with_usage_and_has_a_sentence_and_an_example(self) -> None:
        self.assertGreater(len(programs()), 10)
        for name, program in programs().items():
            with self.subTest(name):
                status, text = shown([str(program), "--help"])
                self.assertEqual(status, 0, text)
                self.assert_fits(text)
                whole = "\n".join(lines(text))
                self.assertRegex(
                    whole, r"(?s)^usage: \w+ .*\n\n[A-Z][^\n]*\.\n.*\nexamples?:\n  \w"
                )

    def test_outputs_fit_and_have_no_colors_in_a_pipe(self) -> None:
        for name, (wanted, arguments) in OUTPUTS.items():
            with self.subTest(name):
                command = [str(programs()[name]), *arguments]
                status, text = shown(command)
                self.assertEqual(status, wanted, text)
                self.assert_fits(text)
                self.assertNotIn(ESCAPE, piped(command))

    def test_a_run_has_colors_and_progress_at_a_terminal(self) -> None:
        program = str(programs()["fixture_rv64"])
        _, text = shown([program])
        self.assertIn(f"{ESCAPE}[1;32mPASS", text)
        self.assertRegex(text, r"fixture: case \d+ of 64")
        self.assertNotIn("fixture: case", piped([program]))

    def test_a_wide_line_is_noticed(self) -> None:
        _, text = shown(["/bin/echo", "x" * (COLUMNS + 1)])
        with self.assertRaises(AssertionError):
            self.assert_fits(text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
