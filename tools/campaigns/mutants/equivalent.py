"""The table of mutants that no test can notice, each with the reason.

[[equivalent]]
file = "compiler/bmc/x.py"
old = "if count > 0:"         # the line, without indentation, wherever it is in the file
new = "if count != 0:"
why = "a count is never negative"
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tools.campaigns.mutants.mutant import Mutant

TABLE = Path(__file__).parent / "equivalent.toml"


def load(path: Path = TABLE) -> dict[tuple[str, str, str], str]:
    """Returns the reason for each file, old line and new line."""
    rows = tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", [])
    return {(row["file"], row["old"], row["new"]): row["why"] for row in rows}


def why(mutant: Mutant, table: dict[tuple[str, str, str], str]) -> str | None:
    return table.get((mutant.file, mutant.old, mutant.new))


def problems(table: dict[tuple[str, str, str], str], tree: Path) -> list[str]:
    """Returns a sentence for every row whose line is not in its file, or that has no reason."""
    found = []
    for (file, old, _), reason in table.items():
        path = tree / file
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if old not in map(str.strip, lines):
            found.append(f"{file}: no line is {old!r}")
        if not reason.strip():
            found.append(f"{file}: no reason for {old!r}")
    return found
