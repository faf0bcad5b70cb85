"""The table of faults: each harms a user, no mutator makes it, and it names the tests that ought to notice.

    [[fault]]
    name = "kernels-pointer-off-by-one"
    file = "compiler/bmc/x.py"
    old = 'base + offset'             # occurs in the file exactly once
    new = 'base + offset + 1'
    harm = "kernels read the element after the right one"
    tests = ["//compiler/bmc:tests"]  # the cheapest that ought to fail

A fault that no test can notice has a line `survives = "REASON"`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.cli import UserError

TABLES = Path(__file__).parent / "tables"

_LABEL = re.compile(r"//([\w/]+):([\w.]+)")


@dataclass(frozen=True, slots=True)
class Fault:
    """One change to one file.

    Attributes:
      name: unique in the table.
      file: path in the checkout.
      old, new: the text and what replaces it.
      harm: what a user would suffer.
      tests: labels of the tests that ought to fail.
      survives: why no test can notice it; "" if one ought to.
    """

    name: str
    file: str
    old: str
    new: str
    harm: str
    tests: tuple[str, ...]
    survives: str = ""

    def changed(self, text: str) -> str:
        """Returns the file's text with the fault; raises UserError if it does not apply."""
        times = text.count(self.old)
        if times != 1:
            raise UserError(f"{self.name}: its old text occurs {times} times in {self.file}")
        return text.replace(self.old, self.new)


def load(folder: Path = TABLES) -> tuple[Fault, ...]:
    """Returns the faults of all tables, by file name and place in the file; raises UserError."""
    faults: list[Fault] = []
    for path in sorted(folder.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8")).get("fault", []):
            try:
                faults.append(Fault(**row | {"tests": tuple(row["tests"])}))
            except (KeyError, TypeError) as error:
                raise UserError(f"{path.name}: a fault lacks or has a field: {error}") from error
    names = [fault.name for fault in faults]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"two faults are called {', '.join(twice)}")
    return tuple(faults)


def problems(faults: tuple[Fault, ...], tree: Path) -> list[str]:
    """Returns one sentence for every fault that is stale or changes nothing, or whose tests do not exist."""
    found = []
    for fault in faults:
        try:
            before = (tree / fault.file).read_text(encoding="utf-8")
            after = fault.changed(before)
            if after == before:
                raise UserError(f"{fault.name}: it changes nothing")
            if fault.file.endswith(".py"):
                ast.parse(after, fault.file)
        except (OSError, SyntaxError) as error:
            found.append(f"{fault.name}: {error}")
        except UserError as error:
            found.append(str(error))
        if not fault.tests or not all(fault.harm.strip() and _exists(t, tree) for t in fault.tests):
            found.append(f"{fault.name}: it names no harm, no test, or one that does not exist")
    return found


def _exists(label: str, tree: Path) -> bool:
    """Whether the package's BUILD or .bzl files name the target, or the library it is the test of, or find it."""
    match = _LABEL.fullmatch(label)
    package = tree / match[1] if match else tree / "none"
    if match is None or not (package / "BUILD.bazel").is_file():
        return False
    build = (package / "BUILD.bazel").read_text()
    is_test = match[2].endswith("_test") and (package / f"{match[2]}.py").is_file()
    if is_test and "tool_room(" in build:
        return True
    text = build + "".join(file.read_text() for file in package.glob("*.bzl"))
    return re.search(rf'[":]{re.escape(match[2])}(_lib)?"', text) is not None
