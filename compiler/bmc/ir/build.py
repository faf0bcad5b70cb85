"""Makes operations and constants where the insertion point is, for every part of the compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import ir_util, names

_PARALLEL = "#linalg.iterator_type<parallel>"


def op(name: str, kind: Any, *operands: Any, **attributes: Any) -> Any:
    """Returns the only result of a new operation, which has the type `kind`."""
    return ir.Operation.create(name, [kind], list(operands), attributes=attributes).result


def same(name: str, *operands: Any, **attributes: Any) -> Any:
    """Returns the only result of a new operation, which has the type of the first operand."""
    return op(name, operands[0].type, *operands, **attributes)


def again(old: ir_util.Op, kinds: Sequence[Any], operands: Sequence[Any], **changed: Any) -> Any:
    """Returns a new operation with the name and attributes of another one; its regions are empty.

    Args:
      old: the other operation.
      kinds: types of the results.
      operands: all of them.
      changed: attributes that differ.
    """
    attributes = {name: old.attributes[name] for name in old.attributes} | changed
    return ir.Operation.create(
        old.name, list(kinds), list(operands), attributes=attributes, regions=len(old.regions)
    )


def constant(value: Any, kind: Any = None) -> Any:
    """Returns a constant: what an attribute says, or a tensor or vector of the type `kind` filled with that."""
    if isinstance(kind, (ir.RankedTensorType, ir.VectorType)):
        value = ir.DenseElementsAttr.get_splat(kind, value)
    return op("arith.constant", value.type, value=value)


def number(value: float | np.number[Any], kind: Any) -> Any:
    """Returns a constant float or integer, or a tensor or vector filled with it.

    Args:
      value: an integer may be written without its sign.
      kind: type of the constant.
    """
    element = ir_util.element_type(kind)
    if isinstance(element, ir.FloatType):
        return constant(ir.FloatAttr.get(element, float(value)), kind)
    value = int(value)
    if value > 0 and isinstance(element, ir.IntegerType) and element.is_signless:
        value -= (value >> (element.width - 1) & 1) << element.width
    return constant(ir.IntegerAttr.get(element, value), kind)


def array(elements: Array, element: Any = None) -> Any:
    """Returns a constant tensor; `element` is its type of elements if that of the array does not say it."""
    elements = np.ascontiguousarray(elements)
    if element is None:
        return constant(ir.DenseElementsAttr.get(elements))
    kind = ir.RankedTensorType.get(list(elements.shape), element)
    return constant(ir.DenseElementsAttr.get(elements, type=kind))


def maps(indexing: Sequence[Any]) -> Any:
    """Returns indexing maps as an attribute."""
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in indexing])


def elementwise(
    inputs: Sequence[Any], output: Any, indexing: Sequence[Any], compute: Callable[..., Any]
) -> Any:
    """Returns the result of a new linalg.generic without reductions.

    Args:
      inputs: the tensors that it reads.
      output: the tensor that its result takes the place of.
      indexing: the map of each of these; that of `output` is the last one.
      compute: returns an element of the result, given one of each input.
    """
    generic = ir.Operation.create(
        names.GENERIC,
        [output.type],
        [*inputs, output],
        attributes={
            "indexing_maps": maps(indexing),
            "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(_PARALLEL)] * output.type.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), 1]),
        },
        regions=1,
    )
    types = [each.type.element_type for each in (*inputs, output)]
    block = generic.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        found = compute(*list(block.arguments)[:-1])
        ir.Operation.create(names.YIELD, [], [found])
    return generic.result


def sliced(value: Any, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> Any:
    """Returns the part of a tensor that begins at `offsets` and takes every so many-th element along each axis."""
    return op(
        names.EXTRACT_SLICE,
        ir.RankedTensorType.get(list(sizes), value.type.element_type),
        value,
        static_offsets=ir.DenseI64ArrayAttr.get(list(offsets)),
        static_sizes=ir.DenseI64ArrayAttr.get(list(sizes)),
        static_strides=ir.DenseI64ArrayAttr.get(list(strides)),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    )


def load(symbol: Any, kind: Any) -> Any:
    """Returns what a new util.global.load reads from a global that never changes; `symbol` is its name as attribute."""
    attributes = {"global": symbol, "is_immutable": ir.UnitAttr.get()}
    return op(names.GLOBAL_LOAD, kind, **attributes)


def load_again(old: ir_util.Op, kind: Any) -> Any:
    """Returns what a new load before another one reads from a global whose type has changed to `kind`."""
    with ir.InsertionPoint(old):
        return load(old.attributes["global"], kind)
