"""What `bench --gates` prints: instructions and cycles of every dispatch on CPU designs in gates."""

from __future__ import annotations

from collections import Counter, defaultdict

from rich.table import Table

from bmc.report import Model
from tools.report.report import Image, Inference
from tools.report.rows import as_run
from tools.report.table import table as aligned


def lines(report: Image, in_flash: Image) -> list[str | Table]:
    """Returns what is shown of an image: where its cycles go, what takes most of them first.

    Args:
      report: of the image, measured with a ROM as fast as the RAM.
      in_flash: the same, with a ROM that is flash.
    """
    shown: list[str | Table] = []
    for (model, fast), slow in zip(report.inferences, in_flash.recorded.models, strict=True):
        assert fast.cycles is not None
        each = fast.cycles / max(fast.instructions, 1)
        shown += [
            f"{model.name} on {report.board}: {fast.instructions:,} instructions, {fast.cycles:,} cycles, "
            f"{each:.2f} for each instruction; {slow.cycles:,} with the ROM in flash",
            _table(model, fast, slow),
            "",
        ]
    return [*shown, f"in flash: cycles of {in_flash.recorded.cycles_of}"]


def _table(model: Model, fast: Inference, slow: Inference) -> Table:
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in as_run(model, fast):
        found[row.op, row.command.layer].update(
            fast=row.ran.cycles or 0, instructions=row.ran.instructions, macs=row.macs
        )
    for row in as_run(model, slow):
        found[row.op, row.command.layer].update(slow=row.ran.cycles or 0)
    ordered = sorted(found.items(), key=lambda item: -item[1]["fast"])
    headings = ("instructions", "cycles", "each", "in flash", "MACs", "per MAC", "dispatch")
    rows = [_cells(op, layer, spent) for (op, layer), spent in ordered]
    return aligned(headings, rows, indented=False)


def _cells(op: str, layer: str, spent: Counter[str]) -> tuple[str, ...]:
    macs = spent["macs"]
    return (
        f"{spent['instructions']:,}",
        f"{spent['fast']:,}",
        f"{spent['fast'] / max(spent['instructions'], 1):.2f}",
        f"{spent['slow']:,}",
        f"{macs:,}" if macs else "",
        f"{spent['fast'] / macs:.2f}" if macs else "",
        f"{layer}  {op}" if layer else op,
    )
