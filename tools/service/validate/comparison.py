"""A model on two targets at once, compared after each layer."""

from __future__ import annotations

from collections.abc import Sequence

from bmc.report import Model
from tools.run.debug import tolerance
from tools.service.service import Run, Service
from tools.service.validate import layers
from tools.service.validate.layers import Growth


class Comparison:
    """Makes calls on a target and on this machine.

    Attributes:
      found: for each entry point that was called, the errors of its layers.
    """

    def __init__(self, target: Service, other: Service, report: Model, other_report: Model) -> None:
        """Both services have opened the model that is in the reports."""
        self._sides = ((target, report), (other, other_report))
        self._close = tolerance.of_report(report)
        self.found: dict[str, list[Growth]] = {}

    def run(self, name: str, reset: bool, inputs: Sequence[bytes]) -> Run:
        """Calls an entry point on both sides; returns the target's run.

        Raises:
          UserError: the entry point has loops or branches.
          ServiceError: one of the sides does not do it.
        """
        entries = [layers.entry(report, name) for _, report in self._sides]
        if name not in self.found:
            pairs = layers.pairs(entries[0].steps, entries[1].steps)
            self.found[name] = [Growth(step, other) for step, other in pairs]
        grown = self.found[name]
        compared = [growth for growth in grown if growth.other]
        ran, got = self._trace(0, name, reset, inputs, entries[0], [g.step for g in compared])
        others = [growth.other for growth in compared if growth.other]
        # In the order of the commands of that side.
        order = sorted(range(len(others)), key=lambda index: others[index].stop.command)
        _, want = self._trace(1, name, reset, inputs, entries[1], [others[i] for i in order])
        by_index = dict(zip(order, want, strict=True))
        for index, growth in enumerate(compared):
            growth.add(got[index], by_index[index], self._close)
        return ran

    def _trace(
        self,
        side: int,
        name: str,
        reset: bool,
        inputs: Sequence[bytes],
        entry: layers.Entry,
        steps: Sequence[layers.Step],
    ) -> tuple[Run, list[bytes]]:
        service = self._sides[side][0]
        service.entry(name)
        if reset:
            service.reset()
        return service.trace(inputs, entry.commands, [step.stop for step in steps])
