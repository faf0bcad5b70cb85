"""Operations of StableHLO, made and read. The bindings have no classes for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import build, ir_util

# They move elements, or put others beside them.
MOVES = tuple(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim",
        "concatenate",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    )
)
_NUMBERS = re.compile(r"(\w+) = (?:\[([^\]]*)\]|(\d+))")


def dimension_numbers(op: ir_util.Op, name: str) -> dict[str, list[int]]:
    """Returns the numbers of a gather's or scatter's attribute; those that it does not print are 0 or []."""
    return {
        key: [int(number)] if number else [int(item) for item in items.split(",") if item.strip()]
        for key, items, number in _NUMBERS.findall(str(op.attributes[name]))
    }


def moved(value: Any) -> list[Any]:
    """Returns the values whose elements a value has: it and what MOVES takes them from, each once."""
    found: dict[Any, None] = {}
    left = [value]
    while left:
        each = left.pop()
        if each in found:
            continue
        found[each] = None
        maker = ir_util.definition(each)
        if maker is not None and maker.name in MOVES:
            left += maker.operands
    return list(found)


def copied(value: Any, number: int) -> Any:
    """A copy of a tensor, of which IREE does not know that it is one; it merges copies of the same number."""
    scalar = ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))
    held = constant(np.array(number), scalar)
    held = build.op("stablehlo.optimization_barrier", scalar, held)
    always = compared("NE", held, constant(np.array(-1), scalar))
    return build.op("stablehlo.select", value.type, always, value, filled(value.type, 0))


def compared(direction: str, one: Any, other: Any) -> Any:
    """Compares two tensors element by element; `direction` is EQ, NE, LT, LE, GT or GE."""
    truth = ir.RankedTensorType.get(list(one.type.shape), ir.IntegerType.get_signless(1))
    attribute = ir.Attribute.parse(f"#stablehlo<comparison_direction {direction}>")
    return build.op("stablehlo.compare", truth, one, other, comparison_direction=attribute)


def broadcast(value: Any, kind: Any, axes: Sequence[int] = ()) -> Any:
    """Repeats a tensor, whose axes become those of the type `kind`; a scalar has none."""
    places = ir.DenseI64ArrayAttr.get(list(axes))
    return build.op("stablehlo.broadcast_in_dim", kind, value, broadcast_dimensions=places)


def constant(value: Array, kind: Any) -> Any:
    """A constant of StableHLO with the element type of `kind`."""
    element = kind.element_type
    array = np.array(value, f"{'u' if element.is_unsigned else 'i'}{element.width // 8}", order="C")
    type_ = ir.RankedTensorType.get(array.shape, element)
    if array.size and (array == array.flat[0]).all():
        made = ir.DenseElementsAttr.get_splat(
            type_, ir.IntegerAttr.get(element, int(array.flat[0]))
        )
    else:
        made = ir.DenseElementsAttr.get(array, type=type_)
    return build.op("stablehlo.constant", type_, value=made)


def parts(value: Any, axis: int) -> list[Any]:
    """Returns the parts of all indices, one tensor for each axis that they are for."""
    shape = list(value.type.shape)
    part = ir.RankedTensorType.get(
        [1 if dim == axis else extent for dim, extent in enumerate(shape)], value.type.element_type
    )
    return [
        sliced(
            value,
            part,
            [number if dim == axis else 0 for dim in range(len(shape))],
            [number + 1 if dim == axis else extent for dim, extent in enumerate(shape)],
        )
        for number in range(shape[axis])
    ]


def sliced(
    value: Any,
    kind: Any,
    start: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """Returns the part of a tensor that has the type `kind`; by default, all elements from `start` to `end`."""
    return build.op(
        "stablehlo.slice",
        kind,
        value,
        start_indices=ir.DenseI64ArrayAttr.get(list(start)),
        limit_indices=ir.DenseI64ArrayAttr.get(list(end)),
        strides=ir.DenseI64ArrayAttr.get(list(strides or [1] * len(start))),
    )


def padded(
    value: Any, number: int, low: list[int], high: list[int], between: list[int] | None = None
) -> Any:
    """Returns a tensor with this number before, behind and between its elements, so many times along each axis."""
    kind = value.type
    between = between or [0] * kind.rank
    shape = [
        before + size + (size - 1) * gap + behind
        for before, size, gap, behind in zip(low, kind.shape, between, high, strict=True)
    ]
    return build.op(
        "stablehlo.pad",
        ir.RankedTensorType.get(shape, kind.element_type),
        value,
        filled(ir.RankedTensorType.get([], kind.element_type), number),
        edge_padding_low=ir.DenseI64ArrayAttr.get(low),
        edge_padding_high=ir.DenseI64ArrayAttr.get(high),
        interior_padding=ir.DenseI64ArrayAttr.get(between),
    )


def filled(kind: Any, number: int) -> Any:
    """A constant tensor whose elements are all this number."""
    element = kind.element_type
    if isinstance(element, ir.ComplexType):
        # The bindings cannot hold a constant of complex numbers.
        part = ir.RankedTensorType.get(kind.shape, element.element_type)
        return build.op("stablehlo.complex", kind, filled(part, number), filled(part, 0))
    if isinstance(element, ir.FloatType):
        text = f"{number}.0"
    else:
        text = str(bool(number)).lower() if element.width == 1 else str(number)
    return build.op("stablehlo.constant", kind, value=ir.Attribute.parse(f"dense<{text}> : {kind}"))
