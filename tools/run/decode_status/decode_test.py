from __future__ import annotations

import os
import re
import subprocess
import unittest
from pathlib import Path

from tools.cli import UserError
from tools.run.decode_status import decode

ROOT = Path(__file__).resolve().parents[3]


class DecodeTest(unittest.TestCase):
    def test_words_are_found_wherever_they_stand(self) -> None:
        for text in (
            "0506d003",
            "0x0506D003",
            "BM1 ERROR status=0506d003 the model cannot be used",
        ):
            self.assertEqual(decode.find_word(text), 0x0506D003)

    def test_text_without_a_word_is_an_error(self) -> None:
        for text in ("", "123", "BM1 ERROR status= nothing"):
            with self.assertRaisesRegex(UserError, "has no status word"):
                decode.find_word(text)

    def test_a_word_names_code_file_and_line(self) -> None:
        status = decode.decode(0x0512300F, decode.read_tables((ROOT / decode.STATUS_H).read_text()))
        self.assertEqual(status.code, "DATA_LOSS")
        self.assertEqual(status.file, "runtime_bm/model/model.c")
        self.assertEqual(status.line, 0x123)

    def test_numbers_out_of_the_tables_are_said_to_be(self) -> None:
        text = decode.describe(0xFE001FFF, ROOT)
        self.assertIn("code 4095 (not in status.h)", text)
        self.assertIn("a file that status.h does not list", text)

    def test_the_source_line_is_shown(self) -> None:
        source = (ROOT / "runtime_bm/model/model.c").read_text().splitlines()
        line = next(i for i, text in enumerate(source, 1) if "BM_CHECK(dtype ==" in text)
        text = decode.describe(5 << 24 | line << 12 | 3, ROOT)
        self.assertIn("INVALID_ARGUMENT (the caller passed something wrong) at runtime_bm", text)
        self.assertIn("BM_CHECK(dtype == tensor.dtype, INVALID_ARGUMENT);", text)

    def test_a_statement_of_several_lines_is_shown_whole(self) -> None:
        source = (ROOT / "runtime_bm/plan/plan_verify.c").read_text().splitlines()
        line = next(
            i
            for i, text in enumerate(source, 1)
            if text.strip() == "BM_CHECK(string_ok(header, entry->name) &&"
        )
        text = decode.describe(3 << 24 | line << 12 | 15, ROOT)
        self.assertRegex(
            text, r"\n    BM_CHECK\(string_ok\(header, entry->name\) && bm_range.*, DATA_LOSS\);$"
        )

    def test_the_target_says_the_same(self) -> None:
        tables = decode.read_tables((ROOT / decode.STATUS_H).read_text())
        self.assertEqual(tables.codes[16], ("DAMAGED", "bytes are not those that were built"))
        words = [0, 0xFFFFFFFF]
        words += [file << 24 | 4095 << 12 | code for file in tables.files for code in tables.codes]
        argv = [os.environ["TEXTS"], *(f"{word:08x}" for word in words)]
        texts = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
        tool = [decode.describe(word, ROOT).split("\n")[0] for word in words]
        self.assertEqual(texts.splitlines(), tool)

    def test_missing_sources_are_one_sentence(self) -> None:
        with self.assertRaisesRegex(UserError, "status.h is missing: run this from"):
            decode.describe(1, Path("/nowhere"))

    def test_every_file_that_raises_is_listed_once_and_exists(self) -> None:
        tables = decode.read_tables((ROOT / decode.STATUS_H).read_text())
        self.assertGreaterEqual(len(tables.files), 7)
        self.assertEqual(tables.files.pop(255), "the application")
        for number, path in tables.files.items():
            define = re.search(r"#define BM_FILE BM_FILE_(\w+)", (ROOT / path).read_text())
            assert define, f"{path} does not define BM_FILE"
            constant = re.search(
                rf"FILE\({define[1]}, {number},", (ROOT / decode.STATUS_H).read_text()
            )
            self.assertIsNotNone(constant, f"{path} raises with a number that is not its own")


if __name__ == "__main__":
    unittest.main()
