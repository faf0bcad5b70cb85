from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from tools.dev.site import starlark_files
from tools.dev.site.starlark_files import Files, public, remember, render

FILES = {
    "tools/providers.bzl": """\
"Providers."
BmInfo = provider(doc = "A thing.", fields = {"name": "string: `<x>` | its name."})
""",
    "tools/private.bzl": '''\
"Parts."
load("@else//:x.bzl", "thing")
load("//tools:providers.bzl", "BmInfo")
COMMON = {"board": attr.label(doc = """Where
    it runs.""", mandatory = True, providers = [BmInfo, OutputGroupInfo])}
def _impl(ctx):
    return [thing(ctx)]
bm_rule = rule(
    implementation = _impl,
    doc = "Makes <it>.",
    attrs = COMMON | {
        "mode": attr.string(default = "fast", values = ["fast", "small"]),
        "_tool": attr.label(default = thing.tool),
    },
    executable = True,
)
def bm_macro(*, name, tags = [], **kwargs):
    """Makes `<name>`.

    Args:
      name: of the target,
        in one line.
      tags: of the test.
      **kwargs: the rest.

    Returns:
      a label.
    """
    bm_rule(name = name)
''',
    "tools/defs.bzl": '''\
"""All of it.

    bm_macro(name = "x")
"""
load(":private.bzl", _bm_macro = "bm_macro")
load("//tools:private.bzl", _bm_rule = "bm_rule")
_SET = [str(depset([Label("//x").name], order = "default")) for _ in [1]]
bm_macro = _bm_macro
bm_rule = _bm_rule
''',
}


class StarlarkTest(unittest.TestCase):
    def setUp(self) -> None:
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        for name, text in FILES.items():
            file = Path(work.name) / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        self.files = Files(Path(work.name))
        remember(self.files.load("tools/providers.bzl"))
        self.names = self.files.load("tools/defs.bzl")
        self.page = render("Rules", "tools/defs.bzl", self.names)

    def test_what_is_public_is_shown(self) -> None:
        self.assertEqual(set(public(self.names)), {"bm_macro", "bm_rule"})
        self.assertNotIn("_tool", self.page)

    def test_a_rule_shows_attributes_wherever_they_come_from(self) -> None:
        self.assertIn('bm_rule(\n    name,\n    board,\n    mode = "fast",\n)', self.page)
        self.assertIn(
            "| `board` | *label, a target with `BmInfo`, mandatory*. Where it runs. |", self.page
        )
        self.assertIn("| `mode` | *string, one of `fast`, `small`*.", self.page)
        self.assertIn("`bazel run` runs it.", self.page)
        self.assertIn("Makes \\<it>.", self.page)

    def test_a_macro_shows_its_signature_and_docstring(self) -> None:
        self.assertIn("bm_macro(\n    name,\n    tags = [],\n    **kwargs,\n)", self.page)
        self.assertIn("| `name` | of the target, in one line. |", self.page)
        self.assertIn("Returns: a label.", self.page)
        self.assertIn('\n    bm_macro(name = "x")', self.page)

    def test_a_provider_shows_its_fields(self) -> None:
        page = render("Providers", "tools/providers.bzl", self.files.load("tools/providers.bzl"))
        self.assertIn("| `name` | string: `<x>` \\| its name. |", page)

    def test_a_name_that_a_file_does_not_have_is_noticed(self) -> None:
        (self.files.root / "tools/bad.bzl").write_text('load("//tools:defs.bzl", "gone")\n')
        with self.assertRaises(KeyError):
            self.files.load("tools/bad.bzl")

    def test_a_macro_without_arguments_has_no_table(self) -> None:
        self.assertEqual(starlark_files.split("Text.\n\nMore."), ("Text.\n\nMore.", {}, ""))


if __name__ == "__main__":
    unittest.main()
