"""What a validation found, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from bmc.dtype import Array
from tools.service.validate.layers import Growth, first_beyond
from tools.service.validate.measures import TOP, Classes, Output, decibels

# More classes make no readable table.
_MOST_CLASSES = 20
_SHOWN_STEPS = 5
_LAYER_WIDTH = 36


def outputs(found: Sequence[Output]) -> Table:
    """A row for each output."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("output", overflow="fold")
    for heading in ("max. error", "RMS", "cosine", "SNR", "outside tolerance"):
        table.add_column(heading, justify="right")
    for output in found:
        table.add_row(
            output.name,
            f"{output.max_abs:.3g}",
            f"{output.rms:.3g}",
            f"{output.cosine:.7f}",
            _decibels(output.snr),
            str(len(output.misses)),
        )
    return table


def _decibels(snr: float) -> str:
    return "equal" if math.isinf(snr) and snr > 0 else f"{snr:.1f} dB"


def layers(entry: str, grown: Sequence[Growth]) -> list[Table | str]:
    """A row for each tensor that a layer computes, and a sentence on the first one that is wrong.

    Args:
      entry: name of the entry point, "" for the only one.
    """
    table = Table(box=None, header_style="", padding=(0, 2, 0, 0))
    table.add_column("command", justify="right")
    table.add_column("layer", overflow="ellipsis", no_wrap=True)
    for heading in ("max. error", "RMS", "SNR", "differ"):
        table.add_column(heading, justify="right")
    first = first_beyond(grown)
    for index, growth in enumerate(grown):
        mark = "  <- first" if index == first else ""
        step = growth.step
        table.add_row(str(step.stop.command), _end(step.layer), *_errors(growth, mark))
    title = [f"layers of {entry}"] if entry else []
    return [*title, table, *_verdict(grown, first)]


def _end(name: str) -> str:
    """The end of a long name says more than its beginning."""
    return name if len(name) <= _LAYER_WIDTH else f"...{name[3 - _LAYER_WIDTH :]}"


def _errors(growth: Growth, mark: str) -> list[str]:
    if growth.other is None:
        return ["-", "-", "-", "-"]
    return [
        f"{growth.max_abs:.3g}",
        f"{math.sqrt(growth.noise / max(growth.count, 1)):.3g}",
        _decibels(decibels(growth.signal, growth.noise)),
        f"{growth.beyond:,} of {growth.count:,}{mark}",
    ]


def _verdict(grown: Sequence[Growth], first: int | None) -> list[str]:
    missing = sum(growth.other is None for growth in grown)
    lines = [f"{missing} have no counterpart on this machine"] if missing else []
    if first is None:
        return [f"all {len(grown) - missing} compared dispatches agree with this machine", *lines]
    step = grown[first].step
    return [
        f"the first that differs from this machine is command {step.stop.command}, {step.op},",
        f"of the layer {step.layer}",
        *lines,
    ]


def steps(output: Output) -> str:
    """A sentence on the steps of an output that has them."""
    total = sum(output.steps.values())
    parts = [
        f"{count:,} by {step}" if step else f"{count:,} equal"
        for step, count in sorted(output.steps.items())[:_SHOWN_STEPS]
    ]
    more = len(output.steps) - _SHOWN_STEPS
    if more > 0:
        parts.append(f"{more} larger steps")
    unit = "" if output.step == 1.0 else f" quantization steps of {output.step:.3g}"
    return f"{output.name}: of {total:,} elements, {', '.join(parts)}{unit}"


def classes(found: Classes, unit: str) -> list[str]:
    """Sentences on the classes that were named; `unit` is what is counted, samples or calls."""
    lines = [f"the target names the framework's class in {found.agree:.1%} of the {unit}"]
    for side, shares in (("target", found.target), ("framework", found.framework)):
        if shares is not None:
            lines.append(
                f"{side}: right class first {shares[0]:.1%}, in the first {TOP} {shares[1]:.1%}"
            )
    return lines


def confusion(matrix: Array) -> Table | str:
    """Rows: the right class; columns: the class that the target names. Of many classes, only the confused pairs."""
    size = len(matrix)
    if size <= _MOST_CLASSES:
        table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
        table.add_column("right \\ named", justify="right")
        for index in range(size):
            table.add_column(str(index), justify="right")
        for index, row in enumerate(matrix):
            table.add_row(str(index), *(str(count) if count else "." for count in row))
        return table
    wrong = [
        (int(matrix[right, named]), right, named)
        for right, named in np.argwhere(matrix)
        if right != named
    ]
    pairs = ", ".join(
        f"{right} as {named} ({count})" for count, right, named in sorted(wrong)[:-11:-1]
    )
    return f"most often confused: {pairs}" if pairs else "no class was confused with another"
