"""Mutants: copies of a source file with one line changed by a rule of the package universalmutator."""

from __future__ import annotations

import contextlib
import difflib
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from universalmutator import mutator

from tools.campaigns.mutants import meaning

# Where mutants are made, and what in there is no part of the product, or runs in gdb or a browser.
FOLDERS = (
    "compiler/bmc/kernels",
    "compiler/bmc/libraries",
    "compiler/bmc/plan",
    "compiler/bmc/rewrites",
    "runtime_bm",
    "tools/run",
    "tools/flash",
    "tools/actions/seal",
    "tools/service",
)
_NOT_THESE = ("/tests/", "/testing/", "/examples/", "/fake_", "/run/debug/", "/service/demo/")
_RULES = {
    ".py": ["universal.rules", "python.rules"],
    ".c": ["universal.rules", "c_like.rules", "c.rules"],
    ".h": ["universal.rules", "c_like.rules", "c.rules"],
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One file with one line changed.

    Attributes:
      file: path in the checkout.
      before, after: the whole text of the file.
      line: number of the line, from 1.
      old, new: the line without indentation, and what replaces it.
    """

    file: str
    before: str
    after: str
    line: int
    old: str
    new: str

    def diff(self) -> str:
        lines = (text.splitlines(keepends=True) for text in (self.before, self.after))
        return "".join(difflib.unified_diff(*lines, f"a/{self.file}", f"b/{self.file}"))


@dataclass(frozen=True)
class Population:
    """The files of a checkout that mutants are made of, and how many lines each has."""

    tree: Path
    lines: dict[str, int]

    @staticmethod
    def of(tree: Path, folders: tuple[str, ...] = FOLDERS) -> Population:
        lines = {}
        for path in sorted(path for folder in folders for path in (tree / folder).rglob("*")):
            file = path.relative_to(tree).as_posix()
            tests = path.stem.endswith("_test") or any(part in f"/{file}" for part in _NOT_THESE)
            if path.suffix in _RULES and not tests:
                lines[file] = len(path.read_text(encoding="utf-8").splitlines())
        return Population(tree, lines)

    def below(self, folder: str) -> Population:
        """Those in a folder of the checkout, or whose path begins so."""
        inside = {file: count for file, count in self.lines.items() if file.startswith(folder)}
        return Population(self.tree, inside)

    def sample(self, chance: random.Random, is_c: Callable[[str, str], bool]) -> Mutant:
        """Returns a mutant that compiles and is not trivial; each line is as likely to change as any other.

        Args:
          is_c: whether a compiler accepts a text in the place of a file.
        """
        while True:
            (file,) = chance.choices(list(self.lines), weights=list(self.lines.values()))
            text = (self.tree / file).read_text(encoding="utf-8")
            line = chance.randrange(self.lines[file])
            changes = _changes(file, text).get(line + 1)
            if not changes:
                continue
            lines = text.splitlines(keepends=True)
            old, lines[line] = lines[line], chance.choice(changes)
            after = "".join(lines)
            suffix = Path(file).suffix
            if meaning.differs(suffix, text, after) and (suffix == ".py" or is_c(file, after)):
                return Mutant(
                    file, text, after, line + 1, old.strip(), "".join(lines[line]).strip()
                )


@cache
def _changes(file: str, text: str) -> dict[int, list[str]]:
    """What may stand in the place of each line."""
    found: dict[int, list[str]] = {}
    # It prints what it does.
    with contextlib.redirect_stdout(io.StringIO()):
        mutants = mutator.mutants_regexp(
            text.splitlines(keepends=True), ruleFiles=_RULES[Path(file).suffix], ignorePatterns=[]
        )
    for number, new, *_ in mutants:
        found.setdefault(number, []).append(new)
    return found
