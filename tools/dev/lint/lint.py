"""Runs one checker over the source tree: `lint CHECK --tree WORKSPACE_FILE [--tool PROGRAM]`.

A checker sees the tree itself, not a copy: `--tree` names a file in the tree, which gives its folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from tools import cli
from tools.dev.lint import text_checks

C_SUFFIXES = (".c", ".h", ".cc")
STARLARK = (".bzl", ".bazel")
# C that runs on a target; a host board, tests, examples and what the build machine measures may use a libc.
TARGET_C = re.compile(
    r"runtime_bm/(?!testing/|examples/)|boards/(?!host_|tests/)|models/(?!peers/)"
)
_ON_HOST = ("_test.c", "_fuzz.c")


def tracked(tree: Path, suffixes: Iterable[str]) -> list[str]:
    """Returns the tree's files with one of `suffixes`, as relative paths."""
    ends = tuple(suffixes)
    found = []
    for path in sorted(tree.rglob("*")):
        relative = path.relative_to(tree)
        if relative.parts[0].startswith(("bazel-", ".git")) or "__pycache__" in relative.parts:
            continue
        if path.is_file() and path.name.endswith(ends):
            found.append(str(relative))
    return found


def run(tree: Path, argv: list[str], advice: str) -> int:
    """Runs a checker in the tree; adds how to fix what it found."""
    status = subprocess.run(argv, cwd=tree, check=False).returncode
    if status:
        print(f"lint: {advice}")
    return status


def ruff(tree: Path, tool: str) -> int:
    return run(tree, [tool, "check", "--no-cache", "."], "fix with `ruff check --fix`") or run(
        tree, [tool, "format", "--no-cache", "--check", "."], "fix with `ruff format`"
    )


def mypy(tree: Path, _tool: str) -> int:
    argv = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null"]
    # pyproject.toml lists what in tools/ does not pass yet.
    folders = ["compiler/bmc", "compiler/ironcast", "tools"]
    return run(tree, [*argv, *folders], "compiler/ and tools/ must pass mypy --strict")


def clang_format(tree: Path, tool: str) -> int:
    files = tracked(tree, C_SUFFIXES)
    return run(tree, [tool, "--dry-run", "-Werror", *files], "fix with `clang-format -i`")


def clang_tidy(tree: Path, tool: str) -> int:
    files = [f for f in tracked(tree, (".c",)) if TARGET_C.match(f) and not f.endswith(_ON_HOST)]
    flags = ["-std=c11", "-ffreestanding", "--target=riscv64-unknown-elf", "-march=rv64gc", "-I."]
    # What only images for several harts have, too.
    flags.append("-DBM_SEVERAL_HARTS")
    return run(tree, [tool, "--quiet", *files, "--", *flags], "see .clang-tidy for the checks")


def buildifier(tree: Path, tool: str) -> int:
    files = [*tracked(tree, STARLARK), "WORKSPACE"]
    return run(tree, [tool, "-mode=check", "-lint=warn", *files], "fix with `buildifier -lint=fix`")


def text(tree: Path, _tool: str) -> int:
    names = tracked(
        tree, (".py", ".c", ".h", ".S", ".cc", ".bzl", ".bazel", ".md", ".json", ".txt")
    )
    problems = text_checks.check({name: (tree / name).read_text() for name in names})
    print(*problems, sep="\n")
    return 1 if problems else 0


CHECKS: dict[str, Callable[[Path, str], int]] = {
    check.__name__: check for check in (ruff, mypy, clang_format, clang_tidy, buildifier, text)
}


@cli.program("lint", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("check", choices=sorted(CHECKS))
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--tool", default="")
    options = parser.parse_args(args)
    tree = options.tree.resolve().parent
    tool = str(Path(options.tool).absolute()) if options.tool else ""
    return CHECKS[options.check](tree, tool)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
