"""Reads elements at indices that are one for each axis without tensors of all index tuples.

PyTorch interpolates with `image[:, :, rows, columns]`, which gathers at tuples of four indices of 64 bits for every
element of the result. IREE computes all tuples, and copies them one number at a time. Here each element computes its
own indices, from the tensors that they were broadcast from. IREE knows no linalg operations of unsigned numbers
beside StableHLO, so their bits are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, ir_util

_NUMBERS = re.compile(
    r"#stablehlo\.gather<collapsed_slice_dims = \[(.*?)\], start_index_map = \[(.*?)\], index_vector_dim = (\d+)>"
)


@dataclass(frozen=True)
class _Index:
    """The indices along one axis: a tensor, and the axis of the result for each of its axes."""

    value: Any
    axes: tuple[int, ...]


def apply(module: Any, _: object = None) -> None:
    """Rewrites gathers of single elements whose tuples of indices are put together from broadcast tensors."""
    for op in ir_util.all_of(module, "stablehlo.gather"):
        found = [index for part in _parts(op) if (index := _index(part)) is not None]
        if len(found) == op.operands[0].type.rank > 0:
            _rewrite(op, found)


def _parts(op: ir_util.Op) -> list[Any]:
    """Returns the indices along each axis that tuples are made of; none if the gather does anything else."""
    source, tuples = op.operands
    last = tuples.type.rank - 1
    numbers = _NUMBERS.fullmatch(str(op.attributes["dimension_numbers"]))
    axes = ", ".join(map(str, range(source.type.rank)))
    sizes = set(ir.DenseI64ArrayAttr(op.attributes["slice_sizes"]))
    joined = ir_util.definition(tuples)
    if (
        numbers is None
        or numbers.groups() != (axes, axes, str(last))
        or sizes != {1}
        or joined is None
        or joined.name != "stablehlo.concatenate"
        or ir.IntegerAttr(joined.attributes["dimension"]).value != last
    ):
        return []
    return [part for part in joined.operands if part.type.shape[-1] == 1]


def _index(part: Any) -> _Index | None:
    """Returns what the indices along an axis are broadcast from."""
    reshape = ir_util.definition(part)
    if reshape is None or reshape.name != "stablehlo.reshape":
        return None
    wide = reshape.operands[0]
    broadcast = ir_util.definition(wide)
    is_broadcast = broadcast is not None and broadcast.name == "stablehlo.broadcast_in_dim"
    if broadcast is None or not is_broadcast or [*wide.type.shape, 1] != list(part.type.shape):
        return None
    axes = ir.DenseI64ArrayAttr(broadcast.attributes["broadcast_dimensions"])
    return _Index(broadcast.operands[0], tuple(axes))


def _rewrite(op: ir_util.Op, indices: list[_Index]) -> None:
    source, result = op.operands[0], op.results[0].type
    rank = result.rank
    kind = _signless(result.element_type)
    loops = [ir.AffineExpr.get_dim(axis) for axis in range(rank)]
    zero = ir.AffineExpr.get_constant(0)
    maps = [
        ir.AffineMap.get(
            rank,
            0,
            [
                loops[axis] if extent > 1 else zero
                for axis, extent in zip(index.axes, index.value.type.shape, strict=True)
            ],
        )
        for index in indices
    ]
    with ir.InsertionPoint(op), op.location:
        source = _bits(source, kind)
        new = build.elementwise(
            [index.value for index in indices],
            tensor.empty(result.shape, kind),
            [*maps, ir.AffineMap.get_identity(rank)],
            lambda *found: tensor.extract(
                source,
                [_place(index, size) for index, size in zip(found, source.type.shape, strict=True)],
            ),
        )
        new = _bits(new, result.element_type)
    op.results[0].replace_all_uses_with(new)
    op.erase()


def _signless(kind: Any) -> Any:
    if isinstance(kind, ir.IntegerType) and kind.is_unsigned:
        return ir.IntegerType.get_signless(kind.width)
    return kind


def _bits(value: Any, kind: Any) -> Any:
    if value.type.element_type == kind:
        return value
    wanted = ir.RankedTensorType.get(value.type.shape, kind)
    return build.op("stablehlo.bitcast_convert", wanted, value)


def _place(index: Any, extent: int) -> Any:
    """Returns an index within an axis; one outside of it becomes the nearest, as in a gather."""
    first, last = (build.number(number, index.type) for number in (0, extent - 1))
    limited = build.same("arith.minsi", build.same("arith.maxsi", index, first), last)
    return build.op("arith.index_cast", ir.IndexType.get(), limited)
