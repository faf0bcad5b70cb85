"""A run as Chrome's trace events, which Perfetto shows: a slice for each command, one after the other."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

CLOCK = "1 instruction = 1 ns"
# Trace events count in microseconds.
_PER_MICROSECOND = 1000


def events(data: Json) -> Json:
    """Returns the trace of a page's data: a process for each model, with the commands of its run."""
    found: list[Json] = []
    for process, model in enumerate(data["models"], 1):
        name = {"name": model["name"]}
        found.append({"ph": "M", "name": "process_name", "pid": process, "tid": 1, "args": name})
        clock = 0
        for command in model["commands"]:
            if command["times"]:
                found.append(_slice(command, process, clock))
                clock += command["instructions"]
    metadata = {"clock": CLOCK, "title": data["title"]}
    return {"traceEvents": found, "displayTimeUnit": "ns", "metadata": metadata}


def _slice(command: Json, process: int, start: int) -> Json:
    shown = ("index", "op", "times", "instructions", "macs", "bytes", "percent")
    return {
        "ph": "X",
        "name": command["layer"] or command["op"],
        "cat": command["class"],
        "pid": process,
        "tid": 1,
        "ts": start / _PER_MICROSECOND,
        "dur": command["instructions"] / _PER_MICROSECOND,
        "args": {key: command[key] for key in shown},
    }
