"""The layout of each weight in the parameter archive, and the layout that the rewritten IR expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util


@dataclass(frozen=True, slots=True)
class WeightType:
    """The type and layout of a weight.

    Attributes:
      dtype: MLIR element type.
      shape: its shape in the archive.
      permutation: axes for numpy.transpose from the archive's layout to the expected one; () for none.
      where: what first reads it, as ir_util.place() says it; "" if unknown.
    """

    dtype: str
    shape: tuple[int, ...]
    permutation: tuple[int, ...]
    where: str = ""


def read(module: Any, permutations: Mapping[str, tuple[int, ...]]) -> dict[str, WeightType]:
    """Returns the type of every weight by name; `permutations` holds the axes of the rewritten ones."""
    types = {}
    readers = _readers(module)
    for op in ir_util.all_of(module, "util.global"):
        kind = ir.TypeAttr(op.attributes["type"]).value
        if isinstance(kind, ir.RankedTensorType):
            name = ir_util.string(op, "sym_name")
            axes = permutations.get(name, ())
            shape = tuple(
                kind.shape[axes.index(i)] if axes else n for i, n in enumerate(kind.shape)
            )
            types[name] = WeightType(str(kind.element_type), shape, axes, readers.get(name, ""))
    return types


def _readers(module: Any) -> dict[str, str]:
    """Returns the place of the first operation that reads each global."""
    found: dict[str, str] = {}
    for load in ir_util.all_of(module, "util.global.load"):
        name = ir.FlatSymbolRefAttr(load.attributes["global"]).value
        for use in load.results[0].uses:
            found.setdefault(name, ir_util.place([use.owner.operation]))
    return found
