"""What a program does with a user's mistake, and with one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from tools import cli
from tools.terminal import COLUMNS, at_terminal, lines

_SENTENCE = f"there is no\x1b[1m {'word ' * 40}: name another"


@cli.program("tried", "Ends as it is told.\n\n  as it   is", status=2)
def tried(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("end")
    end = parser.parse_args(args).end
    if end == "mistake":
        raise cli.UserError(_SENTENCE)
    if end == "bug":
        raise ValueError(_SENTENCE)
    return int(end)


class CliTest(unittest.TestCase):
    def command(self, *args: str) -> list[str]:
        return [sys.executable, __file__, "--tried", *args]

    def run_tried(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*args), capture_output=True, text=True)

    def test_the_status_is_what_the_function_returns(self) -> None:
        for status in (0, 1, 3):
            done = self.run_tried(str(status))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, "", ""))

    def test_a_mistake_is_one_sentence(self) -> None:
        done = self.run_tried("mistake")
        said = f"tried: {_SENTENCE.replace(chr(27), '?')}\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", said))

    def test_a_bug_keeps_its_traceback(self) -> None:
        done = self.run_tried("bug")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Traceback", done.stderr)

    def test_a_sentence_is_folded_at_a_terminal(self) -> None:
        status, text = at_terminal(self.command("mistake"))
        self.assertEqual(status, 2)
        folded = lines(text.rstrip())
        self.assertGreater(len(folded), 1)
        self.assertLessEqual(max(map(len, folded)), COLUMNS)
        self.assertEqual(" ".join(folded), f"tried: {_SENTENCE.replace(chr(27), '?')}")

    def test_help_has_the_docstring_as_it_is(self) -> None:
        done = self.run_tried("--help")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^usage: tried .*\n\nEnds as it is told.\n\n  as it   is\n")

    def test_the_folder_is_where_the_user_stands(self) -> None:
        with mock.patch.dict(os.environ):
            os.environ.pop("BUILD_WORKING_DIRECTORY", None)
            self.assertEqual(cli.user_path("a/b"), Path("a/b"))
            os.environ["BUILD_WORKING_DIRECTORY"] = "/home/user"
            self.assertEqual(cli.user_path(""), Path("/home/user"))
            self.assertEqual(cli.user_path("a/b"), Path("/home/user/a/b"))
            self.assertEqual(cli.user_path(Path("/a")), Path("/a"))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tried"]:
        sys.exit(tried(sys.argv[2:]))
    unittest.main()
