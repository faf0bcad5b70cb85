"""What a validation found, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from rich.table import Table

from bmc.dtype import Array
from tools.validate.measures import TOP, Classes, Output

# More classes make no readable table.
_MOST_CLASSES = 20
_SHOWN_STEPS = 5


def outputs(found: Sequence[Output]) -> Table:
    """A row for each output."""
    table = Table(box=None, header_style="", padding=(0, 2, 0, 0))
    table.add_column("output", overflow="fold")
    for heading in ("max. error", "RMS", "cosine", "SNR", "outside tolerance"):
        table.add_column(heading, justify="right")
    for output in found:
        table.add_row(
            output.name,
            f"{output.max_abs:.3g}",
            f"{output.rms:.3g}",
            f"{output.cosine:.7f}",
            "equal" if math.isinf(output.snr) and output.snr > 0 else f"{output.snr:.1f} dB",
            str(len(output.misses)),
        )
    return table


def steps(output: Output) -> str:
    """A sentence on the steps of an output of integers."""
    total = sum(output.steps.values())
    parts = [
        f"{count:,} by {step}" if step else f"{count:,} equal"
        for step, count in sorted(output.steps.items())[:_SHOWN_STEPS]
    ]
    more = len(output.steps) - _SHOWN_STEPS
    if more > 0:
        parts.append(f"{more} larger steps")
    return f"{output.name}: of {total:,} elements, {', '.join(parts)}"


def classes(found: Classes) -> list[str]:
    """Sentences on the classes that were named."""
    lines = [f"the target names the framework's class in {found.agree:.1%} of the samples"]
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
        table = Table(box=None, header_style="", padding=(0, 1, 0, 0))
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
