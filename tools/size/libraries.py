"""What kernel libraries and devices save of a run, layer by layer."""

from __future__ import annotations

from typing import Any

from rich.table import Table


def table(model: dict[str, Any], measured: dict[str, Any], style: dict[str, Any]) -> Table:
    """Returns a row for each command that a library computes.

    Args:
      model: the compiler's report.
      measured: what one inference took, with `plain`.
      style: options of the table.
    """
    has_devices = measured["devices"] is not None
    shown = Table(**style)
    headings = ("without", "instructions", *(("busy", "waited") if has_devices else ()), "ratio")
    for heading in headings:
        shown.add_column(heading, justify="right")
    shown.add_column("layer, kernel and function", overflow="fold")
    calls = {dispatch["name"]: dispatch["call"] for dispatch in model["dispatches"]}
    without = {row["index"]: row["instructions"] for row in measured["plain"]["commands"]}
    sums = [0] * (len(headings) - 1)
    for row in sorted(measured["commands"], key=lambda row: int(row["index"])):
        command = model["commands"][row["index"]]
        call = calls.get(command["function"])
        if not call:
            continue
        numbers = [without[row["index"]], row["instructions"]]
        numbers += [row["busy"], row["waited"]] if has_devices else []
        sums = [a + b for a, b in zip(sums, numbers, strict=True)]
        layer = f"{command['layer']}  " if command["layer"] else ""
        name = f"{layer}{command['function']}  ({call['function']} of {call['library']})"
        shown.add_row(*_cells(numbers), name)
    shown.add_row(*_cells(sums), "together")
    return shown


def _cells(numbers: list[int]) -> list[str]:
    """The numbers, and how many times fewer instructions the hart takes, with those that wait."""
    took = numbers[1] + sum(numbers[3:])
    return [*(f"{number:,}" for number in numbers), f"{numbers[0] / took:.1f}" if took else "-"]


def summary(measured: dict[str, Any], clocks: list[str]) -> list[str]:
    """Returns lines about all of the inference."""
    took, without = measured["instructions"], measured["plain"]["instructions"]
    lines = [f"All of it: {without:,} instructions without libraries, {took:,} with them"]
    if devices := measured["devices"]:
        busy, waited = devices["busy"], devices["waited"]
        line = f"Devices were busy for {busy:,} cycles"
        # Only a model of a device has cycles that are instructions.
        if clocks:
            line += f", {max(busy - waited, 0):,} of them beside work of the hart, which"
        else:
            line += "; the hart"
        lines.append(f"{line} waited for {waited:,} of its instructions")
        lines += [f"Cycles: {clock}" for clock in clocks]
    return lines
