"""What kernel libraries and devices save of a run, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bmc.report import Model
from tools.report.report import Inference
from tools.report.rows import Row, rows
from tools.report.table import table as aligned


def table(model: Model, measured: Inference) -> Table:
    """Returns a row for each command that a library computes, given a run with `plain`."""
    has_devices = measured.devices is not None
    headings = ("without", "instructions", *(("busy", "waited") if has_devices else ()), "ratio")
    shown, sums = [], [0] * (len(headings) - 1)
    for row in rows(model, measured):
        if not row.call or not row.plain:
            continue
        numbers = _numbers(row, row.plain.instructions)[: len(sums)]
        sums = [a + b for a, b in zip(sums, numbers, strict=True)]
        layer = f"{row.command.layer}  " if row.command.layer else ""
        shown.append([*_cells(numbers), f"{layer}{row.kernel}  ({row.call})"])
    return aligned((*headings, "layer, kernel and function"), [*shown, [*_cells(sums), "together"]])


def _numbers(row: Row, without: int) -> list[int]:
    return [without, row.ran.instructions, row.ran.busy or 0, row.ran.waited or 0]


def _cells(numbers: Sequence[int]) -> list[str]:
    """The numbers, and how many times fewer instructions the hart takes, with those that wait."""
    took = numbers[1] + sum(numbers[3:])
    return [*(f"{number:,}" for number in numbers), f"{numbers[0] / took:.1f}" if took else "-"]


def summary(measured: Inference, clocks: Sequence[str]) -> list[str]:
    """Returns lines about all of the inference, given a run with `plain`."""
    assert measured.plain is not None
    took, without = measured.instructions, measured.plain.instructions
    lines = [f"All of it: {without:,} instructions without libraries, {took:,} with them"]
    if devices := measured.devices:
        line = f"Devices were busy for {devices.busy:,} cycles"
        # Only a model of a device has cycles that are instructions.
        if clocks:
            beside = max(devices.busy - devices.waited, 0)
            line += f", {beside:,} of them beside work of the hart, which"
        else:
            line += "; the hart"
        lines.append(f"{line} waited for {devices.waited:,} of its instructions")
        lines += [f"Cycles: {clock}" for clock in clocks]
    return lines
