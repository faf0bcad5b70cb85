from __future__ import annotations

import unittest

from tools.cli import UserError
from tools.dev.site.c_headers import names, parse, render

HEADER = """\
// Digits. A row a_b * c:
//
//   one();
//
//   two();
#ifndef DIGITS_H_
#define DIGITS_H_

#include <stdint.h>

BM_EXTERN_C_BEGIN

// Bytes of a digit.
#define BM_BYTES(x) \\
  ((x) * 2)
#define BM_ROW(x) (x)
#undef BM_ROW

typedef struct bm_digit_t {
  uint32_t value;  // 0; 1 {
} bm_digit_t;

enum { BM_A = 1 };

// About nothing in particular.

// Two of them: bm_read asks <here>.
BM_MUST_USE bm_status_t bm_read(const bm_digit_t *in,
                                uint32_t *out);
static inline void bm_write(uint32_t value) {
  if (value) {
    bm_read(0, 0);
  }
}
extern const uint32_t bm_count;  // at least 1

typedef void (*bm_observer_t)(void *context, uint32_t index);

#endif  // DIGITS_H_
"""


class HeadersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.sections = parse(HEADER, "digits.h")
        self.page = render(self.sections, "digits.h")

    def test_every_declaration_is_found_and_nothing_else(self) -> None:
        self.assertEqual(
            names(self.sections),
            ["BM_BYTES", "bm_digit_t", "bm_read", "bm_write", "bm_count", "bm_observer_t"],
        )

    def test_a_signature_is_one_line_without_what_only_compilers_read(self) -> None:
        self.assertIn(
            ":::{c:function} bm_status_t bm_read(const bm_digit_t *in, uint32_t *out)\n", self.page
        )
        self.assertIn(":::{c:function} void bm_write(uint32_t value)\n", self.page)
        self.assertIn(":::{c:var} const uint32_t bm_count\n", self.page)
        self.assertEqual(self.page.count("The caller must use the result."), 1)
        self.assertNotIn("if (value)", self.page)

    def test_a_comment_is_about_the_declarations_below_it(self) -> None:
        about = [(section.comment[:1], len(section.declarations)) for section in self.sections]
        self.assertIn((("Bytes of a digit.",), 1), about)
        self.assertIn((("About nothing in particular.",), 0), about)
        self.assertIn((("Two of them: bm_read asks <here>.",), 3), about)

    def test_comments_are_text_and_their_indented_lines_are_code(self) -> None:
        self.assertIn("A row a_b \\* c:", self.page)
        self.assertIn("```text\none();\n\ntwo();\n```", self.page)
        self.assertIn("`bm_read` asks \\<here>.", self.page)

    def test_what_is_not_recognized_is_an_error_with_its_line(self) -> None:
        with self.assertRaisesRegex(UserError, "x.h:2: .*'union u {'"):
            parse("// X.\nunion u {\n  int a;\n};\n", "x.h")


if __name__ == "__main__":
    unittest.main()
