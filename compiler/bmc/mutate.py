"""`bmc mutate`: changes the largest elements of one packed weight, for negative controls.

A check that cannot fail proves nothing, so a model with one wrong weight must fail its own check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc import dtype
from bmc.errors import BmcError

# What is read of report.json (json_shapes.Shape).
_WEIGHT = {
    **dict.fromkeys(("name", "framework_name", "dtype"), str),
    **dict.fromkeys(("offset", "length"), int),
    "shape": [int],
}
REPORT = {"name": str, "weights": [_WEIGHT]}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change to one weight.

    Attributes:
      weight: its name in the framework, or in the report if there is none.
      index: number of the first changed element.
      offset: bytes from the start of weights.bin to that element.
      before: the element's old value.
      after: its new value.
      count: number of changed elements.
    """

    weight: str
    index: int
    offset: int
    before: float
    after: float
    count: int


def mutate(data: bytes, report: dict[str, Any]) -> tuple[bytes, Mutation]:
    """Changes the sign of the largest elements of one packed weight.

    Weights are packed in the order of their first use. The chosen weight is the last one of rank 2 or
    more, or the last one of all if there is none. Every element of the largest magnitude changes, so that
    the change reaches the outputs and exceeds any sensible tolerance. That is one element of a float
    weight. In an int8 weight it is about one per output channel, because each channel has its own scale.

    Args:
      data: contents of weights.bin.
      report: report.json of the same compilation.

    Returns:
      The changed contents of weights.bin, and a description of the change.

    Raises:
      BmcError: the model has no weights.
    """
    candidates = [w for w in report["weights"] if w["shape"]]
    matrices = [w for w in candidates if len(w["shape"]) >= 2]
    if not candidates:
        raise BmcError(
            "no-weights",
            f"{report['name']} has no weights, so none can be changed",
            hint="a negative control needs a model with weights",
        )
    weight = max(matrices or candidates, key=lambda w: int(w["offset"]))
    kind = dtype.from_mlir(weight["dtype"]).numpy
    start, length = int(weight["offset"]), int(weight["length"])
    values = np.frombuffer(data[start : start + length], kind).copy()
    magnitudes = np.abs(values.astype(np.float64))
    places = np.flatnonzero((magnitudes == magnitudes.max()) | np.isnan(magnitudes))
    index = int(places[0])
    before = float(values[index])
    # Integers wrap: the smallest one is its own negative, as is zero. Both become 1.
    old = values[places]
    new = ~old if kind.kind == "b" else -old
    values[places] = np.where((new != old) & np.isfinite(old.astype(np.float64)), new, 1)
    mutated = bytearray(data)
    mutated[start : start + length] = values.tobytes()
    name = weight["framework_name"] or weight["name"]
    offset = start + index * values.itemsize
    after = float(values[index])
    return bytes(mutated), Mutation(name, index, offset, before, after, len(places))
