"""Tokens on the target are those of the package `tokenizers`, on texts of all scripts."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

import compare

COUNT = 400
FOLDER = Path(os.environ["FOLDER"])


def differing(kind: str, tables: str) -> list[str]:
    found = compare.differences(FOLDER / f"{tables}_tokens", FOLDER / f"{kind}.json", COUNT, 0)
    return [str(difference) for difference in found]


class TokensTest(unittest.TestCase):
    def test_tokens_and_texts_are_those_of_the_package(self) -> None:
        for kind in os.environ["TESTED"].split():
            with self.subTest(kind):
                self.assertEqual(differing(kind, kind), [])

    def test_swapped_merges_are_noticed(self) -> None:
        self.assertGreater(len(differing("gpt2", "swapped")), 10)


if __name__ == "__main__":
    unittest.main()
