"""Tests names that come from IREE and from model files."""

from __future__ import annotations

import unittest

from bmc import names


class NamesTest(unittest.TestCase):
    def test_only_what_prints_as_one_character_is_kept(self) -> None:
        self.assertEqual(names.printable("\x1b[2J a\nb\t\u202e\ud800"), "?[2J a?b???")
        self.assertEqual(names.printable("naïve 名前"), "naïve 名前")

    def test_what_is_long_loses_its_middle(self) -> None:
        self.assertEqual(names.brief("0123456789", 10), "0123456789")
        self.assertEqual(names.brief("0123456789ab", 10), "01 ... 9ab")
        self.assertEqual(len(names.brief("a" * 10_000_000)), 4000)

    def test_op_signatures(self) -> None:
        for function, signature in (
            ("main_dispatch_15_matmul_128x512x128_f32", "matmul_128x512x128_f32"),
            ("my_model_dispatch_0_elementwise_16", "elementwise_16"),
            # These are not names that IREE makes.
            ("main_dispatch_x_matmul", "main_dispatch_x_matmul"),
            ("_dispatch_0_matmul", "_dispatch_0_matmul"),
            ("main_dispatch_0", "main_dispatch_0"),
            ("memcpy", "memcpy"),
        ):
            self.assertEqual(names.op_signature(function), signature)


if __name__ == "__main__":
    unittest.main()
