"""Tests what digests of texts tell apart."""

from __future__ import annotations

import unittest

from texts import Digest, compared, renamed

_TEXT = "li x10, 4\nvle32.v v8, (x11)\nvfmacc.vf v8, f3, v16, v0.t\n"


class TextsTest(unittest.TestCase):
    def test_registers_are_renamed_in_order_of_first_use(self) -> None:
        other = _TEXT.replace("x10", "x5").replace("x11", "x28").replace("v8", "v24")
        self.assertEqual(renamed(_TEXT), renamed(other))
        # Two registers that become one are another text, and so is a mask that is none.
        self.assertNotEqual(renamed(_TEXT), renamed(_TEXT.replace("x11", "x10")))
        self.assertNotEqual(renamed(_TEXT), renamed(_TEXT.replace("v0.t", "v1.t")))

    def test_how_a_line_changed(self) -> None:
        line = Digest.of([_TEXT]).line("m")
        self.assertEqual(compared(None, line), "new")
        self.assertEqual(compared(line, line), "same")
        moved = Digest.of([_TEXT.replace("x10", "x12")]).line("m")
        self.assertEqual(compared(line, moved), "other registers")
        for texts in ([_TEXT.replace("4", "8")], [_TEXT, _TEXT], []):
            self.assertEqual(compared(line, Digest.of(texts).line("m")), "differs")


if __name__ == "__main__":
    unittest.main()
