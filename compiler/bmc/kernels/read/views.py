"""Buffers and constants as the loops of an operation index them."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import contraction, ir_util, names
from bmc.kernels.dtypes import TYPES, WIDTHS
from bmc.kernels.unsupported import Unsupported

LOAD, STORE = "iree_codegen.load_from_buffer", "iree_codegen.store_to_buffer"
_VIEWS = (
    "memref.assume_alignment",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.subview",
)


class View:
    """A buffer or constant, and the affine map from the root's loops to its indices.

    Args:
      value: the buffer or constant.
      map_: the map.
      types: the supported element types.
    """

    def __init__(self, value: Any, map_: Any, types: Collection[str] = TYPES) -> None:
        self.value = value
        self.map = map_
        if isinstance(value.type, ir.MemRefType):
            strides, _ = value.type.get_strides_and_offset()
        else:
            strides, inner = [], 1
            for extent in reversed(value.type.shape):
                strides.insert(0, inner)
                inner *= extent
        if dtype_of(value) not in types or any(stride < 0 for stride in strides):
            raise Unsupported(f"an operand of type {value.type}")
        width = WIDTHS[dtype_of(value)]
        self._steps = [
            (stride * width, terms_of(index))
            for stride, index in zip(strides, map_.results, strict=True)
        ]

    def step(self, axis: int) -> int:
        """Returns the stride of an axis in bytes."""
        return int(self._steps[axis][0])

    def stride(self, loop: int) -> int:
        """Returns the bytes from one iteration of a loop to the next."""
        return int(sum(stride * terms.get(loop, 0) for stride, terms in self._steps))


def maps_of(op: Any) -> list[Any]:
    """Returns the affine maps of a linalg operation's operands."""
    return [each.value for each in linalg.get_indexing_maps(op)]


def terms_of(index: Any) -> dict[int, int]:
    """Returns the factor of each loop in an index, which must be a linear function of loops."""
    if isinstance(index, ir.AffineConstantExpr) and ir.AffineConstantExpr(index).value == 0:
        return {}
    terms = contraction.terms(index)
    if terms is None:
        raise Unsupported(f"the index {index}")
    return terms


def plain(map_: Any) -> list[Any]:
    """Returns the results of a map, which must be distinct loops."""
    loops = [ir.AffineDimExpr(each) for each in map_.results if isinstance(each, ir.AffineDimExpr)]
    if len({loop.position for loop in loops}) != len(list(map_.results)):
        raise Unsupported(f"the map {map_}")
    return loops


def loops_of(map_: Any, indices: list[Any]) -> list[Any]:
    """Returns the loops of an operation in terms of the indices of a tensor.

    Args:
      map_: the map from the loops to the indices, a permutation.
      indices: the indices of the tensor.
    """
    if len(indices) != map_.n_dims:
        raise Unsupported(f"the map {map_}")
    loops: list[Any] = [None] * map_.n_dims
    for loop, index in zip(plain(map_), indices, strict=True):
        loops[loop.position] = index
    return loops


def substituted(map_: Any, loops: list[Any]) -> list[Any]:
    """Returns the results of a map with `loops` in place of its loops; results may be sums, as in a window."""

    def substitute(index: Any) -> Any:
        if isinstance(index, ir.AffineDimExpr):
            return loops[ir.AffineDimExpr(index).position]
        if isinstance(index, ir.AffineConstantExpr):
            return index
        expressions = [
            ir.AffineExpr.get_mul(loops[loop], ir.AffineConstantExpr.get(factor))
            for loop, factor in terms_of(index).items()
        ]
        return functools.reduce(ir.AffineExpr.get_add, expressions)

    return [substitute(index) for index in map_.results]


def source_of(value: Any, indices: list[Any]) -> tuple[Any, list[Any]]:
    """Returns the buffer or constant that a tensor is made of, and where in it `indices` of the tensor are."""
    if isinstance(value.type, ir.MemRefType):
        return value, indices
    owner = ir_util.definition(value)
    if owner is not None and owner.name == "arith.constant":
        return value, indices
    while owner is not None and owner.name in names.RESHAPES:
        indices = unreshaped(owner, indices)
        owner = ir_util.definition(owner.operands[0])
    if owner is None or owner.name != LOAD:
        raise Unsupported("an operand that the dispatch computes")
    return owner.operands[0], indices


def unreshaped(reshape: ir_util.Op, indices: list[Any]) -> list[Any]:
    """Returns the indices in the operand of a reshape that adds or removes axes of extent 1."""
    groups = [
        [ir.IntegerAttr(n).value for n in each] for each in reshape.attributes["reassociation"]
    ]
    expands = reshape.name == names.EXPAND_SHAPE
    shape = (reshape.results[0] if expands else reshape.operands[0]).type.shape
    result: list[Any] = []
    for number, group in enumerate(groups):
        wide = [axis for axis in group if shape[axis] != 1] or group[:1]
        if len(wide) > 1:
            raise Unsupported("an image that is reshaped")
        if expands:
            result.append(indices[wide[0]])
        else:
            zero = ir.AffineExpr.get_constant(0)
            result += [indices[number] if axis == wide[0] else zero for axis in group]
    return result


def root_of(value: Any) -> Any:
    """Returns the buffer that a buffer is a view of, which may be the buffer itself."""
    return ir_util.behind(value, _VIEWS)


def dtype_of(value: Any) -> str:
    """Returns the name of a value's type, or of its element type."""
    type_ = value.type
    return str(type_.element_type) if isinstance(type_, ir.ShapedType) else str(type_)
