from __future__ import annotations

import unittest

from tools.cli import UserError
from tools.dev.site.pages import Group, Site, contents, group_page, is_listed, page_of, show_file

FILES = frozenset(
    {
        "README.md",
        "boards/README.md",
        "docs/README.md",
        "docs/drawn.svg",
        "docs/how-to/main.md",
        "docs/python.md",
        "examples/one/README.md",
        "examples/one/main.c",
        "runtime/bm.h",
    }
)


class LinksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site(FILES, {"runtime/bm.h": "reference/c/bm"})

    def rewritten(self, text: str) -> str:
        return self.site.rewritten("docs/how-to/main.md", text)

    def test_a_link_to_a_page_goes_to_its_place(self) -> None:
        self.assertEqual(self.rewritten("[x](../python.md#install)"), "[x](/python.md#install)")
        self.assertEqual(self.rewritten("[x](../../boards/README.md)"), "[x](/boards.md)")
        self.assertEqual(self.rewritten("[x](../../boards)"), "[x](/boards.md)")
        self.assertEqual(self.rewritten("[x](../../README.md)"), "[x](/README.md)")
        self.assertEqual(self.rewritten("[x](../README.md)"), "[x](/index.md)")
        self.assertEqual(self.rewritten("[x](#end)"), "[x](/how-to/main.md#end)")
        self.assertEqual(self.site.shown, set())

    def test_a_link_that_shows_a_file_name_shows_the_title_instead(self) -> None:
        self.assertEqual(self.rewritten("[../python.md](../python.md)"), "[](/python.md)")

    def test_a_link_to_a_header_goes_to_the_reference(self) -> None:
        self.assertEqual(self.rewritten("[x](../../runtime/bm.h)"), "[x](/reference/c/bm.md)")

    def test_a_link_to_another_file_or_folder_goes_to_a_page_that_shows_it(self) -> None:
        self.assertEqual(self.rewritten("[x](../../examples/one)"), "[x](/source/examples/one.md)")
        self.assertEqual(self.site.shown, {"examples/one"})
        self.assertEqual(
            self.site.listing("examples"), ["examples/one/README.md", "examples/one/main.c"]
        )

    def test_a_picture_stays_one(self) -> None:
        self.assertEqual(self.rewritten("![x](../drawn.svg)"), "![x](/docs/drawn.svg)")
        self.assertEqual((self.site.pictures, self.site.shown), ({"docs/drawn.svg"}, set()))

    def test_a_page_of_an_example_is_a_file(self) -> None:
        self.assertEqual(
            self.rewritten("[x](../../examples/one/README.md)"),
            "[x](/source/examples/one/README.md.md)",
        )

    def test_a_link_to_nothing_is_an_error(self) -> None:
        with self.assertRaisesRegex(
            UserError, r"docs/how-to/main.md links to gone.md: there is no"
        ):
            self.rewritten("[x](gone.md)")

    def test_code_and_links_to_elsewhere_stay(self) -> None:
        text = "`[](gone.md)` [x](https://example.com/a.md)\n```c\n[](gone.md);\n```\n"
        self.assertEqual(self.rewritten(text), text)


class PagesTest(unittest.TestCase):
    def test_places(self) -> None:
        self.assertEqual(page_of("docs/README.md"), "index")
        self.assertEqual(page_of("README.md"), "README")
        self.assertEqual(page_of("models/mlp/README.md"), "models/mlp")
        self.assertEqual(page_of("docs/decisions/0001-x.md"), "decisions/0001-x")

    def test_sections_become_the_table_of_contents(self) -> None:
        text = "# T\n\n[r](/README.md#x)\n\n## How\n\n[a](/how/a.md) [s](/source/s.md)\n\n## Why\n\n[d](/d/1.md)\n"
        groups = {"d": Group("Why", "Decisions", ("d/1", "d/2"))}
        page = contents(text, groups, {"How": ["how/a", "how/new"], "Why": ["how/a", "d/2"]})
        self.assertIn("```{toctree}\n:hidden:\n\n/README\n```", page)
        self.assertIn(":caption: How\n:hidden:\n\n/how/a\n/how/new\n```", page)
        self.assertIn(":caption: Why\n:hidden:\n\n/d\n```", page)
        self.assertIn(
            "# Decisions\n\n```{toctree}\n:maxdepth: 1\n\n/d/1\n/d/2\n",
            group_page(groups["d"], None),
        )
        self.assertTrue(
            group_page(groups["d"], "# D\n").startswith("# D\n\n```{toctree}\n:hidden:")
        )

        self.assertTrue(is_listed("how/new", [page]))
        self.assertFalse(is_listed("how/other", [page]))

    def test_a_file_is_shown_as_it_is(self) -> None:
        self.assertIn("\n````c\n```\n````\n", show_file("a/b.c", "```\n\n"))
        self.assertIn("\n```starlark\nx\n```\n", show_file("BUILD.bazel", "x\n"))


if __name__ == "__main__":
    unittest.main()
