"""What counts as a mutant, and what becomes of some in a small checkout with one Python file and one in C."""

from __future__ import annotations

import os
import random
import tempfile
import unittest
from pathlib import Path

from tools.campaigns.faults.trials import Copy
from tools.campaigns.mutants import equivalent, meaning
from tools.campaigns.mutants.c_tests import Builder
from tools.campaigns.mutants.judge import Judge, labels
from tools.campaigns.mutants.mutant import Mutant, Population
from tools.campaigns.mutants.python_tests import Tests

_TREE = Path(os.environ["TREE"]).resolve().parent

_PYTHON = "compiler/bmc/kernels/sums.py"
_C = "runtime_bm/base/sums.c"
_FILES = {
    _PYTHON: """
        def total(a, b):
            if a > 10:
                return 0
            return a + b
        """,
    "compiler/bmc/kernels/sums_test.py": """
        import unittest
        from bmc.kernels import sums
        class SumsTest(unittest.TestCase):
            def test_total(self):
                self.assertEqual(sums.total(2, 3), 5)
        """,
    # It fails whatever the checkout has, as one does that needs a build.
    "compiler/bmc/kernels/built_test.py": """
        import os
        from bmc.kernels import sums
        os.environ["ONLY_IN_A_BUILD"]
        """,
    _C: """
        #include "runtime_bm/base/sums.h"
        int total(int a, int b) {
          if (a > 10) return 0;
          if (a < -10) return __LINE__;
        #ifdef __riscv
          if (a > 9) return 0;
        #endif
          return a + b;
        }
        """,
    "runtime_bm/base/sums.h": "int total(int a, int b);\n",
    "runtime_bm/base/sums_test.c": """
        #include "runtime_bm/base/sums.h"
        int main(void) { return total(2, 3) != 5; }
        """,
}
# Fails if the sum is wrong for large numbers too.
_BAZEL = """#!/bin/sh
grep -q '10' compiler/bmc/kernels/sums.py || exit 3
"""


class MeaningTest(unittest.TestCase):
    def differs(self, before: str, after: str) -> bool:
        return meaning.differs(".py", before, after)

    def test_what_a_program_does(self) -> None:
        self.assertTrue(self.differs("x = 1", "x = 2"))
        self.assertTrue(self.differs("def f():\n  return 'a'", "def f():\n  return ''"))
        self.assertTrue(self.differs("def f():\n  if a:\n    return\n  b()", "def f():\n  b()"))
        self.assertTrue(
            self.differs("for a in b:\n  if a:\n    continue\n  c()", "for a in b:\n  c()")
        )
        self.assertTrue(self.differs("if a:\n  raise E('x')", "if not a:\n  raise E('x')"))

    def test_what_it_does_not(self) -> None:
        for before, after in (
            ("x = 1  # one", "x = 1  # two"),
            ('"""A."""\n', '""""""\n'),
            ("import a, b", "import b, a"),
            ('__all__ = ["a"]', '__all__ = [""]'),
            ("def f(a: int) -> str: ...", "def f(a: list[int]) -> bool: ..."),
            ("raise E(f'is {a + 1}', hint='b')", "raise E(f'is {a - 1}', hint='')"),
            ("x = BmcError('a')", "x = BmcError('')"),
            ("zip(a, b, strict=True)", "zip(a, b, strict=False)"),
            ("assert a is not None", "assert a is None"),
            ("for a in b:\n  c(a)", "for a in b:\n  c(a)\n  continue"),
            ("for a in b:\n  if a:\n    c()", "for a in b:\n  if a:\n    c()\n    continue"),
            ("def f():\n  a()\n  return None", "def f():\n  a()\n  pass"),
            ("def f():\n  return None", "def f():\n  return"),
            ("while a:\n  return b", "while a:\n  return b\n  break"),
            ("if a:\n  # b\n  b()", "if a:\n  pass\n  b()"),
        ):
            self.assertFalse(self.differs(before, after), after)

    def test_what_is_no_program(self) -> None:
        self.assertFalse(self.differs("x = 1", "x = ("))
        self.assertFalse(self.differs("x = 1", "break"))

    def test_c(self) -> None:
        self.assertTrue(meaning.differs(".c", "a = 1; // one", "a = 2; // one"))
        self.assertFalse(meaning.differs(".c", "a = 1; // one", "a  = 1; /* two */"))
        self.assertFalse(meaning.differs(".c", 'puts("a");', 'puts("");'))


class JudgeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        root = Path(folder.name).resolve()
        cls.copy = Copy(root / "copy")
        for name, text in (_FILES | {"tools/bazel": _BAZEL}).items():
            path = cls.copy.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("\n        ", "\n").lstrip("\n"))
        (cls.copy.folder / "tools/bazel").chmod(0o755)
        (root / "objects").mkdir()
        clang, ar = (Path(os.environ[name]).absolute() for name in ("CLANG", "AR"))
        cls.builder = Builder(clang, ar, cls.copy.folder, root / "objects")
        cls.tests = Tests(cls.copy.folder)

    def become(self, file: str, old: str, new: str, *, quick: bool = True) -> str:
        """What becomes of the file with a change; the file is as before afterwards."""
        path = self.copy.folder / file
        before = path.read_text()
        after = before.replace(old, new)
        self.assertNotEqual(before, after)
        table = {(_PYTHON, "if a > 10:", "if a > 12:"): "nobody adds so much"}
        judge = Judge(self.copy, self.tests, self.builder, quick, table)
        result = judge(7, Mutant(file, before, after, 2, old, new))
        self.assertEqual(path.read_text(), before)
        self.assertEqual(result.find is not None, result.outcome == "survived")
        return result.outcome

    def test_python(self) -> None:
        self.assertEqual(self.become(_PYTHON, "a + b", "a - b"), "killed beside the file")
        self.assertEqual(self.become(_PYTHON, "a > 10", "a > 11"), "survived")
        self.assertEqual(self.become(_PYTHON, "if a > 10:", "if a > 12:"), "equivalent")

    def test_the_package_judges_what_survives(self) -> None:
        outcome = self.become(_PYTHON, "a > 10", "a > 11", quick=False)
        self.assertEqual(outcome, "killed by its package")
        self.assertEqual(self.become(_PYTHON, "return 0", "return 1", quick=False), "survived")

    def test_c(self) -> None:
        self.assertEqual(self.become(_C, "a + b", "a - b"), "killed beside the file")
        self.assertEqual(self.become(_C, "a > 10", "a >= 11"), "the same machine code")
        self.assertEqual(self.become(_C, "{\n", "{\n;\n"), "the same machine code")
        self.assertEqual(self.become(_C, "a > 10", "a > 11"), "survived")
        self.assertEqual(self.become(_C, "a + b;", "a + b"), "does not compile")
        self.assertEqual(self.become(_C, "a > 9", "a > 8"), "no test beside the file")
        other = self.copy.folder / "runtime_bm/base/other.h"
        other.write_text("int x;")
        self.assertEqual(
            self.become("runtime_bm/base/other.h", "x", "y"), "no test beside the file"
        )
        other.unlink()

    def test_sample(self) -> None:
        population = Population.of(self.copy.folder)
        self.assertEqual(set(population.lines), {_PYTHON, _C, "runtime_bm/base/sums.h"})
        self.assertEqual(set(population.below("compiler").lines), {_PYTHON})
        found = [population.sample(random.Random(i), self.builder.is_c) for i in range(30)]
        self.assertEqual(found[3], population.sample(random.Random(3), self.builder.is_c))
        self.assertEqual(
            {mutant.file for mutant in found} - {"runtime_bm/base/sums.h"}, {_PYTHON, _C}
        )
        for mutant in found:
            lines = mutant.before.splitlines()
            self.assertEqual(lines[mutant.line - 1].strip(), mutant.old)
            self.assertIn(mutant.new.splitlines()[-1], mutant.diff())

    def test_labels(self) -> None:
        self.assertEqual(labels(_PYTHON), ["//compiler/bmc/kernels/..."])
        self.assertEqual(labels("tools/flash/board.py"), ["//tools/flash/..."])
        self.assertIn("//boards/tests/...", labels(_C))


class EquivalentTest(unittest.TestCase):
    def test_every_row_still_applies(self) -> None:
        self.assertEqual(equivalent.problems(equivalent.load(), _TREE), [])

    def test_row_that_does_not(self) -> None:
        gone = {("WORKSPACE", "no such line", "x"): "why"}
        self.assertIn("no line is", equivalent.problems(gone, _TREE)[0])
        self.assertIn("no line is", equivalent.problems({("none", "a", "b"): "why"}, _TREE)[0])


if __name__ == "__main__":
    unittest.main()
