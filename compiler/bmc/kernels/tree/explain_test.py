"""Tests what is shown of a kernel; README.md shows the first one."""

from __future__ import annotations

import textwrap
import unittest
from pathlib import Path

from products import padded

from bmc.kernels.problem.product import Loop, Node, Product
from bmc.kernels.problem.scatter import Scatter
from bmc.kernels.schedule import gemm, scatter
from bmc.kernels.tree.explain import explained

_FOLDER = Path(__file__).parents[1]
_README = (_FOLDER / "README.md").read_text(encoding="utf-8")
_POINTWISE = Product(
    dtypes=("f32",) * 4,
    outer=(),
    rows=(Loop(144, (4, 0, 64, 0)),),
    lanes=Loop(16, (0, 4, 4, 4)),
    summed=(Loop(8, (576, 64, 0, 0)),),
    initial=None,
    epilogue=(
        Node("sum", "f32"),
        Node("load", "f32", operand=3),
        Node("addf", "f32", (0, 1)),
        Node("constant", "f32"),
        Node("maximumf", "f32", (2, 3)),
    ),
)


class ExplainTest(unittest.TestCase):
    def test_the_readme_names_every_file(self) -> None:
        files = {
            file.relative_to(_FOLDER)
            for file in _FOLDER.rglob("*.py")
            if not file.stem.startswith("__") and not file.stem.endswith("_test")
        }
        self.assertIn(Path("tree/assembly.py"), files)
        for file in files:
            with self.subTest(file=file):
                rows = [row for row in _README.splitlines() if row.startswith("| `")]
                parent = "`dtypes`" if file.parent == Path() else f"`{file.parent}/`"
                (row,) = (row for row in rows if row.startswith(f"| {parent}"))
                self.assertIn(f"`{file.stem}`", row)

    def test_the_readme_shows_a_1x1_convolution(self) -> None:
        shown = explained(_POINTWISE, gemm.write(_POINTWISE, 256))
        problem, tree, text = shown.split("\n\n")
        for part, first in ((problem, "problem: Product"), (tree, "tree: 3,356 instructions")):
            heading, _, rest = part.partition("\n")
            self.assertEqual(heading, first)
            self.assertIn(f"```\n{rest}\n```", _README)
        self.assertIn("3,356", _README)
        self.assertIn("text: arguments x10 x11 x12 x13; scratch 0 B\n  li x14, 0\n", text)

    def test_branches(self) -> None:
        product = padded((7, 5), 64, 3, "i8", value=-3)
        shown = explained(product, gemm.write(product, 256))
        self.assertRegex(shown, r"\n +inside the image:\n.*vwmacc(.*\n)+ +outside:\n")
        self.assertIn("steps 1 0 along edges", shown)
        it = Scatter(4, 7, 40, 4)
        shown = explained(it, scatter.write(it, 256, 64))
        self.assertIn("problem: Scatter\n  count: 4\n", shown)
        self.assertRegex(
            shown,
            textwrap.dedent(r"""
            tree: \d+ instructions
              li
              4 times:
                if the index is in range:
        """).strip(),
        )


if __name__ == "__main__":
    unittest.main()
