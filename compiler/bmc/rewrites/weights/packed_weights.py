"""Weights that a model file has in few bits stay packed: products unpack them while they multiply.

Frontends write the unpacking as operations on constants: integer codes become floats, times a scale for each group
along the sum, perhaps plus a minimum. IREE would run them in every inference, and write all weights as f32 to memory.
NumPy evaluates them here, so however codes are packed, what they are is known; they are packed again in the order in
which kernels read them. An embedding that reads rows of the same table reads the new one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import build, grouped_product, ir_util, names, stablehlo
from bmc.ir.evaluated import Evaluator
from bmc.ir.grouped_product import MIDDLE, Form
from bmc.kernels.schedule.grouped_bytes import LARGEST_GROUP

_PRODUCTS = ("stablehlo.dot_general",)
_MOVES = ("stablehlo.reshape", "stablehlo.transpose")
# What is computed of an axis: the weights of a group along the sum, and fewer channels than fill a vector.
_SMALLEST_GROUP, _FEWEST_CHANNELS = 16, 8


@dataclass(frozen=True)
class _Weights:
    """Weights [k, n] in groups along k.

    Attributes:
      form: how they are packed.
      codes: i8 [group, bytes of a group, n].
      scales: i16 [group, n], bits of f16.
      mins: as scales, if they have any.
    """

    form: Form
    codes: Array
    scales: Array
    mins: Array | None


def apply(module: Any, _: object = None) -> None:
    """Rewrites products of StableHLO with such weights, and gathers from the same constants."""
    packed: dict[tuple[Any, ...], Any] = {}
    for op in [op for op in ir_util.walk(module.operation) if op.name in _PRODUCTS]:
        # It keeps all values of an expression, which are many times larger than packed weights.
        evaluate = Evaluator(module)
        sides = _sides(op)
        weights = _weights(op.operands[1], sides, evaluate) if sides is not None else None
        if weights is None:
            continue
        sources = list(_constants(op.operands[1]))
        function = _function(op)
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), op.location:
            constants = _named(weights, packed)
        with ir.InsertionPoint(op), op.location:
            made = _product(op.operands[0], constants, weights.form, op.results[0].type, evaluate)
        op.results[0].replace_all_uses_with(made)
        for source in sources:
            _share(source, weights, constants, evaluate)
        _erase([op])


def _sides(op: ir_util.Op) -> int | None:
    """Returns the axis that is summed of the second operand of a product of a matrix with f32, None of others."""
    numbers = stablehlo.dimension_numbers(op, "dot_dimension_numbers")
    x, weight = (operand.type for operand in op.operands)
    if not all(
        isinstance(kind.element_type, ir.F32Type) for kind in (x, weight, op.results[0].type)
    ):
        return None
    if numbers.get("lhs_batching_dimensions") or weight.rank != 2:
        return None
    if numbers["lhs_contracting_dimensions"] != [x.rank - 1]:
        return None
    (axis,) = numbers["rhs_contracting_dimensions"]
    return axis


def _weights(value: Any, axis: int, evaluate: Evaluator) -> _Weights | None:
    """Returns the weights [k, n] that a constant expression unpacks; `axis` is the one of k."""
    moves = []
    maker = ir_util.definition(value)
    while maker is not None and maker.name in _MOVES:
        moves.append(maker)
        value = maker.operands[0]
        maker = ir_util.definition(value)
    parts = _parts(maker, evaluate) if maker is not None else None
    if parts is None:
        return None

    def moved(part: Array) -> Array:
        for move in reversed(moves):
            if move.name == _MOVES[0]:
                part = part.reshape(move.results[0].type.shape)
            else:
                part = part.transpose(list(move.attributes["permutation"]))
        return part if axis == 0 else part.T

    codes, scales, *mins = (moved(part) for part in parts)
    return _packed(codes, [scales, *mins])


def _parts(maker: ir_util.Op, evaluate: Evaluator) -> list[Array] | None:
    """Returns the codes of a sum of a product, or a product: codes, scales and minima, all of its shape."""
    if maker.name == "stablehlo.add":
        for one, other in (maker.operands, list(maker.operands)[::-1]):
            product = ir_util.definition(one)
            if product is not None and product.name == "stablehlo.multiply":
                mins, parts = evaluate(other), _parts(product, evaluate)
                if mins is not None and parts is not None:
                    return [*parts, mins]
        return None
    if maker.name != "stablehlo.multiply":
        return None
    for one, other in (maker.operands, list(maker.operands)[::-1]):
        if _is_of_integers(one):
            codes, scales = evaluate(one), evaluate(other)
            if codes is not None and scales is not None:
                return [codes, scales]
    return None


def _is_of_integers(value: Any) -> bool:
    """Whether a value is converted from integers, and perhaps something is subtracted then."""
    maker = ir_util.definition(value)
    if maker is not None and maker.name in ("stablehlo.subtract", *_MOVES):
        return _is_of_integers(maker.operands[0])
    if maker is None or maker.name != "stablehlo.convert":
        return False
    return isinstance(ir_util.element_type(maker.operands[0].type), ir.IntegerType)


def _packed(codes: Array, scaling: list[Array]) -> _Weights | None:
    """Packs codes [k, n]; scales and minima have the same shape."""
    sums, channels = codes.shape
    least, most = codes.min(), codes.max()
    halves = [_halves(each) for each in scaling]
    size = next((size for size in _sizes(sums) if all(_is_of_groups(h, size) for h in halves)), 0)
    if not size or channels < _FEWEST_CHANNELS or not np.array_equal(codes, np.rint(codes)):
        return None
    if least >= 0 and most < 16:
        form = Form(4, 0, len(scaling) > 1)
    elif least >= -MIDDLE and most < 16 - MIDDLE:
        form = Form(4, MIDDLE, len(scaling) > 1)
    elif least >= -128 and most < 128:
        form = Form(8, 0, len(scaling) > 1)
    else:
        return None
    # Two's complement, so that all bits of codes without sign are there.
    stored = (codes.astype(np.int16) + form.zero).astype(np.uint8)
    bytes_ = stored.reshape(-1, form.codes, size // form.codes, channels)
    whole = bytes_[:, 0] | (bytes_[:, 1] << 4 if form.bits == 4 else 0)
    by_group = [half[::size] for half in halves if half is not None]
    return _Weights(form, whole.view(np.int8), by_group[0], by_group[1] if form.has_mins else None)


def _sizes(sums: int) -> Iterator[int]:
    """Yields the possible sizes of groups, the largest first."""
    for count in range(1, sums // _SMALLEST_GROUP + 1):
        if sums % count == 0 and sums // count % 2 == 0:
            yield sums // count


def _halves(numbers: Array) -> Array | None:
    """Returns the bits of numbers as f16, None if it does not hold them exactly."""
    with np.errstate(over="ignore"):
        halves = numbers.astype(np.float16)
    is_exact = np.isfinite(halves).all() and np.array_equal(halves.astype(np.float32), numbers)
    return halves.view(np.int16) if is_exact else None


def _is_of_groups(numbers: Array | None, size: int) -> bool:
    if numbers is None:
        return False
    grouped = numbers.reshape(-1, size, numbers.shape[-1])
    return bool((grouped == grouped[:, :1]).all())


def _named(weights: _Weights, made: dict[tuple[Any, ...], Any]) -> list[Any]:
    """Returns constants of codes, scales and minima, the same ones for the same weights."""
    arrays = [weights.codes, weights.scales, *([] if weights.mins is None else [weights.mins])]
    block = ir.InsertionPoint.current.block
    found = []
    for each in arrays:
        elements = np.ascontiguousarray(each)
        key = (block.owner.operation, elements.shape, elements.tobytes())
        if key not in made:
            made[key] = build.array(elements)
        found.append(made[key])
    return found


def _product(x: Any, constants: list[Any], form: Form, kind: Any, evaluate: Evaluator) -> Any:
    """Returns the product of x [..., k], of the type `kind`."""
    codes, *scaling = constants
    groups, inner, _ = codes.type.shape
    rows = int(np.prod(x.type.shape[:-1], dtype=np.int64))
    size = form.codes * inner
    is_short = form.bits == 4 and size <= LARGEST_GROUP
    quantized = _quantized(x, rows * groups, size, evaluate) if is_short else None
    x, factors = quantized or (x, None)
    form = replace(form, has_factors=factors is not None)
    x = _reshaped(x, [rows, groups, form.codes, inner])
    if factors is not None:
        factors = _reshaped(factors, [rows, groups])
    return _reshaped(
        grouped_product.make(x, codes, scaling, factors, form), kind.shape, apart=False
    )


def _quantized(x: Any, groups: int, size: int, evaluate: Evaluator) -> tuple[Any, Any] | None:
    """Returns bytes from -127 on in groups of `size`, and a factor for each, if x is computed of these."""
    maker = ir_util.definition(x)
    while maker is not None and maker.name == "stablehlo.reshape":
        maker = ir_util.definition(maker.operands[0])
    if maker is None or maker.name != "stablehlo.multiply":
        return None
    for one, other in (maker.operands, list(maker.operands)[::-1]):
        numbers, repeated = ir_util.definition(one), ir_util.definition(other)
        if numbers is None or numbers.name != "stablehlo.convert" or repeated is None:
            continue
        bytes_ = numbers.operands[0]
        if repeated.name != "stablehlo.broadcast_in_dim" or not _is_of_bytes(bytes_, evaluate):
            continue
        factors = repeated.operands[0]
        *outer, inner = bytes_.type.shape
        axes = list(repeated.attributes["broadcast_dimensions"])
        # A factor for all along the last axis.
        is_of_groups = (
            factors.type.shape[: len(outer)] == outer
            and axes == list(range(len(axes)))
            and math.prod(factors.type.shape) == groups == math.prod(outer)
        )
        if is_of_groups and inner == size:
            return bytes_, factors
    return None


def _is_of_bytes(value: Any, evaluate: Evaluator) -> bool:
    """Whether a value is bytes that are -127 at least, because it is clamped before it is converted."""
    conversion = ir_util.definition(value)
    if str(value.type.element_type) != "i8" or conversion is None:
        return False
    clamp = ir_util.definition(conversion.operands[0]) if conversion.operands else None
    if conversion.name != "stablehlo.convert" or clamp is None:
        return False
    least = evaluate(clamp.operands[0]) if clamp.name == "stablehlo.clamp" else None
    return least is not None and bool(least.min() >= -127)


def _reshaped(value: Any, shape: Sequence[int], apart: bool = True) -> Any:
    """Gives a tensor a shape; what computes it would be computed again for each channel if not `apart`."""
    if apart:
        value = build.op(names.BARRIER, value.type, value)
    kind = ir.RankedTensorType.get(list(shape), value.type.element_type)
    return build.op("stablehlo.reshape", kind, value)


def _constants(value: Any) -> Iterator[Any]:
    """Yields the constants that an expression is computed of, each once."""
    left, known = [value], set()
    while left:
        each = left.pop()
        maker = ir_util.definition(each)
        if each in known or maker is None:
            continue
        known.add(each)
        if not maker.operands:
            yield each
        left += maker.operands


def _share(source: Any, weights: _Weights, constants: list[Any], evaluate: Evaluator) -> None:
    """Lets gathers of rows [row, ...] from a constant read the packed one that has the same bits as [..., row]."""
    gathers = [op for op, place in ir_util.uses(source) if _is_of_rows(op) and place == 0]
    elements = evaluate(source) if gathers else None
    if elements is None:
        return
    arrays = (weights.codes, weights.scales, weights.mins)
    for array, constant in zip(arrays, constants, strict=False):
        if array is None or elements.itemsize != array.itemsize:
            continue
        if np.array_equal(np.moveaxis(elements, 0, -1).view(array.dtype), array):
            for gather in gathers:
                _gather(gather, constant)
            return


def _is_of_rows(op: ir_util.Op) -> bool:
    if op.name != "stablehlo.gather":
        return False
    numbers = stablehlo.dimension_numbers(op, "dimension_numbers")
    shape, sizes = op.operands[0].type.shape, list(op.attributes["slice_sizes"])
    return (
        numbers["collapsed_slice_dims"] == [0]
        and numbers["start_index_map"] == [0]
        and not numbers.get("operand_batching_dims")
        and sizes == [1, *shape[1:]]
    )


def _gather(old: ir_util.Op, table: Any) -> None:
    """Reads the last axis of a table where a gather reads the first one of another."""
    numbers = stablehlo.dimension_numbers(old, "dimension_numbers")
    (result,) = old.results
    *others, _ = table.type.shape
    last = len(others)
    dimensions = ir.Attribute.parse(
        f"#stablehlo.gather<offset_dims = {numbers['offset_dims']}, collapsed_slice_dims = [{last}], start_index_map ="
        f" [{last}], index_vector_dim = {numbers['index_vector_dim'][0]}>"
    )
    with ir.InsertionPoint(old), old.location:
        kind = ir.RankedTensorType.get(result.type.shape, table.type.element_type)
        gather = build.again(
            old,
            [kind],
            [table, old.operands[1]],
            dimension_numbers=dimensions,
            slice_sizes=ir.DenseI64ArrayAttr.get([*others, 1]),
        )
        # What reads the rows would gather them again.
        made = build.op(names.BARRIER, kind, gather.results[0])
        if kind != result.type:
            made = build.op("stablehlo.bitcast_convert", result.type, made)
    result.replace_all_uses_with(made)
    _erase([old])


def _function(op: ir_util.Op) -> ir_util.Op:
    while op.name not in names.FUNCTIONS:
        op = op.parent
    return op


def _erase(ops: list[ir_util.Op]) -> None:
    """Erases operations, and what only they read."""
    while ops:
        op = ops.pop()
        makers = {ir_util.definition(operand): None for operand in op.operands}
        op.erase()
        ops += [
            each
            for each in makers
            if each is not None and not any(list(r.uses) for r in each.results)
        ]
