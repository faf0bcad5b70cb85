"""Runs the tests of several files in one process: loading IREE takes longer than most of them.

usage: run_tests.py FILE...   Bazel's --test_filter=WORD picks the tests with that word in their names.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import unittest
from pathlib import Path


def load(path: Path) -> unittest.TestSuite:
    """Returns the tests of a file; raises LookupError if it has none."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    loader = unittest.TestLoader()
    tests = loader.loadTestsFromModule(module)
    if not tests.countTestCases():
        raise LookupError(f"{path} has no tests")
    if word := os.environ.get("TESTBRIDGE_TEST_ONLY"):
        loader.testNamePatterns = [f"*{word}*"]
        tests = loader.loadTestsFromModule(module)
    return tests


def main() -> int:
    """Returns 1 if a test fails."""
    suite = unittest.TestSuite(load(Path(path)) for path in sys.argv[1:])
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
