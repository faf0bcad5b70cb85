"""House rules on plain text: what freestanding code must not name, how long a file may be.

Also, that a unit test which Bazel finds by its name is run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MAX_LINES = 400
_STARTS = 'if __name__ == "__main__":'

# Folder -> pattern -> reason. The target has no libc and no heap; a host board is the only exception.
_BANNED: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = (
    (
        re.compile(r"^(runtime_bm/(?!testing/|examples/).*|boards/(?!host_).*)(?<!_fuzz)\.[ch]$"),
        re.compile(r"\b(malloc|calloc|realloc|free|printf|sprintf|strcpy|alloca)\s*\("),
        "firmware has no heap and no libc",
    ),
    (
        re.compile(r"^(runtime_bm/(?!testing/|examples/).*|boards/(?!host_).*)(?<!_fuzz)\.[ch]$"),
        re.compile(
            r"#\s*include\s*<(?!std(int|def|bool|align|arg|atomic|noreturn)\.h|limits\.h|float\.h)"
        ),
        "only the freestanding headers exist on the target",
    ),
    (
        re.compile(r"^runtime_bm/(?!abi/|exec/|testing/).*\.[ch]$"),
        re.compile(r"runtime_bm/abi/"),
        "only runtime_bm/abi and runtime_bm/exec know IREE's executable ABI",
    ),
    (
        re.compile(r"^compiler/bmc/(?!boot/__init__\.py|iree/tool\.py|.*_test\.py).*\.py$"),
        re.compile(r"\bsubprocess\b"),
        "only compiler/bmc/iree/tool.py and compiler/bmc/boot start programs",
    ),
    (
        re.compile(
            r"^compiler/bmc/(?!cli\.py|command\.py|frontends/importing\.py|.*_test\.py).*\.py$"
        ),
        re.compile(r"\bprint\("),
        "only bmc's command line prints: cli.py, command.py and frontends/importing.py",
    ),
    (
        # The compiler and the runtime do not know tools/.
        re.compile(r"^(?!compiler/|runtime_bm/).*\.py$"),
        re.compile(r"\bArgumentParser\("),
        "a program gets its parser, and what it does with a user's mistake, from tools/cli.py",
    ),
    (
        re.compile(r"_test\.py$"),
        # Python's own os._exit and PyTorch's aten._ops are public all the same.
        re.compile(r"(?<!\bself)(?<!\bos)(?<!\baten)\._[A-Za-z]|\bpatch\.object\(\w+, \"_"),
        "a test reaches into no private names: a private function is tested through a public one",
    ),
)


def check(files: Mapping[str, str]) -> list[str]:
    """Returns one line for every broken rule in `files` (path -> text)."""
    problems = []
    for path, text in sorted(files.items()):
        lines = text.splitlines()
        generated = path.endswith((".md", ".json", ".txt"))
        if len(lines) > MAX_LINES and not generated:
            problems.append(f"{path}: {len(lines)} lines; at most {MAX_LINES}: is it one thing?")
        if path.endswith("_test.py") and _STARTS not in text:
            problems.append(
                f"{path}: no `{_STARTS}`: started by itself, it runs no test and passes"
            )
        for where, what, why in _BANNED:
            if not where.search(path):
                continue
            for number, line in enumerate(lines, 1):
                if what.search(line):
                    problems.append(f"{path}:{number}: {why}: {line.strip()}")
    return problems + _forgotten_tests(files)


def _forgotten_tests(files: Mapping[str, str]) -> list[str]:
    """Unit tests of C that c_tests finds, so that they are built, and that no test runs."""
    builds = {path: text for path, text in files.items() if path.endswith(("BUILD.bazel", ".bzl"))}
    problems = []
    for path in sorted(files):
        folder, _, name = path.removesuffix(".c").rpartition("/")
        is_found = "c_tests(" in builds.get(f"{folder}/BUILD.bazel", "")
        if not is_found or not path.endswith("_test.c"):
            continue
        label = f"//{folder}:{name}_lib"
        if not any(f'"{label}"' in text for text in builds.values()):
            problems.append(f"{path}: no file of boards/tests runs {label}")
    return problems
