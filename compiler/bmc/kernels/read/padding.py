"""Reads what is around the image of a convolution, where IREE pads it in the same dispatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.problem.product import Edge, Padding, Unsupported
from bmc.kernels.read import rescales
from bmc.kernels.read.views import View, source_of, terms_of


@dataclass(frozen=True)
class Padded:
    """An operand in a buffer that is smaller than what the loops visit.

    Attributes:
      view: the buffer, and the map to its indices, which begin before it.
      value: what is read elsewhere.
      edges: its axes where they do, with the factor of each loop in their indices.
    """

    view: View
    value: float
    edges: tuple[tuple[int, Edge, dict[int, int]], ...]

    def padding(self, operand: int) -> Padding | None:
        """Returns the padding of a product whose operand of that number it is; None if no axis is padded."""
        if not self.edges:
            return None
        offset = sum(edge.low * self.view.step(axis) for axis, edge, _ in self.edges)
        return Padding(operand, self.value, tuple(edge for _, edge, _ in self.edges), -offset)

    def steps(self, loop: int) -> tuple[int, ...]:
        """Returns the indices from one iteration of a loop to the next along each edge."""
        return tuple(terms.get(loop, 0) for _, _, terms in self.edges)


def read(value: Any, map_: Any) -> Padded | None:
    """Returns an operand that is padded, None if it is not.

    Args:
      value: the operand, a tensor.
      map_: the map to its indices.

    Raises:
      Unsupported: it is padded with what is not known, or something else happens to it as well.
    """
    indices = list(map_.results)
    owner = ir_util.definition(value)
    while owner is not None and owner.name in ("tensor.expand_shape", "tensor.collapse_shape"):
        indices = _before(owner, indices)
        owner = ir_util.definition(owner.operands[0])
    if owner is None or owner.name != "tensor.pad":
        return None
    low, high = (
        list(ir.DenseI64ArrayAttr(owner.attributes[f"static_{side}"])) for side in ("low", "high")
    )
    operations = list(owner.regions[0].blocks[0].operations)
    filler = ir_util.definition(operations[-1].operands[0])
    if len(owner.operands) != 1 or filler is None or filler.name != "arith.constant":
        raise Unsupported("an image that is padded with what is computed")
    shape = owner.operands[0].type.shape
    view = View(source_of(owner.operands[0]), ir.AffineMap.get(map_.n_dims, 0, indices))
    edges = tuple(
        (axis, Edge(before, shape[axis]), terms_of(indices[axis]))
        for axis, (before, behind) in enumerate(zip(low, high, strict=True))
        if before or behind
    )
    return Padded(view, rescales.number(filler), edges)


def _before(reshape: ir_util.Op, indices: list[Any]) -> list[Any]:
    """Returns the indices before axes of one element came or went."""
    groups = [
        [ir.IntegerAttr(n).value for n in each] for each in reshape.attributes["reassociation"]
    ]
    expands = reshape.name == "tensor.expand_shape"
    shape = (reshape.results[0] if expands else reshape.operands[0]).type.shape
    found: list[Any] = []
    for number, group in enumerate(groups):
        wide = [axis for axis in group if shape[axis] != 1] or group[:1]
        if len(wide) > 1:
            raise Unsupported("an image that is padded, and has other axes then")
        if expands:
            found.append(indices[wide[0]])
        else:
            none = ir.AffineExpr.get_constant(0)
            found += [indices[number] if axis == wide[0] else none for axis in group]
    return found
