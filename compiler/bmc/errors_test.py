"""Tests how an error reads."""

from __future__ import annotations

import unittest

from bmc.errors import BmcError


class BmcErrorTest(unittest.TestCase):
    def test_a_sentence_is_one_line_without_escape_sequences(self) -> None:
        error = BmcError("x", "op '\x1b[2Ja\nb'", where="\u202e.py:1", hint="\r")
        self.assertEqual(str(error), "error[x]: op '?[2Ja?b' (at ?.py:1)\n  hint: ?")
        self.assertEqual(error.message, "op '?[2Ja?b'")

    def test_names_of_millions_of_characters_are_cut(self) -> None:
        name = "n" * 10_000_000
        error = BmcError(
            "x", f"op '{name}' is not known", where=f"{name} in m", hint=f"leave {name}"
        )
        self.assertLess(len(str(error)), 12_100)
        self.assertRegex(error.message, "^op 'n+ ... n+' is not known$")

    def test_parts_that_are_empty_are_left_out(self) -> None:
        self.assertEqual(str(BmcError("x", "it is wrong")), "error[x]: it is wrong")


if __name__ == "__main__":
    unittest.main()
