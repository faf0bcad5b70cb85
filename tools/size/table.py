"""A report as text for a terminal."""

from __future__ import annotations

from typing import Any

TOP = 20


def _rows(title: str, rows: list[tuple[str, int]]) -> list[str]:
    lines = [title]
    lines += [f"  {name:<28} {value:>14,}" for name, value in rows]
    return [*lines, ""]


def _dispatch_lines(report: dict[str, Any]) -> list[str]:
    commands = report["model"]["commands"]
    counts = report["run"]["dispatch_instructions"]
    total = sum(counts) or 1
    cost: dict[str, list[int]] = {}
    for command, count in zip(commands, counts, strict=True):
        entry = cost.setdefault(command["function"] or command["kind"], [0, 0])
        entry[0] += 1
        entry[1] += count
    ordered = sorted(cost.items(), key=lambda item: -item[1][1])
    lines = [f"Kernels by instructions ({len(counts)} commands)"]
    for name, (times, count) in ordered[:TOP]:
        lines.append(f"  {count:>14,}  {100 * count / total:5.1f} %  x{times:<3} {name}")
    rest = ordered[TOP:]
    if rest:
        lines.append(f"  {sum(c for _, (_, c) in rest):>14,}  in {len(rest)} more kernels")
    return [*lines, ""]


def render(report: dict[str, Any]) -> str:
    """Returns the report as lines of text; sizes in bytes."""
    model = report["model"]
    lines = [f"{model['name']} ({model['isa']}) on {report['board']}", ""]
    lines += _rows("Flash", [(p, n) for p, n in report["flash_bytes"].items() if n])
    lines += _rows("RAM", [(p, n) for p, n in report["ram_bytes"].items() if n])
    lines += _rows("Code outside kernels (.text)", list(report["text_bytes"].items()))
    bound = model["arena"]["liveness_bound_bytes"]
    arena = model["arena"]["bytes"]
    lines.append(f"Arena {arena:,}; liveness bound {bound:,}; ratio {arena / max(bound, 1):.2f}")
    for region in report["memory"]:
        share = 100 * region["used"] / region["length"]
        lines.append(
            f"Memory {region['name']}: {region['used']:,} of {region['length']:,} ({share:.1f} %)"
        )
    lines.append("")
    if "run" in report:
        run = report["run"]
        lines += _rows(
            f"One inference on Spike, VLEN {run['boot']['vlen']}",
            [
                ("instructions", run["instructions"]),
                ("outside kernels, a dispatch", run["walker_instructions_per_dispatch"]),
                ("stack high water", run["stack_bytes"]),
            ],
        )
        lines += _dispatch_lines(report)
    return "\n".join(lines).rstrip()
