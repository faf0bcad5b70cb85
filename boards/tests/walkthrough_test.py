"""Checks boards/README.md: the table of boards, and the instructions for owners of a BPI-F3, as far as
that is possible without one."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

# `X.flash` as Bazel builds it with `--board=//boards/bpi_f3`: label on the page -> program.
PROGRAMS = dict(pair.split("=") for pair in os.environ["PROGRAMS"].split())
# Labels on the page that other tests build or run unchanged.
BUILT = set(os.environ["BUILT"].split())
BERT = "//models:bert_rv64.flash"
FLASH = [sys.executable, "-m", "tools.flash.main"]


def commands() -> list[list[str]]:
    """Returns the words of every tools/bazel line of the walkthrough."""
    page = Path("boards/README.md").read_text()
    section = page.split("## From an unpacked BPI-F3")[1].split("\n## ")[0]
    return [shlex.split(line) for line in re.findall(r"^    (tools/bazel .*)$", section, re.M)]


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def label(words: list[str]) -> str:
    """Returns the label that a command builds."""
    return next(word for word in words if word.startswith("//"))


def flash(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs `tools/bazel run --board=//boards/bpi_f3 X.flash -- ARGS` without a board."""
    assert "--board=//boards/bpi_f3" in words, words
    program = Path(PROGRAMS[label(words)]).absolute()
    return run([str(program), *words[words.index("--") + 1 :], "--dry-run"])


class WalkthroughTest(unittest.TestCase):
    def test_every_command(self) -> None:
        seen = set()
        for words in commands():
            with self.subTest(" ".join(words)):
                verb = words[1]
                if label(words).endswith(".flash"):
                    verb = "flash"
                    done = flash(words)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertEqual(done.stdout.splitlines()[-1], "go 0x40000000")
                elif label(words) == "//tools/flash":
                    verb = "list"
                    done = run([*FLASH, *words[words.index("--") + 1 :]])
                    self.assertEqual(done.returncode, 0, done.stdout)
                else:
                    self.assertIn(label(words), BUILT)
                seen.add(verb)
        self.assertEqual(seen, {"build", "flash", "list", "run", "test"})

    def test_bert_goes_by_network_and_is_checked(self) -> None:
        (done,) = (flash(words) for words in commands() if label(words) == BERT)
        self.assertRegex(done.stdout, r"to /srv/tftp/ironcast-bpi_f3.img")
        self.assertRegex(done.stdout, r"setenv serverip 192\.168\.1\.2")
        self.assertRegex(done.stdout, r"tftpboot 0x40000000 ironcast-bpi_f3.img\ncrc32 0x40000000")


class TableTest(unittest.TestCase):
    def test_every_board_is_there_as_tested(self) -> None:
        table = Path("boards/README.md").read_text().split("\n## ")[0]
        rows = re.findall(r"^\| `(\w+)` \|.*\| (\S+)[^|]* \|$", table, re.M)
        described = [json.loads(path.read_text()) for path in Path("boards").glob("*/board.json")]
        self.assertEqual(
            {name: "built" if tested.startswith("**built") else tested for name, tested in rows},
            {
                board["name"]: "built" if board["tested"] == "built" else "run:"
                for board in described
            },
        )


if __name__ == "__main__":
    unittest.main()
