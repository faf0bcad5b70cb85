"""Parses the console protocol that every firmware speaks (runtime_bm/base/result.h)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from tools.cli import UserError

PREFIX = "BM1 "

# How a run may be meant to end: with a record, or, for EXIT, with main returning 0.
ENDS = ("PASS", "FAIL", "ERROR", "TRAP", "EXIT")

_FIELD = re.compile(r"([a-z_]+)=(\S+)")
# Firmware prints integers of at most 64 bits, and decimals with an exponent.
_NUMBER = re.compile(r"[0-9]{1,20}")
_REAL = re.compile(r"-?(?:inf|nan|[0-9]{1,20}(?:\.[0-9]{1,20})?(?:e[+-]?[0-9]{1,3})?)")
_HASH = re.compile(r"HASH ([0-9a-f]+)")


class RecordError(UserError):
    """A record is not as firmware prints it; the message is one sentence for the user."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: the console lost or changed something; run the firmware again")


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """One `BM1 ...` line: `kind` is its first word, `fields` its key=value pairs.

    A console may lose bytes, so what reads a field raises RecordError when it is not there or no number.
    """

    kind: str
    fields: dict[str, str]
    text: str

    def field(self, key: str) -> str:
        if key not in self.fields:
            raise RecordError(f"the record {self.text!r} has no `{key}`")
        return self.fields[key]

    def number(self, key: str) -> int:
        return int(self._matching(key, _NUMBER))

    def numbers(self, key: str) -> list[int]:
        """A list, one for each hart."""
        value = self.field(key)
        if not all(_NUMBER.fullmatch(number) for number in value.split(",")):
            raise RecordError(f"`{key}` of the record {self.text!r} is no list of numbers")
        return [int(number) for number in value.split(",")]

    def real(self, key: str) -> float:
        return float(self._matching(key, _REAL))

    def hash(self) -> str:
        """The bits of a HASH record."""
        match = _HASH.fullmatch(self.text)
        if not match:
            raise RecordError(f"the record {self.text!r} has no hash")
        return match[1]

    def _matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.field(key)
        if not pattern.fullmatch(value):
            raise RecordError(f"`{key}` of the record {self.text!r} is no number")
        return value


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one emulator run.

    `exit_status` is the emulator's; it is None when the deadline ended the run.
    """

    lines: tuple[str, ...]
    exit_status: int | None

    def records(self, kind: str | None = None) -> list[Record]:
        """Returns the protocol records in order: all, or those of one kind."""
        found = parse(self.lines)
        return [r for r in found if kind is None or r.kind == kind]

    def models(self) -> dict[str, list[Record]]:
        """Returns the records of each model in the image, by name, in order; may raise RecordError."""
        sections: dict[str, list[Record]] = {}
        current: list[Record] | None = None
        for record in self.records():
            if record.kind == "MODEL":
                current = sections.setdefault(record.field("name"), [])
            elif record.kind in ("PASS", "FAIL"):
                current = None
            elif current is not None:
                current.append(record)
        return sections


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """`ok`, and one sentence that says why."""

    ok: bool
    sentence: str


def parse(lines: Iterable[str]) -> list[Record]:
    """Returns the protocol records among `lines`, in order."""
    records = []
    for line in lines:
        if not line.startswith(PREFIX):
            continue
        text = line[len(PREFIX) :].strip()
        kind = text.split(" ", 1)[0]
        records.append(Record(kind, dict(_FIELD.findall(text)), text))
    return records


def judge(outcome: Outcome) -> Verdict:
    """Decides whether a run passed.

    A run passes if its last record is PASS, its exit status is 0, there is no trap or error record, and what it said
    since the last boot agrees: as many cases as PASS says, each model's in order, all right, and as many classified as
    by the framework. Neither exit status 0 nor PASS proves anything alone: a board may run another image than it
    should, and a console may lose lines.
    """
    records = outcome.records()
    kinds = [r.kind for r in records]
    for kind in ("TRAP", "ERROR", "FAIL"):
        if kind in kinds:
            return Verdict(False, f"the firmware reported: {records[kinds.index(kind)].text}")
    if outcome.exit_status is None:
        return Verdict(False, "the deadline passed before the firmware ended")
    if "PASS" not in kinds:
        return Verdict(
            False, f"the firmware ended (exit status {outcome.exit_status}) without a PASS record"
        )
    if kinds[-1] != "PASS":
        return Verdict(False, f"the firmware went on after PASS: {records[-1].text}")
    if contradiction := _contradiction(records):
        return Verdict(False, contradiction)
    if outcome.exit_status != 0:
        return Verdict(
            False, f"the firmware printed PASS, then ended with exit status {outcome.exit_status}"
        )
    return Verdict(True, records[-1].text)


def _contradiction(records: list[Record]) -> str:
    """Returns what speaks against the PASS at the end, "" if nothing does."""
    boots = [index for index, record in enumerate(records) if record.kind == "BOOT"]
    run = records[boots[-1] if boots else 0 :]
    try:
        said = run[-1].number("cases")
        apart = _disagreement(run)
    except RecordError as error:
        return str(error)
    wrong = [r for r in run if r.kind in ("CASE", "KERNEL") and r.fields.get("result") != "ok"]
    if wrong:
        return f"the firmware printed PASS beside: {wrong[0].text}"
    cases = sum(record.kind == "CASE" for record in run)
    if said == 0 or cases not in (0, said):
        return f"the firmware printed PASS for {said} cases, and results of {cases}"
    if apart:
        return apart
    same = [index for index in boots if records[index].text == run[0].text]
    before = records[same[0] : boots[-1]] if same else []
    if earlier := [r for r in before if r.fields.get("result") == "mismatch"]:
        return (
            f"the board started again amid the run, after: {earlier[0].text}; if an earlier image printed that, "
            "run this one again"
        )
    return ""


def _disagreement(run: list[Record]) -> str:
    """Returns what a run says of cases that cannot be, "" if nothing; may raise RecordError."""
    due = 0
    for record in run:
        if record.kind == "MODEL":
            due = 0
        elif record.kind == "CASE":
            if record.number("index") != due:
                return f"the firmware printed PASS, and where case {due} was due: {record.text}"
            due += 1
        elif record.kind == "ACCURACY" and record.number("correct") != record.number("framework"):
            return f"the firmware printed PASS beside: {record.text}"
    return ""


def judge_application(outcome: Outcome, line: str = "") -> Verdict:
    """Decides a run of an application, a `main` of its own: it passes if that returns 0.

    A trap or error record is a failure whatever follows, and so is a console without `line`.
    """
    for record in outcome.records():
        if record.kind in ("TRAP", "ERROR", "FAIL"):
            return Verdict(False, f"the application reported: {record.text}")
    if outcome.exit_status is None:
        return Verdict(False, "the deadline passed before the application ended")
    if outcome.exit_status != 0:
        return Verdict(
            False,
            f"the application ended with exit status {outcome.exit_status}: 0 from main, or to "
            "bm_hal_exit, means success",
        )
    if line and line not in outcome.lines:
        return Verdict(False, f"the application did not print the line {line!r}")
    return Verdict(True, "the application ended with exit status 0")


def judge_expected(outcome: Outcome, expect: str, text: str = "") -> Verdict:
    """Decides a run that is meant to end as `expect`, one of ENDS.

    Negative controls use this: anything but the expected end (with the words `text` in that record)
    is a failure, and so is exit status 0. For EXIT, `text` is a line of the console.
    """
    if expect == "PASS":
        return judge(outcome)
    if expect == "EXIT":
        return judge_application(outcome, text)
    found = outcome.records(expect)
    if not found:
        return Verdict(
            False,
            f"expected a {expect} record and saw none (ended as: {judge(outcome).sentence})",
        )
    if text and f" {text} " not in f" {found[0].text} ":
        return Verdict(False, f"expected {text!r} in: {found[0].text}")
    if outcome.records("PASS"):
        return Verdict(False, f"the firmware printed PASS beside: {found[0].text}")
    if outcome.exit_status == 0:
        return Verdict(False, f"exit status 0 after: {found[0].text}")
    return Verdict(True, f"as announced: {found[0].text}")
