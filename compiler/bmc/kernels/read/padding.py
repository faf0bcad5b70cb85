"""Reads the padding of an image that the dispatch itself pads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names
from bmc.kernels.problem.product import Edge, Padding
from bmc.kernels.read import rescales
from bmc.kernels.read.views import View, source_of, terms_of, unreshaped
from bmc.kernels.unsupported import Unsupported


@dataclass(frozen=True)
class Padded:
    """A padded operand, whose buffer holds the image without the padding.

    Attributes:
      view: the buffer, and the map to indices of the padded image.
      value: the pad value.
      edges: the padded axes: number of the buffer's axis, edge, and the factor of each loop in the axis's index.
    """

    view: View
    value: float
    edges: tuple[tuple[int, Edge, dict[int, int]], ...]

    def padding(self, operand: int) -> Padding | None:
        """Returns the padding of a product in which this is operand number `operand`; None if no axis is padded."""
        if not self.edges:
            return None
        offset = sum(edge.low * self.view.step(axis) for axis, edge, _ in self.edges)
        return Padding(operand, self.value, tuple(edge for _, edge, _ in self.edges), -offset)

    def steps(self, loop: int) -> tuple[int, ...]:
        """Returns the steps of a loop, as in Loop."""
        return tuple(terms.get(loop, 0) for _, _, terms in self.edges)


def read(value: Any, map_: Any) -> Padded | None:
    """Returns a padded operand, None if the operand is not padded.

    Args:
      value: the operand, a tensor.
      map_: the map to its indices.

    Raises:
      Unsupported: the pad value or the padding is not constant, or the padded image is reshaped.
    """
    indices = list(map_.results)
    owner = ir_util.definition(value)
    while owner is not None and owner.name in names.RESHAPES:
        indices = unreshaped(owner, indices)
        owner = ir_util.definition(owner.operands[0])
    if owner is None or owner.name != "tensor.pad":
        return None
    low, high = (
        list(ir.DenseI64ArrayAttr(owner.attributes[f"static_{side}"])) for side in ("low", "high")
    )
    operations = list(owner.regions[0].blocks[0].operations)
    filler = ir_util.definition(operations[-1].operands[0])
    if len(owner.operands) != 1 or filler is None or filler.name != "arith.constant":
        raise Unsupported("an image with a computed pad value")
    shape = owner.operands[0].type.shape
    source, within = source_of(owner.operands[0], indices)
    view = View(source, ir.AffineMap.get(map_.n_dims, 0, within))
    edges = tuple(
        (_axis_of(indices[axis], within), Edge(before, shape[axis]), terms_of(indices[axis]))
        for axis, (before, behind) in enumerate(zip(low, high, strict=True))
        if before or behind
    )
    return Padded(view, rescales.number(filler), edges)


def _axis_of(index: Any, within: list[Any]) -> int:
    """Returns the axis of the buffer that an index of the image is along."""
    if index not in within:
        raise Unsupported("a padded image that is reshaped")
    return within.index(index)
