"""Tests of pictures of runs: what is in one, and which differences are noticed."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from unittest import mock

from tools.run import picture
from tools.run.result import Outcome

RUN = Outcome(
    (
        "BM1 BOOT isa=rv64gc vlen=0 board=desk",
        "BM1 MODEL name=net",
        "BM1 CASE index=0 result=ok max_abs=1.5e-07 differing=3",
        "  a < b  & c",
        "BM1 STATS instret=12345 cycles=0 arena=512 stack=96",
        "BM1 PASS cases=1",
    ),
    0,
)


class PictureTest(unittest.TestCase):
    def setUp(self) -> None:
        self.drawn = picture.draw("tools/bazel run //net", picture.printed(RUN))

    def test_it_has_the_command_and_the_lines_of_the_terminal(self) -> None:
        lines = [
            "".join(line.itertext())
            for line in ElementTree.fromstring(self.drawn)
            if line.tag.endswith("text")
        ]
        self.assertEqual(lines[:3], ["$ tools/bazel run //net", "rv64gc on desk", "  a < b  & c"])
        self.assertRegex(lines[3], "^net +PASS  error 1.5e-07 +12,345 instructions$")
        self.assertEqual(lines[-1], "PASS: 1 case matches the framework's own output")
        self.assertEqual(self.drawn.count('class="bold green">PASS<'), 2)

    def test_another_word_or_count_is_noticed(self) -> None:
        self.assertTrue(picture.alike(self.drawn, self.drawn))
        for old, new, alike in (
            ("a &lt; b", "a &lt; d", False),
            ("12,345", "12,545", False),
            ("12,345", "12,355", True),
            ("1.5e-07", "1.6e-07", True),
            ("#171b22", "#ffffff", False),
        ):
            self.assertIn(old, self.drawn)
            self.assertEqual(picture.alike(self.drawn.replace(old, new), self.drawn), alike, new)

    def test_a_picture_is_checked_and_drawn(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        record, shown = folder / "run.json", folder / "run.svg"
        record.write_text(json.dumps(dataclasses.asdict(RUN)))
        shown.write_text(self.drawn.replace("12,345", "22,345"))

        def main(what: str) -> tuple[int, str]:
            args = [str(record), "--command", "tools/bazel run //net", "--picture", str(shown)]
            with contextlib.redirect_stderr(io.StringIO()) as said:
                return picture.main([*args, what]), said.getvalue()

        status, said = main("--check")
        self.assertEqual(status, 1)
        self.assertIn("`tools/bazel run //docs:picture -- --update` draws it", said)
        with mock.patch.dict(os.environ, BUILD_WORKSPACE_DIRECTORY=str(folder)):
            self.assertEqual(main("--update"), (0, ""))
        self.assertEqual(shown.read_text(), self.drawn)
        self.assertEqual(main("--check"), (0, ""))


if __name__ == "__main__":
    unittest.main()
