"""What `bench --harts` prints: the critical path of models on several harts, beside one hart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table

from tools.report import harts_table
from tools.report.report import Image
from tools.report.table import table as aligned

# By how many harts a report is of one that has only one.
ONE = 1


def rows(reports: Mapping[int, Image]) -> list[tuple[str, dict[int, tuple[int, float]], str]]:
    """Returns of each model in an image its name, what it takes on so many harts, and where most is lost.

    What it takes are the instructions on the critical path, and the efficiency: those of one hart, divided by the
    number of harts and by the critical path.

    Args:
      reports: of the image, by the number of harts; there is one of one hart.
    """
    found = []
    for number, alone in enumerate(reports[ONE].recorded.models):
        taken = {}
        for count, report in sorted(reports.items()):
            critical = report.recorded.models[number].instructions
            taken[count] = (critical, alone.instructions / max(count * critical, 1))
        most = reports[max(reports)]
        found.append((alone.name, taken, _worst(most, number)))
    return found


def _worst(report: Image, number: int) -> str:
    """Returns which stretch between barriers loses most of the harts' time, and how much."""
    model, measured = report.inferences[number]
    if not measured.harts:
        return ""
    lost, stretch = harts_table.losses(measured.harts)[0]
    part = 100 * lost / max(measured.harts.count * measured.harts.critical, 1)
    return f"{part:.1f} % in {harts_table.names(model, stretch.commands)}"


def table(images: Sequence[Mapping[int, Image]]) -> Table:
    """Returns a row for each model of each image."""
    counts = sorted({count for image in images for count in image})
    headings = ["model"]
    for count in counts:
        headings += ["1 hart"] if count == ONE else [f"{count} harts", "efficiency"]
    shown = []
    for image in images:
        for name, taken, worst in rows(image):
            cells = [name]
            for count in counts:
                critical, efficiency = taken[count]
                cells.append(f"{critical:,}")
                cells += [] if count == ONE else [f"{100 * efficiency:.0f} %"]
            shown.append([*cells, worst])
    headings.append(f"largest loss on {counts[-1]} harts")
    return aligned(headings, shown, names=(0,), indented=False)
