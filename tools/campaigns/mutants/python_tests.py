"""Runs the Python tests near a file in a fork of this process, which has loaded what takes long to load."""

from __future__ import annotations

import importlib
import os
import sys
import time
import unittest
from dataclasses import dataclass, field
from pathlib import Path

import workers

# What tests load, and no mutant changes.
_LOADED_BEFORE = (
    "elftools.elf.elffile",
    "iree.compiler.dialects.transform",
    "iree.compiler.ir",
    "iree.runtime",
    "numpy",
    "rich.console",
)
# Of the checkout: the folders that Python looks in, and the packages that are there.
_ROOTS = ("compiler", ".", "compiler/tests")
_PACKAGES = ("bmc", "ironcast", "third_party", "tools")
# A test that takes longer is left to the build.
_SECONDS = 30.0
# Beside other work, a test may take this many times as long as at first.
_SLACK = 5.0


@dataclass(frozen=True)
class _Known:
    """A file of tests as the checkout has it: the seconds it takes, and what it loads; nothing if it fails there."""

    seconds: float
    loads: frozenset[str]


def load() -> None:
    """Loads what tests need, once for all of them."""
    for name in _LOADED_BEFORE:
        importlib.import_module(name)


@dataclass
class Tests:
    """The Python tests of a checkout that need no more than its files."""

    tree: Path
    _known: dict[str, _Known] = field(default_factory=dict)

    def notice(self, file: str, before: str, after: str) -> bool | None:
        """Whether a test in the folder of a file fails, or no longer ends, with another text; None without one."""
        near = self._near(file)
        beside, rest = near[:1], near[1:]
        # Those that are known run in one process, which loads everything once.
        known = [test for test in rest if test in self._known]
        groups = [beside, *([test] for test in rest if test not in self._known), known]
        if any(self._notice(group, file, before, after) for group in groups):
            return True
        return False if any(file in self._known[test].loads for test in near) else None

    def _near(self, file: str) -> list[str]:
        """The tests in the folder of a file, its own first."""
        folder = (self.tree / file).parent
        paths = [*folder.glob("*_test.py"), *folder.glob("tests/*_test.py")]
        names = sorted(path.relative_to(self.tree).as_posix() for path in paths)
        return sorted(names, key=lambda name: not name.endswith(f"/{Path(file).stem}_test.py"))

    def _notice(self, tests: list[str], file: str, before: str, after: str) -> bool:
        """Whether one of several known tests, or of one, fails."""
        known = [self._known[test] for test in tests if test in self._known]
        if known:
            tests = [test for test in tests if file in self._known[test].loads]
        if not tests:
            return False
        seconds = 10 + _SLACK * sum(one.seconds for one in known) if known else _SECONDS
        path = self.tree / file
        path.write_text(after, encoding="utf-8")
        start = time.monotonic()
        try:
            loads = _run(self.tree, tests, seconds)
        finally:
            path.write_text(before, encoding="utf-8")
        if known:
            return not loads
        (test,) = tests
        failed = not loads
        if failed:
            # Perhaps it needs what only a build gives it.
            start = time.monotonic()
            loads = _run(self.tree, tests, _SECONDS)
        self._known[test] = _Known(time.monotonic() - start, frozenset(loads))
        return failed and file in loads


def _run(tree: Path, tests: list[str], seconds: float) -> list[str]:
    """Returns the checkout's files that tests load; none of them if one fails."""

    def work(files: list[str]) -> list[str]:
        return _passes_here(tree, files)

    (done,) = workers.run([tests], work, jobs=1, deadline_seconds=seconds)
    return done.answer or []


def _passes_here(tree: Path, files: list[str]) -> list[str]:
    """In a process of its own: runs tests as the checkout has it now."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    for name in [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]:
        del sys.modules[name]
    packages = [path for path in sys.path if "site-packages" in path or path.startswith(sys.prefix)]
    sys.path[:] = [*(str(tree / root) for root in _ROOTS), *packages]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    os.chdir(tree)
    tests = unittest.TestSuite()
    try:
        for file in files:
            name = file.removesuffix(".py").removeprefix("compiler/").replace("/", ".")
            module = importlib.import_module(name)
            tests.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
        passed = unittest.TextTestRunner(failfast=True).run(tests).wasSuccessful()
    except (Exception, SystemExit):
        return []
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    names = [os.path.abspath(path).removeprefix(f"{tree}/") for path in loaded if path]
    return names if passed and tests.countTestCases() else []
