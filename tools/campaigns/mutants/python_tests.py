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
        if any(self._notices(test, file, before, after) for test in near):
            return True
        return False if any(file in self._known[test].loads for test in near) else None

    def _near(self, file: str) -> list[str]:
        """The test of a file, and then those of its folder, the quickest ones first."""
        folder = (self.tree / file).parent
        paths = [*folder.glob("*_test.py"), *folder.glob("tests/*_test.py")]
        names = sorted(path.relative_to(self.tree).as_posix() for path in paths)
        beside = f"/{Path(file).stem}_test.py"

        def key(name: str) -> tuple[bool, float]:
            return (
                not name.endswith(beside),
                self._known[name].seconds if name in self._known else 0,
            )

        return sorted(names, key=key)

    def _notices(self, test: str, file: str, before: str, after: str) -> bool:
        known = self._known.get(test)
        if known and file not in known.loads:
            return False
        path = self.tree / file
        path.write_text(after, encoding="utf-8")
        start = time.monotonic()
        try:
            loads = _run(self.tree, test, 10 + _SLACK * known.seconds if known else _SECONDS)
        finally:
            path.write_text(before, encoding="utf-8")
        if not loads and not known:
            # Perhaps it needs what only a build gives it.
            start = time.monotonic()
            loads = _run(self.tree, test, _SECONDS)
            self._known[test] = _Known(time.monotonic() - start, frozenset(loads))
            return file in self._known[test].loads
        self._known.setdefault(test, _Known(time.monotonic() - start, frozenset(loads)))
        return not loads


def _run(tree: Path, file: str, seconds: float) -> list[str]:
    """Returns the checkout's files that a test loads; none of them if it fails."""

    def work(_: str) -> list[str]:
        return _passes_here(tree, file)

    (done,) = workers.run([file], work, jobs=1, deadline_seconds=seconds)
    return done.answer or []


def _passes_here(tree: Path, file: str) -> list[str]:
    """In a process of its own: runs a test as the checkout has it now."""
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
    name = file.removesuffix(".py").removeprefix("compiler/").replace("/", ".")
    try:
        tests = unittest.defaultTestLoader.loadTestsFromModule(importlib.import_module(name))
        passed = unittest.TextTestRunner(failfast=True).run(tests).wasSuccessful()
    except (Exception, SystemExit):
        return []
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    root = f"{tree}/"
    loads = [os.path.abspath(path).removeprefix(root) for path in files if path]
    return loads if passed and tests.countTestCases() else []
