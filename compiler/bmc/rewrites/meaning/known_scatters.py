"""Makes updates of a slice of scatters that write one part of a tensor at a known place.

JAX writes a scatter for `x.at[:, 1:3].add(y)`. IREE has none without an indexed dimension, and none whose indexed
dimensions are not the first ones.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, constant_arrays, ir_util, stablehlo

_CONSTANT, _RETURN = "stablehlo.constant", "stablehlo.return"
# What computes the same of a tensor, element by element, as of one element.
_STEPS = tuple(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "and", "clamp", "compare", "convert", "divide", "exponential", "log", "maximum", "minimum",
        "multiply", "negate", "not", "or", "power", "select", "sign", "sine", "sqrt", "subtract", "tanh", "xor",
    )
)  # fmt: skip
_BROADCAST = "stablehlo.broadcast_in_dim"
_VIEWS = (_BROADCAST, "stablehlo.reshape")


@dataclass(frozen=True)
class _Part:
    """A part of a tensor: where it starts along each dimension, and its type, which has all of them."""

    start: list[int]
    kind: Any


def apply(module: Any, _: object = None) -> None:
    """Rewrites such scatters, if all of the part lies inside of the tensor."""
    for op in ir_util.all_of(module, "stablehlo.scatter"):
        part = _part(op, module)
        if part is not None:
            with ir.InsertionPoint(op), op.location:
                made = _updated(op, part)
            op.results[0].replace_all_uses_with(made)
            op.erase()


def _part(op: ir_util.Op, module: Any) -> _Part | None:
    if len(op.results) != 1 or not _is_plain(op):
        return None
    whole, indices, update = op.operands
    numbers = stablehlo.dimension_numbers(op, "scatter_dimension_numbers")
    start = _known(indices, module)
    is_one = indices.type.rank == 1 and numbers.get("index_vector_dim", [0]) == [0]
    if start is None or not is_one or numbers.get("input_batching_dims"):
        return None
    # One index has no dimension of the update.
    if numbers.get("update_window_dims", []) != list(range(update.type.rank)):
        return None
    inserted = numbers.get("inserted_window_dims", [])
    axes = range(whole.type.rank)
    sizes = iter(update.type.shape)
    shape = [1 if axis in inserted else next(sizes) for axis in axes]
    along = dict(zip(numbers.get("scatter_dims_to_operand_dims", []), start, strict=True))
    place = [along.get(axis, 0) for axis in axes]
    if any(
        first < 0 or first + size > extent
        for first, size, extent in zip(place, shape, whole.type.shape, strict=True)
    ):
        return None
    return _Part(place, ir.RankedTensorType.get(shape, whole.type.element_type))


def _known(value: Any, module: Any) -> list[int] | None:
    """Returns the elements of a vector that consists of constants, None if one is computed."""
    elements = constant_arrays.integers(value, module)
    if elements is not None:
        return [int(each) for each in elements.flat]
    maker = ir_util.definition(value)
    if maker is None:
        return None
    found = [_known(operand, module) for operand in maker.operands]
    if maker.name not in (*_VIEWS, "stablehlo.concatenate") or None in found:
        return None
    joined = list(itertools.chain.from_iterable(each for each in found if each is not None))
    repeated = joined * (value.type.shape[0] if len(joined) == 1 and value.type.rank else 1)
    return repeated if len(repeated) == math.prod(value.type.shape) else None


def _is_plain(op: ir_util.Op) -> bool:
    """Whether the body of a scatter only computes with single elements."""
    names = {each.operation.name for each in op.regions[0].blocks[0].operations}
    return names <= {*_STEPS, _CONSTANT, _RETURN}


def _updated(op: ir_util.Op, part: _Part) -> Any:
    whole, _, update = op.operands
    ends = [first + size for first, size in zip(part.start, part.kind.shape, strict=True)]
    if update.type != part.kind:
        update = build.op("stablehlo.reshape", part.kind, update)
    block = op.regions[0].blocks[0]
    old, new = block.arguments
    values = {old: stablehlo.sliced(whole, part.kind, part.start, ends), new: update}

    def of_all(one: Any) -> Any:
        # What the body takes from outside is one number for all elements.
        return values[one] if one in values else _repeated(one, part.kind.shape)

    for each in (made.operation for made in block.operations):
        if each.name == _RETURN:
            update = of_all(each.operands[0])
            break
        attributes = {name: each.attributes[name] for name in each.attributes}
        (result,) = each.results
        if each.name == _CONSTANT:
            number = build.op(_CONSTANT, result.type, **attributes)
            values[result] = _repeated(number, part.kind.shape)
        else:
            kind = ir.RankedTensorType.get(part.kind.shape, result.type.element_type)
            values[result] = build.op(each.name, kind, *map(of_all, each.operands), **attributes)
    if part.kind == whole.type:
        return update
    scalar = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    starts = [stablehlo.constant(np.array(first), scalar) for first in part.start]
    return build.op("stablehlo.dynamic_update_slice", whole.type, whole, update, *starts)


def _repeated(number: Any, shape: list[int]) -> Any:
    kind = ir.RankedTensorType.get(shape, number.type.element_type)
    nowhere = ir.DenseI64ArrayAttr.get([])
    return build.op(_BROADCAST, kind, number, broadcast_dimensions=nowhere)
