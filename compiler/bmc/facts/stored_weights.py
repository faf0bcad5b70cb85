"""The layout of each weight in the parameter archive, and the layout that the rewritten IR expects."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names


@dataclass(frozen=True, slots=True)
class WeightType:
    """The type and layout of a weight.

    Attributes:
      dtype: MLIR element type.
      shape: its shape in the archive.
      permutation: axes for numpy.transpose from the archive's layout to the expected one; () for none.
      where: what first reads it, as ir_util.place() says it; "" if unknown.
      is_widened: whether it is i16, and i8 in the archive.
      is_halved: whether it is f16, and f32 in the archive.
    """

    dtype: str
    shape: tuple[int, ...]
    permutation: tuple[int, ...]
    where: str = ""
    is_widened: bool = False
    is_halved: bool = False


def read(
    module: Any,
    permutations: Mapping[str, tuple[int, ...]],
    widened: Collection[str] = (),
    halved: Collection[str] = (),
) -> dict[str, WeightType]:
    """Returns the type of every weight by name.

    Args:
      module: the module with the globals.
      permutations: the axes of those whose layout has changed.
      widened: the names of those that are i8 in the archive and i16 in the module.
      halved: the names of those that are f32 in the archive and f16 in the module.
    """
    types = {}
    readers = _readers(module)
    for op in ir_util.all_of(module, names.GLOBAL):
        kind = ir.TypeAttr(op.attributes["type"]).value
        if isinstance(kind, ir.RankedTensorType):
            name = ir_util.string(op, "sym_name")
            axes = permutations.get(name, ())
            shape = tuple(
                kind.shape[axes.index(i)] if axes else n for i, n in enumerate(kind.shape)
            )
            where, dtype = readers.get(name, ""), str(kind.element_type)
            types[name] = WeightType(dtype, shape, axes, where, name in widened, name in halved)
    return types


def _readers(module: Any) -> dict[str, str]:
    """Returns the place of the first operation that reads each global."""
    found: dict[str, str] = {}
    for load in ir_util.all_of(module, names.GLOBAL_LOAD):
        name = ir.FlatSymbolRefAttr(load.attributes["global"]).value
        for use in load.results[0].uses:
            found.setdefault(name, ir_util.place([use.owner.operation]))
    return found
