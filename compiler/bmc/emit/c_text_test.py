"""Tests the text of C and assembly. What a compiler reads in the strings is tested with hostile names."""

from __future__ import annotations

import unittest

from bmc.emit import c_text
from bmc.errors import BmcError


class NameTest(unittest.TestCase):
    def test_names_that_are_taken(self) -> None:
        for name in ("int", "while", "restrict", "bool", "main", "bm_", "bm_model"):
            with self.assertRaises(BmcError, msg=name) as caught:
                c_text.check_name(name)
            self.assertEqual(caught.exception.kind, "bad-name")
            self.assertIn(f"'{name}' is a name of C or of the runtime", caught.exception.message)
        for name in ("int8", "main_", "bm", "bmc_model", "whiles"):
            self.assertEqual(c_text.check_name(name), name)

    def test_prefixes_of_symbols(self) -> None:
        for name in ("m", "resnet8_int8", "a1_"):
            self.assertEqual(c_text.check_name(name), name)
        for name in ("", "1a", "_a", "A", "a-b", "a\n", "é", "a.b"):
            with self.assertRaises(BmcError, msg=name) as caught:
                c_text.check_name(name)
            self.assertEqual(caught.exception.kind, "bad-name")


class StringTest(unittest.TestCase):
    def test_nothing_ends_a_string_or_is_read_as_something_else(self) -> None:
        for text, literal in (
            ("conv/1:0", '"conv/1:0"'),
            ('a"b\\', r'"a\042b\134"'),
            # No trigraph, and a digit that is not part of the escape before it.
            ("??/1", r'"\077\077/1"'),
            ("é1", r'"\303\2511"'),
            ("\n", r'"\077"'),
        ):
            self.assertEqual(c_text.string(text), literal)

    def test_bytes_with_the_terminator(self) -> None:
        self.assertEqual(c_text.string_bytes(""), 1)
        self.assertEqual(c_text.string_bytes("é1"), 4)


class BlobTest(unittest.TestCase):
    def test_the_file_is_aligned_behind_its_symbol(self) -> None:
        before, symbol, behind = c_text.include_blob(".w", "m_w", "w.bin").partition("\nm_w:\n")
        self.assertTrue(symbol)
        self.assertIn("\n    .balign 64\n", before)
        self.assertTrue(behind.startswith('    .incbin "w.bin"\n'), behind)

    def test_a_file_is_padded_to_words(self) -> None:
        text = c_text.include_blob(".a", "symbol", "file.bin")
        self.assertIn('"file.bin"\n    .size symbol, . - symbol\n    .balign 4\n', text)


class ArrayTest(unittest.TestCase):
    def test_one_item_a_line(self) -> None:
        self.assertEqual(
            c_text.array("static const int k", ("1", "2")),
            "static const int k[] = {\n    1,\n    2,\n};\n\n",
        )

    def test_several_numbers_a_line(self) -> None:
        self.assertEqual(
            c_text.packed_array("int k", range(3), per_line=2),
            "int k[] = {\n    0u, 1u,\n    2u,\n};\n\n",
        )

    def test_c_has_no_empty_arrays(self) -> None:
        self.assertEqual(c_text.array("int k", ()), "")
        self.assertEqual(c_text.packed_array("int k", ()), "")


if __name__ == "__main__":
    unittest.main()
