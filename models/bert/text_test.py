"""Sentences that are typed at the target's terminal are as similar as PyTorch says."""

from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from bmc import artifacts

SENTENCES = Path(os.environ["SENTENCES"]).read_text(encoding="utf-8").splitlines()


class TextTest(unittest.TestCase):
    def test_typed_sentences_are_as_similar_as_pytorch_says(self) -> None:
        (vectors,) = artifacts.load(Path(os.environ["IMPORTED"])).golden.outputs[0]
        want = vectors[1:] @ vectors[0]
        # The same once more, with accents, case and spaces that make no difference, and in another order.
        first, *others = SENTENCES
        again = [first.upper(), *(f"  {text}\u0301" for text in reversed(others))]
        typed = "".join(f"{line}\r" for line in (*SENTENCES, *again, "/quit"))
        done = subprocess.run(
            [os.environ["PROGRAM"]], input=typed.encode(), stdout=subprocess.PIPE, check=True
        )
        shown = done.stdout.decode()
        got = [float(number) for number in re.findall(r"^ {2,3}(-?\d\.\d{4})  ", shown, re.M)]
        rounding = 6e-5
        for number, right in zip(got, [*want, *reversed(want)], strict=True):
            self.assertLess(abs(number - float(right)), rounding)
        # They are not all alike.
        self.assertGreater(max(got) - min(got), 0.5)


if __name__ == "__main__":
    unittest.main()
