"""How far a framework's own kernels are apart, by a table that `tools/bazel run //tools/campaigns/spread` measures."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("spread.json")
# The table is of one machine. Kernels of another CPU may be further apart.
_MARGIN = 2


@dataclass(frozen=True, slots=True)
class Spread:
    """Distance between results that a framework's kernels give for one model.

    Attributes:
      relative: as a share of the largest result.
      absolute: where results are small, such as a sigmoid's of large negative numbers.
    """

    relative: float = 0.0
    absolute: float = 0.0


NONE = Spread()


def of(frontend: str, ops: Mapping[str, int]) -> Spread:
    """Returns the spread of a model: each op adds its share to the differences of what it reads.

    Args:
      frontend: "keras", "onnx", "tflite" or "torch".
      ops: how many ops of each kind the model has, by the framework's names.
    """
    table = _table()[frontend]["ops"]
    known = [(table[op], count) for op, count in ops.items() if op in table]
    return Spread(
        _MARGIN * sum(relative * count for (relative, _), count in known),
        _MARGIN * max((absolute for (_, absolute), _ in known), default=0.0),
    )


@functools.cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table
