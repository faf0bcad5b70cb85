"""Shows the console of firmware to people: records as a line for each case, everything else as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from bmc.report import Model
from tools import console
from tools.printable import printable
from tools.report.rows import rows
from tools.run import result

# More cases than this become one line, except for those that do not match.
_FEW = 8
# Dispatches that are listed, by instructions.
_TOP = 20
_NAME = 44


@dataclass(frozen=True)
class _Case:
    number: int
    good: bool
    error: float
    exact: bool


@dataclass
class _Kept:
    """What records have said about a model that has not ended."""

    name: str = ""
    cases: list[_Case] = field(default_factory=list)
    dispatches: list[tuple[int, int]] = field(default_factory=list)  # instructions, command
    instructions: int = 0  # of the first case
    about: list[str] = field(default_factory=list)


class Screen:
    """Gets the lines of one run in order; `flush` must follow the last one.

    A record that is damaged is shown like everything that is no record: as it is, but for characters that do not print.

    Args:
      reports: the compiler's, of the models in the image.
      raw: whether all lines are shown as they are; a terminal would obey characters that do not print, and gets "?".
    """

    def __init__(self, out: Console, reports: Sequence[Model] = (), raw: bool = False) -> None:
        self._raw = raw
        self._whole = out
        self._out = Console(quiet=True) if raw else out
        self._damage = ""
        self._commands = {report.name: _names(report) for report in reports}
        self._kept = _Kept()
        self._end = ("", "")  # kind and sentence of the last record of the run

    def line(self, text: str) -> None:
        """Shows a line, or keeps a record until the model that it is about has ended."""
        if self._raw:
            self._whole.file.write(f"{printable(text) if self._whole.is_terminal else text}\n")
            self._whole.file.flush()
        text = printable(text)
        records = result.parse([text])
        try:
            if records:
                self._record(*records)
                return
        except result.RecordError as error:
            self._damage = self._damage or str(error)
        self._out.print(Text(text))

    def verdict(self, verdict: result.Verdict, expect: str, how: str = "") -> bool:
        """Shows how the run ended, and returns whether that is good: whatever it says, no record may be damaged.

        Args:
          how: is added to the sentence.
        """
        kind, said = self._end
        if self._damage and (verdict.ok or kind == "PASS"):
            verdict = result.Verdict(False, self._damage)
        # An exit status may contradict PASS.
        use = expect == "PASS" and kind and verdict.ok == (kind == "PASS")
        sentence = said if use else verdict.sentence
        mark = ("PASS", console.GOOD) if verdict.ok else ("FAIL", console.BAD)
        self._whole.print(Text.assemble(mark, f": {printable(sentence)}{how}"))
        return verdict.ok

    def _record(self, record: result.Record) -> None:
        number, kept = record.number, self._kept
        if record.kind == "BOOT":
            vlen = number("vlen")
            text = f"{record.field('isa')} on {record.field('board')}"
            self._out.print(f"{text}, VLEN {vlen}" if vlen else text, style="bold")
        elif record.kind == "MODEL":
            self.flush()
            self._kept.name = record.field("name")
        elif record.kind == "CASE":
            good, exact = record.field("result") == "ok", record.field("differing") == "0"
            kept.cases.append(_Case(number("index"), good, record.real("max_abs"), exact))
        elif record.kind == "DISPATCH":
            kept.dispatches.append((number("instret"), number("index")))
        elif record.kind == "STATS":
            cycles = f", {number('cycles'):,} cycles" if number("cycles") else ""
            bytes_ = f"arena {number('arena'):,} bytes, stack {number('stack'):,} bytes"
            kept.about.append(bytes_ + cycles)
            kept.instructions = number("instret")
        elif record.kind == "ACCURACY":
            kept.about.append(
                f"{number('correct')} of {number('total')} classified correctly; the framework: "
                f"{number('framework')}"
            )
        elif record.kind in ("PASS", "FAIL", "ERROR", "TRAP"):
            self.flush()
            self._end = (record.kind, _sentence(record))
        elif record.kind == "DEVICE":
            busy, waited = number("busy"), number("waited")
            kept.about.append(f"devices busy for {busy:,} cycles; the hart waited {waited:,}")
        elif record.kind in ("KERNEL", "SERVICE"):
            self._out.print(record.text)
        elif record.kind not in ("BARRIER", "HASH"):
            raise result.RecordError(
                f"the record {record.text!r} is of no kind that firmware prints"
            )

    def flush(self) -> None:
        """Shows what is kept about a model: a run may end in the middle of it."""
        kept, self._kept = self._kept, _Kept()
        right = [case for case in kept.cases if case.good]
        shown = kept.cases
        if len(kept.cases) > _FEW:
            shown = [case for case in kept.cases if not case.good]
            if right:
                worst = max(right, key=lambda case: case.error)
                about = f"{kept.name}, {len(right)} of {len(kept.cases)} cases"
                self._case(about, worst, kept.instructions)
        for case in shown:
            about = kept.name if len(kept.cases) == 1 else f"{kept.name}, case {case.number}"
            self._case(about, case, 0 if case.number else kept.instructions)
        self._dispatches(kept)
        for line in kept.about:
            self._out.print(f"  {line}")

    def _case(self, about: str, case: _Case, instructions: int) -> None:
        error = "exact" if case.exact else f"error {case.error:.1e}"
        count = f"{instructions:>15,} instructions" if instructions else ""
        self._out.print(
            Text.assemble(
                f"{about:<{_NAME}} ",
                ("PASS", console.GOOD) if case.good else ("FAIL", console.BAD),
                f"  {error:<14}{count}".rstrip(),
            )
        )

    def _dispatches(self, kept: _Kept) -> None:
        """Shows the commands that take the most instructions."""
        names = self._commands.get(kept.name, [])
        ordered = sorted(kept.dispatches, reverse=True)
        for instructions, index in ordered[:_TOP]:
            name = names[index] if index < len(names) else f"command {index}"
            self._out.print(f"{instructions:>15,}  {name}", overflow="ellipsis", no_wrap=True)
        if ordered[_TOP:]:
            rest = sum(instructions for instructions, _ in ordered[_TOP:])
            self._out.print(f"{rest:>15,}  {len(ordered) - _TOP} more")


def _sentence(record: result.Record) -> str:
    """Returns what the last record of a run says."""
    if record.kind == "PASS":
        count = record.number("cases")
        cases = "1 case matches" if count == 1 else f"{count} cases match"
        return f"{cases} the framework's own output"
    if record.kind == "FAIL":
        bad = record.number("bad")
        what = f"{bad} of {record.number('cases')} cases differ from the framework's output"
        if not bad:
            what = "the framework classifies more cases correctly"
        return f"{what}: {record.field('models')}"
    if record.kind == "TRAP":
        hart = f" on hart {record.number('hart')}" if "hart" in record.fields else ""
        return (
            f"a trap{hart} in command {record.field('dispatch')} of {record.field('model')}, kernel "
            f"{record.field('kernel')}: cause {record.field('cause')}, epc {record.field('epc')}, "
            f"tval {record.field('tval')}"
        )
    status = record.field("status")
    return f"{record.text.partition(status)[2].strip()} (status {status})"


def _names(report: Model) -> list[str]:
    """Returns what the commands of a model are called: layer and operation, as in the tables of tools/report/bench."""
    words = ((row.command.layer, row.op) for row in rows(report))
    return ["  ".join(printable(word) for word in each if word) for each in words]
