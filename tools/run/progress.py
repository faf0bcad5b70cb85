"""How far a run is, on a terminal: cases and dispatches done, instructions a second, time left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bmc import report
from tools.printable import printable
from tools.report.rows import rows
from tools.run import result


@dataclass(frozen=True)
class Model:
    """What a run does for a model: cases of equal work, and the commands of one of them.

    `weights` has a number for each command: multiply-accumulates, or bytes where those are more.
    """

    cases: int
    weights: tuple[int, ...]

    @classmethod
    def of(cls, compiled: report.Model) -> Model:
        """Reads the compiler's report."""
        commands = ((row.dispatch, row.command.bytes) for row in rows(compiled))
        weights = (max(dispatch.macs if dispatch else 0, size, 1) for dispatch, size in commands)
        return cls(compiled.golden.cases, tuple(weights))

    @property
    def work(self) -> int:
        return self.cases * sum(self.weights)


@dataclass
class Tally:
    """Counts what the records of a run say is done; `models` has all models of the image by name."""

    models: dict[str, Model]
    clock: Callable[[], float] = time.monotonic
    _name: str = ""
    _ended: int = 0  # work of the models before this one
    _cases: int = 0
    _commands: set[int] = field(default_factory=set)
    _instructions: int = 0
    _start: float = 0.0

    @property
    def total(self) -> int:
        """The work of the whole run."""
        return sum(model.work for model in self.models.values())

    def add(self, record: result.Record) -> None:
        """Takes the next record; may raise RecordError."""
        if record.kind == "MODEL":
            self._ended += self._current.work
            self._name = record.field("name")
            self._cases, self._instructions, self._start = 0, 0, self.clock()
            self._commands = set()
        elif record.kind == "CASE":
            self._cases += 1
            self._commands = set()
        elif record.kind == "DISPATCH":
            self._commands.add(record.number("index"))
            self._instructions += record.number("instret")

    @property
    def _current(self) -> Model:
        return self.models.get(self._name, Model(0, ()))

    @property
    def done(self) -> int:
        """The work that is done, of `total`."""
        weights = self._current.weights
        commands = sum(weights[i] for i in self._commands if i < len(weights))
        return self._ended + self._cases * sum(weights) + commands

    def sentence(self) -> str:
        """Says which model runs, how far it is, and how fast."""
        model = self._current
        if not model.cases:
            return "starting"
        parts = [f"{self._name}: case {min(self._cases + 1, model.cases)} of {model.cases}"]
        if self._commands:
            rate = self._instructions / max(self.clock() - self._start, 1e-3) / 1e6
            parts.append(f"dispatch {len(self._commands)} of {len(model.weights)}")
            parts.append(f"{rate:.1f} M instructions/s")
        return ", ".join(parts)


class Bar:
    """A line below the console that shows a tally; nothing elsewhere than on a terminal."""

    def __init__(self, out: Console, reports: Sequence[report.Model]) -> None:
        self._tally = Tally({each.name: Model.of(each) for each in reports})
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=16),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=out,
            transient=True,
            disable=not out.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=self._tally.total or None)

    def line(self, text: str) -> None:
        """Takes the next line of the console."""
        for record in result.parse([printable(text)]):
            with contextlib.suppress(result.RecordError):  # whoever shows or judges the run says so
                self._tally.add(record)
            self._bar.update(
                self._task, completed=self._tally.done, description=self._tally.sentence()
            )

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
