"""`bmc mutate`: the packed weights with one of them changed, for negative controls.

A check that cannot fail proves nothing; a model with one wrong weight must fail its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc import dtype
from bmc.errors import BmcError


@dataclass(frozen=True, slots=True)
class Mutation:
    """One changed element: `index` counts elements of the weight, `offset` is in bytes."""

    weight: str
    index: int
    offset: int
    before: float
    after: float


def mutate(data: bytes, report: dict[str, Any]) -> tuple[bytes, Mutation]:
    """Changes the sign of one element of packed weights.

    The weight is the last one that kernels come to use among those of rank 2 or more (weights are
    packed in the order of first use), the element its largest in magnitude, so that the change
    reaches the outputs and stands out of any sensible tolerance.

    Args:
      data: weights.bin.
      report: report.json of the same compilation.

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
    index = int(np.argmax(np.abs(values.astype(np.float64))))
    before = float(values[index])
    # As a 1-element array, integers wrap: the smallest one is its own opposite, like zero, and
    # becomes 1.
    old = values[index : index + 1]
    new = ~old if kind.kind == "b" else -old
    values[index] = new[0] if new[0] != old[0] and np.isfinite(before) else 1
    mutated = bytearray(data)
    mutated[start : start + length] = values.tobytes()
    name = weight["framework_name"] or weight["name"]
    offset = start + index * values.itemsize
    return bytes(mutated), Mutation(name, index, offset, before, float(values[index]))
