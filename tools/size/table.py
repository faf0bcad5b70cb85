"""A report as text for a terminal."""

from __future__ import annotations

from typing import Any

TOP = 20


def _rows(title: str, rows: list[tuple[str, int]]) -> list[str]:
    lines = [title]
    lines += [f"  {name:<28} {value:>14,}" for name, value in rows]
    return [*lines, ""]


def _dispatch_lines(model: dict[str, Any], run: dict[str, Any]) -> list[str]:
    total = sum(command["instructions"] for command in run["commands"]) or 1
    cost: dict[str, list[int]] = {}
    for measured in run["commands"]:
        command = model["commands"][measured["index"]]
        entry = cost.setdefault(command["function"] or command["kind"], [0, 0])
        entry[0] += measured["times"]
        entry[1] += measured["instructions"]
    ordered = sorted(cost.items(), key=lambda item: -item[1][1])
    lines = [f"Kernels by instructions ({len(run['commands'])} commands)"]
    for name, (times, count) in ordered[:TOP]:
        lines.append(f"  {count:>14,}  {100 * count / total:5.1f} %  x{times:<3} {name}")
    rest = ordered[TOP:]
    if rest:
        lines.append(f"  {sum(c for _, (_, c) in rest):>14,}  in {len(rest)} more kernels")
    return [*lines, ""]


def _arena_line(model: dict[str, Any]) -> str:
    arena = model["arena"]["bytes"]
    bound = model["arena"]["liveness_bound_bytes"]
    return (
        f"Arena of {model['name']} {arena:,}; liveness bound {bound:,}; "
        f"ratio {arena / max(bound, 1):.2f}"
    )


def render(report: dict[str, Any]) -> str:
    """Returns the report as lines of text; sizes in bytes."""
    models = report["models"]
    names = ", ".join(model["name"] for model in models)
    lines = [f"{names} ({models[0]['isa']}) on {report['board']}", ""]
    lines += _rows("Flash", [(p, n) for p, n in report["flash_bytes"].items() if n])
    lines += _rows("RAM", [(p, n) for p, n in report["ram_bytes"].items() if n])
    lines += _rows("Code outside kernels (.text)", list(report["text_bytes"].items()))
    lines += [_arena_line(model) for model in models]
    for region in report["memory"]:
        share = 100 * region["used"] / region["length"]
        lines.append(
            f"Memory {region['name']}: {region['used']:,} of {region['length']:,} ({share:.1f} %)"
        )
    lines.append("")
    if "run" in report:
        run = report["run"]
        for model, measured in zip(models, run["models"], strict=True):
            rows = [("instructions", measured["instructions"])]
            walker = measured["walker_instructions_per_dispatch"]
            if walker is not None:
                rows.append(("outside kernels, per dispatch", walker))
            title = f"{model['name']}: one inference on Spike, VLEN {run['boot']['vlen']}"
            lines += _rows(title, rows)
            lines += _dispatch_lines(model, measured)
        lines.append(f"Stack high water {run['stack_bytes']:,}")
    return "\n".join(lines).rstrip()
