import contextlib
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

from boards import new

TEMPLATE = Path("boards/template/BUILD.bazel")
# //examples:consumer_test builds it and boots it.
SENSOR_NODE = Path(os.environ["TREE"]).resolve().parent / "examples/consumer/boards/sensor_node"
MOST_LINES = 40
# A board whose facts BUILD.bazel does not have.
OLD_BUILD = """load("//tools/rules:defs.bzl", "bm_board")

bm_board(
    name = "old",
    description = "board.json",
    hal = ":hal",
    isa = "rv64gc",
    memory = "memory.ldh",
)
"""
OLD_JSON = {"name": "old", "title": "Old", "tested": "run", "memory": []}


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

    def starlark(self, name: str) -> str:
        return (self.into / name / "BUILD.bazel").read_text()

    def test_is_the_template_under_another_name(self) -> None:
        status, said = self.run_main("mine")
        self.assertEqual(status, 0, said)
        made = {path.name for path in (self.into / "mine").iterdir()}
        self.assertEqual(made, {"BUILD.bazel", "README.md"})
        # Except for what is not true of it, it is a board whose tests run.
        said_of_it = {
            '"template"': '"mine"',
            '"A board to copy"': '"mine"',
            '    tested = "run",\n': "",
        }
        expected = TEMPLATE.read_text()
        for old, new_text in said_of_it.items():
            self.assertIn(old, expected)
            expected = expected.replace(old, new_text)
        self.assertEqual(self.starlark("mine"), expected)
        self.assertLessEqual(len(expected.splitlines()), MOST_LINES)
        self.assertIn("**Built, not run.**", (self.into / "mine/README.md").read_text())

    def test_a_board_fresh_from_here_is_built_and_booted(self) -> None:
        self.run_main("sensor_node", "--repository=@ironcast")
        self.assertEqual(
            self.starlark("sensor_node"), (SENSOR_NODE / "BUILD.bazel").read_text(), SENSOR_NODE
        )

    def test_from_another_board(self) -> None:
        self.run_main("mine")
        written = new.make("mine", "other", self.into, "@ironcast")
        self.assertEqual({path.parent.name for path in written}, {"other"})
        self.assertIn('name = "other"', self.starlark("other"))
        self.assertIn("Made from `mine`", (self.into / "other/README.md").read_text())

    def test_from_a_board_with_files_of_its_own(self) -> None:
        old = self.into / "old"
        old.mkdir(parents=True)
        texts = {
            "BUILD.bazel": OLD_BUILD,
            "board.json": json.dumps(OLD_JSON),
            "memory.ldh": "MEMORY {}\n",
            "board.c": "void bm_hal_init(void) {}\n",
        }
        for name, text in texts.items():
            (old / name).write_text(text)
        new.make("old", "mine", self.into)
        made = self.into / "mine"
        self.assertEqual(
            json.loads((made / "board.json").read_text()),
            {"name": "mine", "title": "mine", "tested": "built", "memory": []},
        )
        for name in ("memory.ldh", "board.c"):
            self.assertEqual((made / name).read_text(), texts[name])
        self.assertIn('name = "mine"', self.starlark("mine"))

    def test_labels_name_ironcast_in_another_workspace(self) -> None:
        self.run_main("mine", "--repository=@ironcast")
        new.make("mine", "other", self.into, "@ironcast")
        new.make("esp32c6", "chip", self.into, "@ironcast")
        self.assertIn('"@ironcast//boards/common:esp"', self.starlark("chip"))
        self.assertIn('"@platforms//cpu:riscv32"', self.starlark("chip"))
        for name in ("mine", "other", "chip"):
            starlark = self.starlark(name)
            self.assertIn('load("@ironcast//tools/rules:defs.bzl"', starlark)
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
