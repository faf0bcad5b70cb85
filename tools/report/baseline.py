"""A baseline: one line of text for each image, with what it took when somebody last looked.

A number that is more than SLACK_PERCENT worse fails, and so does one that is that much better: what was gained is held
only once it is in the file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tools.cli import UserError
from tools.report.report import Image

SLACK_PERCENT = 2.0
# What a new line holds.
_USUAL = ("instructions", "arena_bytes", "flash_bytes", "kernel_bytes")


@dataclasses.dataclass(frozen=True)
class Line:
    """What an image took in one inference at a VLEN, 0 without vectors; all images are built and run there."""

    vlen: int
    numbers: Mapping[str, int]


def measured(report: Image) -> dict[str, int]:
    """Returns the numbers of a measured report that a baseline can hold, by name."""
    run, flash = report.recorded, report.flash_bytes
    return {
        "arena_bytes": report.ram_bytes.arena,
        "flash_bytes": flash.total - flash.golden,
        "instructions": run.instructions,
        "kernel_bytes": flash.kernels,
        "runtime_text_bytes": report.text_bytes.get("runtime", 0),
        "stack_bytes": run.stack_bytes,
        "weight_bytes": flash.weights,
    }


def read(text: str) -> dict[str, Line]:
    """Returns the lines of a baseline by image; raises UserError for a line that is none."""
    found: dict[str, Line] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        image, *fields = line.split()
        pairs = dict(field.partition("=")[::2] for field in fields)
        if image in found:
            raise UserError(f"line {number} is the second one for {image}: remove one")
        if "vlen" not in pairs or not all(value.isdigit() for value in pairs.values()):
            raise UserError(f"line {number} is not `image vlen=N name=N ...`: {line.strip()}")
        numbers = {name: int(value) for name, value in pairs.items()}
        found[image] = Line(numbers.pop("vlen"), numbers)
    return found


def check(lines: Mapping[str, Line], image: str, report: Image) -> list[str]:
    """Returns one sentence for every number that is not what the baseline says.

    Raises UserError if the image has no line, or one that names something that is not measured.
    """
    if image not in lines:
        raise UserError(f"there is no line for {image}")
    line, now = lines[image], measured(report)
    if line.vlen != report.recorded.vlen:
        return [f"{image} ran at VLEN {report.recorded.vlen}, the baseline is for {line.vlen}"]
    problems = []
    for name, before in line.numbers.items():
        if name not in now:
            known = ", ".join(sorted(now))
            raise UserError(f"the line for {image} has `{name}`, which is not one of {known}")
        change = 100 * (now[name] - before) / max(before, 1)
        if abs(change) > SLACK_PERCENT:
            verdict = "worse" if change > 0 else "better"
            problems.append(
                f"{name} of {image} is {now[name]:,}, {abs(change):.1f} % {verdict} than its baseline of {before:,}"
            )
    return problems


def renew(text: str, reports: Mapping[str, Image]) -> str:
    """Returns the file with the lines of these images as measured; others and comments stay.

    A line keeps its names; a new one has the usual ones and comes where the alphabet puts it.
    """
    lines = read(text)
    for image, report in reports.items():
        names = lines[image].numbers if image in lines else _USUAL
        now = measured(report)
        unknown = [name for name in names if name not in now]
        if unknown:
            raise UserError(f"the line for {image} has `{unknown[0]}`, which is not measured")
        lines[image] = Line(report.recorded.vlen, {name: now[name] for name in names})
    comments = [line for line in text.splitlines() if line.startswith("#")]
    return "\n".join([*comments, *(_text(image, lines[image]) for image in sorted(lines))]) + "\n"


def _text(image: str, line: Line) -> str:
    numbers = (f"{name}={value}" for name, value in line.numbers.items())
    return " ".join([image, f"vlen={line.vlen}", *numbers])
