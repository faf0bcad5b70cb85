"""Patterns become alternatives of repeated sets; what cannot is refused by its text."""

from __future__ import annotations

import unittest

from bmc.errors import BmcError
from bmc.text import patterns
from bmc.text.characters import Characters
from bmc.text.patterns import UNBOUNDED, Alternative, Item

SPACE, A, B = (Characters(((ord(c), ord(c) + 1),)) for c in " ab")


class PatternsTest(unittest.TestCase):
    def test_repetitions(self) -> None:
        (found,) = patterns.parse(" ?a+b{1,3}")
        self.assertEqual(found, Alternative((Item(SPACE, 0), Item(A, 1, UNBOUNDED), Item(B, 1, 3))))

    def test_groups_are_as_many_alternatives(self) -> None:
        found = patterns.parse("a(?:a|bb)|b")
        a, b = Item(A), Item(B)
        self.assertEqual([x.items for x in found], [(a, a), (a, b, b), (b,)])

    def test_case_is_that_of_the_engine(self) -> None:
        (found,) = patterns.parse("(?i:s)")
        # The long s too.
        self.assertEqual(
            found.items[0].characters.runs, ((0x53, 0x54), (0x73, 0x74), (0x17F, 0x180))
        )

    def test_what_may_not_follow(self) -> None:
        (found,) = patterns.parse(r"\s+(?!\S)")
        self.assertFalse(found.not_before.meets(SPACE))
        self.assertTrue(found.not_before.meets(A))

    def test_refusals(self) -> None:
        for pattern in (
            "a*?b", "(?<=a)b", "a*", "(a|b)+", "^a", "a$", "a.b", "(a", "a)", "[a-z&&[aeiou]]", r"\bword",
            "[ab]*+b", "[ab]*(?:a|b)c", "a{3,1}", "(?!b)a", "abcdefg",
        ):  # fmt: skip
            with self.subTest(pattern), self.assertRaises(BmcError) as caught:
                patterns.parse(pattern)
            self.assertIn(repr(pattern), str(caught.exception))


if __name__ == "__main__":
    unittest.main()
