import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

from boards import new

TEMPLATE = Path("boards/template")


class NewTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.into = Path(folder.name) / "boards"

    def run_main(self, *args: str) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            status = new.main([*args, "--into", str(self.into)])
        return status, said.getvalue()

    def test_is_the_template_under_another_name(self) -> None:
        status, said = self.run_main("mine")
        self.assertEqual(status, 0, said)
        made = self.into / "mine"
        old = {path.name for path in TEMPLATE.iterdir()}
        self.assertEqual({path.name for path in made.iterdir()}, old)
        # Except for the name, the Starlark is that of a board whose tests run.
        starlark = (TEMPLATE / "BUILD.bazel").read_text()
        self.assertEqual(
            (made / "BUILD.bazel").read_text(), starlark.replace('"template"', '"mine"')
        )
        self.assertIn('name = "mine"', (made / "BUILD.bazel").read_text())
        self.assertNotIn('"template"', (made / "BUILD.bazel").read_text())

    def test_says_what_is_true_of_it(self) -> None:
        self.run_main("mine")
        board = json.loads((self.into / "mine/board.json").read_text())
        self.assertEqual((board["name"], board["tested"]), ("mine", "built"))
        readme = (self.into / "mine/README.md").read_text()
        self.assertIn("**Built, not run.**", readme)
        self.assertIn("| 0x20000000 | flash, 33,554,432 bytes |", readme)

    def test_from_another_board(self) -> None:
        self.run_main("mine")
        written = new.make("mine", "other", self.into, "@ironcast")
        self.assertEqual({path.parent.name for path in written}, {"other"})
        board = json.loads((self.into / "other/board.json").read_text())
        self.assertEqual(board["name"], "other")
        self.assertIn("Made from `mine`", (self.into / "other/README.md").read_text())

    def test_labels_name_ironcast_in_another_workspace(self) -> None:
        self.run_main("mine", "--repository=@ironcast")
        new.make("mine", "other", self.into, "@ironcast")
        for name in ("mine", "other"):
            starlark = (self.into / name / "BUILD.bazel").read_text()
            self.assertIn('load("@ironcast//tools/rules:defs.bzl"', starlark)
            self.assertIn('"@ironcast//boards/common:riscv"', starlark)
            self.assertIn('"@platforms//cpu:riscv64"', starlark)
            self.assertNotRegex(starlark, '"//(?!visibility:)|@ironcast@')

    def test_refusals(self) -> None:
        self.run_main("mine")
        for args, sentence in {
            ("mine",): "already exists",
            ("Mine",): "cannot be a board's name",
            ("../mine",): "cannot be a board's name",
            ("other", "--from", "none"): "there is no board none",
        }.items():
            with self.subTest(args):
                status, said = self.run_main(*args)
                self.assertEqual(status, 1)
                self.assertIn(sentence, said)
        self.assertFalse((self.into / "other").exists())


if __name__ == "__main__":
    unittest.main()
