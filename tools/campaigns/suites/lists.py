"""The list of a suite's cases, each with its verdict: a file of text, a line for each case.

A line is `outcome|outside<TAB>op<TAB>dtype<TAB>case<TAB>sentence`. It is also the log of a run: of two lines with one
name, the later one counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from case import NO_CASE, Case, Outcome, Verdict

_LONGEST = 240


@dataclass(frozen=True)
class Row:
    """A case of the list.

    Attributes:
      op, dtype, name, outside: as in Case.
      verdict: how it ended.
    """

    op: str
    dtype: str
    name: str
    outside: str
    verdict: Verdict

    @staticmethod
    def of(case: Case, verdict: Verdict) -> Row:
        return Row(case.op, case.dtype, case.name, case.outside or verdict.outside, verdict)

    def line(self) -> str:
        state = self.verdict.outcome.value + (f"|{self.outside}" if self.outside else "")
        sentence = " ".join(self.verdict.sentence.split())[:_LONGEST]
        return "\t".join((state, self.op, self.dtype, self.name, sentence)).rstrip() + "\n"


def read(path: Path) -> dict[str, Row]:
    """Returns the rows by the names of their cases; a last line that was cut while it was written does not count.

    Raises:
      ValueError: it is some other file.
    """
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    rows = {}
    for line in text[: text.rfind("\n") + 1].splitlines():
        state, op, dtype, name, *sentence = line.split("\t")
        outcome, _, outside = state.partition("|")
        verdict = Verdict(Outcome(outcome), " ".join(sentence))
        rows[name] = Row(op, dtype, name, outside, verdict)
    return rows


def write(path: Path, rows: Iterable[Row]) -> None:
    """Writes a list in the order of its names, without those that turned out to be no case."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ordered = sorted((row for row in rows if row.outside != NO_CASE), key=lambda row: row.name)
    path.write_text("".join(row.line() for row in ordered), encoding="utf-8")


def add(path: Path, rows: Iterable[Row]) -> None:
    """Adds rows to a log."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(row.line() for row in rows)
