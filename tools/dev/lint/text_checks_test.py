"""Every rule reports a text that breaks it, and no other."""

from __future__ import annotations

import unittest

from tools.dev.lint import text_checks

_STARTS = 'if __name__ == "__main__":\n'


class TextChecksTest(unittest.TestCase):
    def test_each_rule_fires(self) -> None:
        broken = {
            "runtime_bm/plan/x.c": "p = malloc(3);",
            "boards/spike_rv64/x.c": "#include <stdio.h>",
            "runtime_bm/plan/y.c": '#include "runtime_bm/abi/executable_library.h"',
            "compiler/bmc/rewrites/x.py": "import subprocess",
            "compiler/bmc/rewrites/y.py": "print(1)",
            # Escaped, because this file is checked too.
            "tools/x.py": "parser = argparse.ArgumentParser\x28description=__doc__)",
            "tools/x_test.py": _STARTS + "module.\x5fname()",
            "tools/y_test.py": _STARTS + 'mock.patch.object(module, "\x5fname")',
            "tools/z_test.py": "class ZTest(unittest.TestCase): ...",
            "tools/long.py": "x\n" * 1000,
        }
        for path, text in broken.items():
            self.assertEqual(len(text_checks.check({path: text})), 1, path)

    def test_exceptions_stay_quiet(self) -> None:
        fine = {
            "runtime_bm/testing/x.c": "p = malloc(3);",
            "boards/host_x86_64/x.c": "#include <stdio.h>",
            "runtime_bm/exec/y.c": '#include "runtime_bm/abi/executable_library.h"',
            "compiler/bmc/iree/tool.py": "import subprocess",
            "compiler/bmc/iree/x_test.py": _STARTS + "import subprocess",
            "compiler/bmc/cli.py": "print(1)",
            "compiler/bmc/arguments.py": "argparse.ArgumentParser\x28)",
            "tools/x.py": "def main(parser: cli.Parser, args: list[str]) -> int: ...",
            "runtime_bm/base/x.h": "#include <stdint.h>\n#include <limits.h>",
            "tools/x_test.py": _STARTS + "self._name, os._exit(1)",
            "README.md": "x\n" * 1000,
        }
        self.assertEqual(text_checks.check(fine), [])

    def test_each_unit_test_of_c_runs(self) -> None:
        found = {
            "runtime_bm/plan/BUILD.bazel": 'c_tests(name = "tests")',
            "runtime_bm/plan/x_test.c": "int main(void) {}",
            # A driver, in a folder without unit tests.
            "boards/common/sifive_test.c": "",
        }
        label = "//runtime_bm/plan:x_test_lib"
        problem = f"runtime_bm/plan/x_test.c: no file of boards/tests runs {label}"
        self.assertEqual(text_checks.check(found), [problem])
        runs = {"boards/tests/unit_tests.bzl": f'_LIBS = ["{label}"]'}
        self.assertEqual(text_checks.check(found | runs), [])


if __name__ == "__main__":
    unittest.main()
