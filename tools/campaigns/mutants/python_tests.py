"""Runs the Python tests near a file in a fork of this process, which has loaded what takes long to load."""

from __future__ import annotations

import importlib
import os
import resource
import sys
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
# CPU time of one process. A test that takes more is left to the build.
_SECONDS = 30
# For all others of a folder, each.
_MORE_SECONDS = 5
# The clock also runs while other work has the processors.
_DEADLINE_SECONDS = 1200.0


def load() -> None:
    """Loads what tests need, once for all of them."""
    for name in _LOADED_BEFORE:
        importlib.import_module(name)


@dataclass
class Tests:
    """The Python tests of a checkout that need no more than its files.

    What each file of tests loads is known once it has run; nothing if it fails as the checkout is.
    """

    tree: Path
    _loads: dict[str, frozenset[str]] = field(default_factory=dict)

    def notice(self, file: str, before: str, after: str) -> bool | None:
        """Whether a test in the folder of a file fails, or no longer ends, with another text; None without one."""
        near = self._near(file)
        own, rest = near[:1], near[1:]
        # Those that are known run in one process, which loads everything once.
        known = [test for test in rest if test in self._loads]
        groups = [own, *([test] for test in rest if test not in self._loads), known]
        if any(self._notice(group, file, before, after) for group in groups):
            return True
        return False if any(file in self._loads[test] for test in near) else None

    def _near(self, file: str) -> list[str]:
        """The tests in the folder of a file, its own first."""
        folder = (self.tree / file).parent
        paths = [*folder.glob("*_test.py"), *folder.glob("tests/*_test.py")]
        names = sorted(path.relative_to(self.tree).as_posix() for path in paths)
        return sorted(names, key=lambda name: not name.endswith(f"/{Path(file).stem}_test.py"))

    def _notice(self, tests: list[str], file: str, before: str, after: str) -> bool:
        """Whether one of several known tests, or a single one, fails."""
        unknown = [test for test in tests if test not in self._loads]
        tests = [test for test in tests if file in self._loads.get(test, (file,))]
        if not tests:
            return False
        path = self.tree / file
        path.write_text(after, encoding="utf-8")
        try:
            loads = _run(self.tree, tests)
        finally:
            path.write_text(before, encoding="utf-8")
        failed = not loads
        for test in unknown:
            # Perhaps it needs what only a build gives it.
            self._loads[test] = frozenset(_run(self.tree, [test]) if failed else loads)
        return failed and all(file in self._loads[test] for test in tests)


def _run(tree: Path, tests: list[str]) -> list[str]:
    """Returns the checkout's files that tests load; none of them if one fails."""

    def work(files: list[str]) -> list[str]:
        return _passes_here(tree, files)

    (done,) = workers.run([tests], work, jobs=1, deadline_seconds=_DEADLINE_SECONDS)
    return done.answer or []


def _passes_here(tree: Path, files: list[str]) -> list[str]:
    """In a process of its own: runs tests as the checkout has it now."""
    os.setsid()
    seconds = _SECONDS + _MORE_SECONDS * len(files)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
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
