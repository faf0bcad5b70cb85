"""What `bench --harts` prints: the critical path of models on several harts, beside one hart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from tools.size import harts_table

# By how many harts a report is of one that has only one.
ONE = 1


def rows(
    reports: Mapping[int, dict[str, Any]],
) -> list[tuple[str, dict[int, tuple[int, float]], str]]:
    """Returns of each model in an image its name, what it takes on so many harts, and where most is lost.

    What it takes are the instructions on the critical path, and the efficiency: those of one hart, divided by the
    number of harts and by the critical path.

    Args:
      reports: of the image, by the number of harts; there is one of one hart.
    """
    found = []
    for number, alone in enumerate(reports[ONE]["run"]["models"]):
        taken = {}
        for count, report in sorted(reports.items()):
            critical = report["run"]["models"][number]["instructions"]
            taken[count] = (critical, alone["instructions"] / max(count * critical, 1))
        most = reports[max(reports)]
        found.append((alone["name"], taken, _worst(most, number)))
    return found


def _worst(report: dict[str, Any], number: int) -> str:
    """Returns which stretch between barriers loses most of the harts' time, and how much."""
    harts = report["run"]["models"][number]["harts"]
    if not harts:
        return ""
    lost, stretch = harts_table.losses(harts)[0]
    part = 100 * lost / max(harts["count"] * harts["critical"], 1)
    return f"{part:.1f} % in {harts_table.names(report['models'][number], stretch['commands'])}"


def table(images: Sequence[Mapping[int, dict[str, Any]]]) -> Table:
    """Returns a row for each model of each image."""
    counts = sorted({count for image in images for count in image})
    shown = Table(box=None, header_style="bold", padding=(0, 0, 0, 2), pad_edge=False)
    shown.add_column("model")
    for count in counts:
        shown.add_column("1 hart" if count == ONE else f"{count} harts", justify="right")
        if count != ONE:
            shown.add_column("efficiency", justify="right")
    shown.add_column(f"largest loss on {counts[-1]} harts", overflow="fold")
    for image in images:
        for name, taken, worst in rows(image):
            cells = [name]
            for count in counts:
                critical, efficiency = taken[count]
                cells.append(f"{critical:,}")
                cells += [] if count == ONE else [f"{100 * efficiency:.0f} %"]
            shown.add_row(*cells, worst)
    return shown
