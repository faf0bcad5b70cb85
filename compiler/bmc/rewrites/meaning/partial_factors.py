"""Keeps sums over several axes apart from products with a factor that has only some of them: `(x * w).sum()`.

IREE makes a contraction of both, and takes an outer axis that the factor lacks out of it where a tile has one element
of it, but not out of the result, and rejects what it has made (docs/upstream/iree-partial-factors.md).
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import build, contraction, ir_util, names

_REDUCE, _BROADCAST = "stablehlo.reduce", "stablehlo.broadcast_in_dim"
_SUMS = ("arith.addf", "arith.addi", "stablehlo.add")
_PRODUCTS = ("arith.mulf", "arith.muli", "stablehlo.multiply")
_BARRIER = "util.optimization_barrier"
_CONSTANTS = ("arith.constant", "stablehlo.constant")


def apply(module: Any, _: object = None) -> None:
    """Puts a barrier between such a product and its sum."""
    for op in [*ir_util.all_of(module, _REDUCE), *ir_util.all_of(module, names.GENERIC)]:
        summed = _summed(op)
        product = ir_util.definition(op.operands[0]) if len(summed) > 1 else None
        if product is None:
            continue
        if any(_lacks_an_outer(summed, axes) for axes in _factors(product)):
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = build.same(_BARRIER, op.operands[0])


def _lacks_an_outer(summed: set[int], axes: set[int]) -> bool:
    """Whether a factor with these axes has one of the sum's behind one that it lacks; IREE knows the other order."""
    lacking, had = summed - axes, summed & axes
    return bool(lacking and had) and max(had) > min(lacking)


def _summed(op: ir_util.Op) -> set[int]:
    """Returns the axes of the first operand that an operation sums up; none if it does anything else."""
    body = [each.operation.name for each in op.regions[0].blocks[0]]
    if len(body) != 2 or body[0] not in _SUMS:
        return set()
    if op.name == _REDUCE:
        return set(ir.DenseI64ArrayAttr(op.attributes["dimensions"]))
    first, *_, written = (each.value for each in linalg.get_indexing_maps(op))
    if contraction.loops(first) != tuple(range(first.n_dims)):
        return set()
    return set(range(first.n_dims)) - set(contraction.loops(written) or ())


def _factors(product: ir_util.Op) -> list[set[int]]:
    """Returns the axes along which each factor of a product differs."""
    if product.name == names.GENERIC:
        body = [each.operation.name for each in product.regions[0].blocks[0]]
        if len(body) < 2 or body[-2] not in _PRODUCTS:
            return []
        return [
            {loop for loop, size in zip(loops, _sizes(operand), strict=True) if size > 1}
            for operand, each in zip(
                list(product.operands)[:-1], linalg.get_indexing_maps(product), strict=False
            )
            if (loops := contraction.loops(each.value)) is not None
        ]
    if product.name not in _PRODUCTS:
        return []
    return [_axes(factor) for factor in product.operands]


def _sizes(operand: Any) -> list[int]:
    """Returns the shape of an operand, which may be a number."""
    return list(operand.type.shape) if isinstance(operand.type, ir.ShapedType) else []


def _axes(value: Any) -> set[int]:
    op, axes = ir_util.definition(value), {n for n, size in enumerate(value.type.shape) if size > 1}
    if op is not None and op.name in _CONSTANTS:
        elements = op.attributes["value"]
        is_same = isinstance(elements, ir.DenseElementsAttr) and elements.is_splat
        return set() if is_same else axes
    if op is not None and op.name == _BROADCAST:
        inner = _axes(op.operands[0])
        wide = list(ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"]))
        return {wide[axis] for axis in inner}
    return axes
