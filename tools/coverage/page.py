"""docs/coverage.md: one section per frontend, one row per op."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

TITLES = {
    "torch": "PyTorch",
    "keras": "Keras",
    "onnx": "ONNX",
    "tflite": "TensorFlow Lite",
    "jax": "JAX",
}
_VECTORS = {
    "jax": "The tool's table of ops calls each one on an f32 image; JAX gives the outputs.",
    "keras": "Each layer in the tool's table is a model of its own in f32; TensorFlow gives the"
    " outputs.",
    "onnx": "The cases are the node tests of the `onnx` package, with their own outputs, and recurrent layers with one"
    " attribute or optional input each, with onnxruntime's.",
    "torch": "The tool's table of ops calls each one on an f32 image; PyTorch gives the outputs.",
    "tflite": "Each op is converted from TensorFlow, once in float and once in int8 (which must match bit"
    " for bit); LiteRT's reference kernels give the outputs.",
}
_HEAD = """# Which ops work

This page is generated. For each row, models of that one op were compiled for `rv64gcv_zvl256b` and run on Spike against
the framework's own outputs. *Works* counts the cases that matched. Otherwise the row gives the error for the first case
that was refused, or says how its answer was wrong.
`tools/bazel run //tools/coverage -- --frontend FRONTEND` regenerates a section; FRONTEND is one of `torch`,
`keras`, `onnx`, `tflite` and `jax`.
"""
_SECTION = re.compile(r"^## ", re.MULTILINE)


class Status(Enum):
    """How one case ended."""

    WORKS = "works"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one case of one op; `sentence` is empty if it works."""

    op: str
    status: Status
    sentence: str


def section(frontend: str, outcomes: Sequence[Outcome], versions: str) -> str:
    """Returns the section of a frontend."""
    ops: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        ops.setdefault(outcome.op, []).append(outcome)
    rows = [_row(op, ops[op]) for op in sorted(ops)]
    whole = sum(all(o.status is Status.WORKS for o in found) for found in ops.values())
    wrong = sum(o.status is Status.WRONG for o in outcomes)
    works = sum(o.status is Status.WORKS for o in outcomes)
    return "\n".join(
        [
            f"## {TITLES[frontend]}",
            "",
            f"{_VECTORS[frontend]} {versions}.",
            "",
            f"{whole} of {len(ops)} ops work in every case. Of {len(outcomes)} cases, {works} work,"
            f" {len(outcomes) - works - wrong} are refused and {wrong} give a wrong answer.",
            "",
            "| Op | Works | Otherwise |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def _row(op: str, outcomes: Sequence[Outcome]) -> str:
    works = sum(outcome.status is Status.WORKS for outcome in outcomes)
    # A wrong answer is worse than none: it is named first.
    others = sorted(
        (o for o in outcomes if o.status is not Status.WORKS),
        key=lambda o: o.status is not Status.WRONG,
    )
    text = f"{others[0].status.value}: {others[0].sentence}" if others else ""
    cell = text.replace("|", "\\|")
    return (
        f"| {op} | {works} of {len(outcomes)} | {cell} |"
        if cell
        else f"| {op} | {works} of {len(outcomes)} | |"
    )


def replace_section(page: str, frontend: str, text: str) -> str:
    """Returns the page with the section of a frontend replaced or added."""
    sections = {part.split("\n", 1)[0]: f"## {part}" for part in _SECTION.split(page)[1:]}
    sections[TITLES[frontend]] = text
    order = [title for title in TITLES.values() if title in sections]
    return "\n".join([_HEAD, *(sections[title].rstrip("\n") + "\n" for title in order)])
