"""Tests the rounds in which decisions are made."""

from __future__ import annotations

import unittest

from bmc.errors import InternalError
from bmc.rewrites.decisions import Again, Decisions, decided

_FIRST = Decisions(copied=frozenset({(3, 3)}))
_SECOND = Decisions(copied=frozenset({(5,)}), left=frozenset({"main_dispatch_1"}))


class DecidedTest(unittest.TestCase):
    def test_each_round_knows_what_all_before_it_decided(self) -> None:
        rounds: list[Decisions] = []

        def compile_with(decisions: Decisions) -> str:
            rounds.append(decisions)
            if len(rounds) < 3:
                raise Again((_FIRST, _SECOND)[len(rounds) - 1])
            return "done"

        self.assertEqual(decided(compile_with), "done")
        both = Decisions(copied=frozenset({(3, 3), (5,)}), left=_SECOND.left)
        self.assertEqual(rounds, [Decisions(), _FIRST, both])

    def test_a_decision_of_which_nobody_takes_notice_ends_the_rounds(self) -> None:
        def compile_with(_: Decisions) -> str:
            raise Again(_FIRST)

        with self.assertRaisesRegex(InternalError, r"takes no notice of .*\(3, 3\)"):
            decided(compile_with)


if __name__ == "__main__":
    unittest.main()
