"""Holds boards/README.md to its word: what it tells the owner of a BPI-F3, as far as that goes without
one, and the table of boards."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

# What stands in place of `tools/bazel run LABEL`, built by Bazel: label on the page -> image.
IMAGES = dict(pair.split("=") for pair in os.environ["IMAGES"].split())
# Labels on the page that are built or tested as they are, by other tests.
BUILT = set(os.environ["BUILT"].split())
FLASH = [sys.executable, "-m", "tools.flash.main"]


def commands() -> list[list[str]]:
    """Returns the words of every tools/bazel line of the walk-through."""
    page = Path("boards/README.md").read_text()
    section = page.split("## From an unpacked BPI-F3")[1].split("\n## ")[0]
    return [shlex.split(line) for line in re.findall(r"^    (tools/bazel .*)$", section, re.M)]


def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def flash(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs `tools/bazel run --board=BOARD X.flash -- ARGS` without a board."""
    (flag,) = (word for word in words if word.startswith("--board="))
    (label,) = (word for word in words if word.endswith(".flash"))
    board = flag.removeprefix("--board=")
    image = IMAGES[label.removesuffix(".flash")]
    args = [*FLASH, image, "--board", f"boards/{board}/board.json"]
    return run([*args, *words[words.index("--") + 1 :], "--dry-run"])


class WalkthroughTest(unittest.TestCase):
    def test_every_command(self) -> None:
        seen = set()
        for words in commands():
            with self.subTest(" ".join(words)):
                verb = words[1]
                if any(word.endswith(".flash") for word in words):
                    verb = "flash"
                    done = flash(words)
                    self.assertEqual(done.returncode, 0, done.stdout)
                    self.assertEqual(done.stdout.splitlines()[-1], "go 0x40000000")
                elif words[2] == "//tools/flash":
                    verb = "list"
                    done = run([*FLASH, *words[words.index("--") + 1 :]])
                    self.assertEqual(done.returncode, 0, done.stdout)
                else:
                    self.assertIn(words[2], BUILT)
                seen.add(verb)
        self.assertEqual(seen, {"build", "flash", "list", "run", "test"})

    def test_bert_goes_by_network_and_is_checked(self) -> None:
        (done,) = (flash(words) for words in commands() if "//models:bert_rv64.flash" in words)
        self.assertRegex(done.stdout, r"to /srv/tftp/ironcast-bpi_f3.img")
        self.assertRegex(done.stdout, r"setenv serverip 192\.168\.1\.2")
        self.assertRegex(done.stdout, r"tftpboot 0x40000000 ironcast-bpi_f3.img\ncrc32 0x40000000")

    def test_an_image_for_another_board_is_refused(self) -> None:
        image = ["--board=canmv_k230", "//models:mlp_rv64.flash", "--"]
        done = flash(["tools/bazel", "run", *image])
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("bpi_f3", done.stdout)


class TableTest(unittest.TestCase):
    def test_every_board_is_there_as_tested(self) -> None:
        page = Path("boards/README.md").read_text()
        rows = re.findall(r"^\| `(\w+)` \|.*\| (\S+)[^|]* \|$", page, re.M)
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
