"""A conversation at the terminal, in QEMU and on Spike: the text is PyTorch's."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from bmc import artifacts

# With two characters that PyTorch wrote behind the prompt of the golden data.
LINE = "The data set is"
FULL = "The context of 64 tokens has no room for more: /reset begins anew."
HELP = "Type a line, and the model answers. /reset begins anew, /quit ends."
COUNTS = r"\((\d+) tokens read in [1-9]\d* cycles, (\d+) written in [1-9]\d* cycles each\)"


def golden_text() -> str:
    """Returns what PyTorch writes behind LINE."""
    golden = artifacts.load(Path(os.environ["IMPORTED"])).golden
    prompt = bytes(golden.inputs[0][0].tolist()).decode()
    text = prompt + bytes(int(outputs[0][0]) for outputs in golden.outputs).decode()
    assert text.startswith(LINE)
    return text.removeprefix(LINE)


def talk(program: str, *lines: str) -> list[list[str]]:
    """Types lines; returns what the terminal shows behind each of them."""
    typed = "".join(line + "\r" for line in (*lines, "/quit"))
    done = subprocess.run(
        [os.environ[program]], input=typed.encode(), stdout=subprocess.PIPE, check=True
    )
    _, *turns = done.stdout.decode().split("\n> ")
    return [turn.split("\n") for turn in turns]


class ChatTest(unittest.TestCase):
    def test_the_answer_is_pytorchs(self) -> None:
        want = golden_text()
        for program in ("QEMU", "SPIKE"):
            with self.subTest(program):
                begun, more, reset, again, _ = talk(program, LINE, "a", "/reset", LINE)
                self.assertEqual(begun[0], LINE)
                # The context has room for more tokens than the golden data.
                self.assertEqual(begun[1][: len(want)], want)
                counts = re.fullmatch(COUNTS, begun[2])
                assert counts is not None
                self.assertEqual(counts.groups(), ("15", "49"))
                # The token behind the last one that the context holds is still said.
                self.assertEqual(len(begun[1]), 64 - 15 + 1)
                self.assertEqual(begun[3:], [FULL])
                self.assertEqual(more, ["a", FULL])
                self.assertEqual(reset, ["/reset"])
                self.assertEqual(again[1], begun[1])

    def test_another_line_has_another_answer(self) -> None:
        _, (_, answer, *_), _ = talk("QEMU", "/reset", "The number of")
        self.assertNotEqual(answer[:40], golden_text()[:40])

    def test_what_is_typed_can_be_taken_back(self) -> None:
        (line, answer, *_), _ = talk("QEMU", "The datz\u00e9\x7f\x7fa s\x1b[Det is")
        # The terminal shows the two steps back.
        self.assertEqual(line, "The datz\u00e9\b \b\b \ba set is")
        self.assertEqual(answer[:40], golden_text()[:40])

    def test_other_lines(self) -> None:
        empty, command, unknown, _ = talk("QEMU", "  ", "/help", "\u00e9\u4e00")
        self.assertEqual(empty, ["  "])
        self.assertEqual(command, ["/help", HELP])
        self.assertEqual(unknown[1:], ["The model has no token for any of this."])

    def test_a_text_that_ends_an_answer_is_not_shown(self) -> None:
        (_, answer, counts, *_), _ = talk("STOPS", LINE)
        before, _, _ = golden_text().partition("the training")
        self.assertEqual(answer, before)
        # The last character of the text is said by a token that is not taken.
        written = re.fullmatch(COUNTS, counts)
        assert written is not None
        self.assertEqual(int(written[2]), len(before + "the training") - 1)


if __name__ == "__main__":
    unittest.main()
