"""`bmc mutate`: the packed weights with the largest of one of them changed, for negative controls.

A check that cannot fail proves nothing; a model with wrong elements in one weight must fail its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc import dtype
from bmc.errors import BmcError


@dataclass(frozen=True, slots=True)
class Mutation:
    """The first changed element, and of how many: `index` counts elements of the weight, `offset` is in
    bytes."""

    weight: str
    index: int
    offset: int
    before: float
    after: float
    count: int


def mutate(data: bytes, report: dict[str, Any]) -> tuple[bytes, Mutation]:
    """Changes the sign of the largest elements of one of the packed weights.

    The weight is the last one that kernels come to use among those of rank 2 or more (weights are
    packed in the order of first use), the elements all those that none exceeds in magnitude, so that
    the change reaches the outputs and stands out of any sensible tolerance. That is one element of a
    float weight, and about one for every output channel of an int8 one, whose scales make it so.

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
    magnitudes = np.abs(values.astype(np.float64))
    places = np.flatnonzero((magnitudes == magnitudes.max()) | np.isnan(magnitudes))
    index = int(places[0])
    before = float(values[index])
    # Integers wrap: the smallest one is its own opposite, like zero, and becomes 1.
    old = values[places]
    new = ~old if kind.kind == "b" else -old
    values[places] = np.where((new != old) & np.isfinite(old.astype(np.float64)), new, 1)
    mutated = bytearray(data)
    mutated[start : start + length] = values.tobytes()
    name = weight["framework_name"] or weight["name"]
    offset = start + index * values.itemsize
    after = float(values[index])
    return bytes(mutated), Mutation(name, index, offset, before, after, len(places))
