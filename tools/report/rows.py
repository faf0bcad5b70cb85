"""The commands of a model's plan, each with its kernel and with what a run counted of it."""

from __future__ import annotations

from dataclasses import dataclass

from bmc.report import Call, Command, Dispatch, Model
from tools.report.report import Counted, Inference, Ran


@dataclass(frozen=True)
class Row:
    """A command of a plan.

    Attributes:
      index: its place in the model's `commands`.
      dispatch: its kernel, None for a fill or a copy.
      ran: what the run counted of it; zeros for a command that did not run.
      plain: the same without kernel libraries, None if the run has none.
    """

    index: int
    command: Command
    dispatch: Dispatch | None
    ran: Ran
    plain: Counted | None

    @property
    def kernel(self) -> str:
        """The name of its kernel, or what it does without one."""
        return self.command.function or self.command.kind

    @property
    def op(self) -> str:
        """What it computes, or what it does without a kernel."""
        return self.dispatch.op if self.dispatch else self.command.kind

    @property
    def call(self) -> Call | None:
        """The function of a kernel library that takes its kernel's place."""
        return self.dispatch.call if self.dispatch else None

    @property
    def modeled_cycles(self) -> int | None:
        """Modeled cycles of all its runs in one inference, None for what has no kernel of bmc's own."""
        if self.dispatch is None or self.dispatch.modeled_cycles is None:
            return None
        return self.ran.times * self.dispatch.modeled_cycles

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all its runs in one inference."""
        return self.ran.times * self.dispatch.macs if self.dispatch else 0


def rows(model: Model, measured: Inference | None = None) -> list[Row]:
    """Returns a row for each command, in the order of the plan; without a run, none of them ran."""
    dispatches = {dispatch.name: dispatch for dispatch in model.dispatches}
    counted = {ran.index: ran for ran in measured.commands} if measured else {}
    without = measured.plain.commands if measured and measured.plain else ()
    plain = {each.index: each for each in without}
    return [
        Row(
            index,
            command,
            dispatches.get(command.function),
            counted.get(index) or Ran(index, 0, 0),
            plain.get(index),
        )
        for index, command in enumerate(model.commands)
    ]


def as_run(model: Model, measured: Inference) -> list[Row]:
    """Returns the rows of the commands that ran, in the order in which they began to."""
    found = rows(model, measured)
    return [found[ran.index] for ran in measured.commands]
