"""Every fault of the table still applies, and a table that is stale or malformed is told from a good one."""

from __future__ import annotations

import os
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from tools.campaigns.faults import table
from tools.campaigns.faults.table import Fault
from tools.cli import UserError

_TREE = Path(os.environ["TREE"]).resolve().parent


class CheckoutTest(unittest.TestCase):
    def test_every_fault_applies_and_its_tests_exist(self) -> None:
        faults = table.load()
        self.assertGreater(len(faults), 100)
        # Every refactoring has to edit them, so a new one takes the place of one that harms less.
        self.assertLessEqual(len(faults), 150)
        # A fault whose text has changed: bring it up to date, or take another one of its kind.
        self.assertEqual(table.problems(faults, _TREE), [])


class ProblemsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)
        (self.tree / "a").mkdir()
        (self.tree / "a/x.py").write_text("y = b + c\nz = (b - c)\nz -= 1\n")
        (self.tree / "a/BUILD.bazel").write_text('test(name = "x_test", libs = ["//a:y_test_lib"])')
        self.good = Fault("f", "a/x.py", "b + c", "b - c", "sums are wrong", ("//a:x_test",))

    def check(self, *parts: str, **changes: object) -> None:
        """Asserts that the fault with these changes has one problem, whose text contains the parts."""
        (problem,) = table.problems((replace(self.good, **changes),), self.tree)
        for part in ("f: ", *parts):
            self.assertIn(part, problem)

    def test_good_ones(self) -> None:
        other = replace(self.good, tests=("//a:y_test", "//a:x_test"))
        self.assertEqual(table.problems((self.good, other), self.tree), [])

    def test_test_that_a_room_finds(self) -> None:
        fault = replace(self.good, tests=("//a:z_test",))
        (self.tree / "a/z_test.py").touch()
        self.assertEqual(len(table.problems((fault,), self.tree)), 1)
        (self.tree / "a/BUILD.bazel").write_text('tool_room(name = "a")')
        self.assertEqual(table.problems((fault,), self.tree), [])
        self.assertEqual(len(table.problems((self.good,), self.tree)), 1)

    def test_text_that_does_not_occur_once(self) -> None:
        self.check("occurs 0 times in a/x.py", old="b * c")
        self.check("occurs 2 times", old="z ")

    def test_file_that_is_gone(self) -> None:
        self.check("a/none.py", file="a/none.py")

    def test_change_that_changes_nothing_or_is_no_python(self) -> None:
        self.check("changes nothing", new="b + c")
        self.check("never closed", new="(b")

    def test_tests_that_do_not_exist(self) -> None:
        for tests in ((), ("//a:z_test",), ("//a:x",), ("//b:x_test",), ("a:x_test",)):
            self.check("no test", tests=tests)
        self.check("no harm", harm=" ")


class LoadTest(unittest.TestCase):
    def load(self, text: str) -> tuple[Fault, ...]:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "t.toml").write_text(text)
            return table.load(Path(folder))

    def test_fields(self) -> None:
        row = "[[fault]]\nname = 'f'\nfile = 'x'\nold = 'a'\nnew = ''\nharm = 'h'\ntests = ['//a:b']\n"
        (fault,) = self.load(row)
        self.assertEqual(fault, Fault("f", "x", "a", "", "h", ("//a:b",)))
        self.assertEqual(self.load(row + "survives = 'why'\n")[0].survives, "why")
        for bad in (row.replace("harm = 'h'\n", ""), row + "harms = 'h'\n"):
            with self.assertRaisesRegex(UserError, "t.toml: a fault lacks or has a field"):
                self.load(bad)
        with self.assertRaisesRegex(UserError, "two faults are called f"):
            self.load(row + row)


if __name__ == "__main__":
    unittest.main()
