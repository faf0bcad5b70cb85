"""Computes in f16 what a model computes in f32: `quantize = "f16"`.

Weights and the tensors between operations become f16, and products add up in f16. Inputs and outputs keep their types.
What loses more than roundings stays in f32 within its dispatch: sums that are no products, such as the mean and the
variance of a normalization, what is computed from them alone, and functions, such as exp. Nothing that these store is
large. docs/decisions/0022-f16-adds-up-in-f16.md has the reasons.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.dtype import nearest_f16
from bmc.ir import build, contraction, ir_util, names, permute
from bmc.rewrites.context import Context
from bmc.rewrites.model_context import RESET

_VIEWS = (
    names.CAST, names.COLLAPSE_SHAPE, names.EXPAND_SHAPE, names.EXTRACT_SLICE, names.PAD,
)  # fmt: skip
_JOINS = (names.CONCAT, names.INSERT_SLICE)
_MOVES = (names.BROADCAST, names.COPY, names.TRANSPOSE)
_EXTREMA = ("arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf")
# What f16 computes about as well as f32.
_SIMPLE = {
    *_EXTREMA, "arith.addf", "arith.cmpf", "arith.constant", "arith.index_cast", "arith.maxsi", "arith.minsi",
    "arith.mulf", "arith.negf", "arith.select", "arith.subf", names.INDEX, names.YIELD, "math.absf",
    names.EXTRACT,
}  # fmt: skip


def apply(module: Any, context: Context) -> None:
    """Rewrites all functions but the one that initializes states; records the weights in `context`."""
    loads = ir_util.all_of(module, names.GLOBAL_LOAD)
    kept = {ir_util.string(op, "global") for op in loads if _function(op) == RESET}
    for op in ir_util.all_of(module, names.GLOBAL):
        name, kind = ir_util.string(op, "sym_name"), ir.TypeAttr(op.attributes["type"]).value
        if _is_wide(kind) and "is_mutable" not in op.attributes and name not in kept:
            ir_util.retype_global(op, _half(kind))
            context.halved |= {name}
    for function in ir_util.all_of(module, names.HOST_FUNCTION):
        if ir_util.string(function, "sym_name") != RESET:
            for op in list(ir_util.walk(function)):
                if not op.parent.operation.name.startswith(("linalg.", "tensor.")):
                    _rewrite(op, context)


def _rewrite(op: ir_util.Op, context: Context) -> None:
    if op.name == names.GLOBAL_LOAD:
        if ir_util.string(op, "global") in context.halved:
            _set_half(op.results[0])
    elif op.name == "arith.constant":
        _constant(op)
    elif op.name == names.BARRIER:
        if _is_wide(op.results[0].type):
            _narrow_all_uses(op.results[0])
    elif op.name in _VIEWS:
        if _is_half(op.operands[0].type):
            _set_half(op.results[0])
            for each in ir_util.walk(op):
                _in_half(each)
    elif op.name in _JOINS:
        if any(_is_half(value.type) for value in op.operands):
            _make_half(op, range(len(op.operands)))
    elif op.name in _MOVES:
        if _is_half(op.operands[0].type):
            _make_half(op, [1])
    elif _is_product(op):
        _make_half(op, range(len(op.operands)))
    elif op.name == names.GENERIC:
        _generic(op)
    elif op.name not in (names.FILL, names.EMPTY):
        for number, value in enumerate(op.operands):
            if _is_half(value.type):
                op.operands[number] = _cast(value, op, is_half=False)


def _is_product(op: ir_util.Op) -> bool:
    """Whether an operation adds up products of f32 and computes nothing else but simple things with them."""
    return (
        op.name.startswith("linalg.")
        and bool(contraction.accumulator(op))
        and _is_wide(op.results[0].type)
        and {each.name for each in ir_util.walk(op)} <= _SIMPLE
    )


def _generic(op: ir_util.Op) -> None:
    """Decides for f32 or f16: for the result, and for what is computed."""
    floats = [value for value in _read(op) if _is_half(value.type) or _is_wide(value.type)]
    wide = [value for value in floats if _is_wide(value.type)]
    operations = {each.name for each in ir_util.walk(op)}
    if len(op.results) != 1 or not _is_wide(op.results[0].type):
        _widen(op)
    elif ir_util.reduces(op):
        if not wide and operations <= {*_EXTREMA, names.YIELD}:
            _make_half(op, [len(op.operands) - 1])
        else:
            _widen(op)
    elif len(wide) == len(floats) or _is_only_summed(op.results[0]):
        _widen(op)
    elif not wide and operations <= _SIMPLE:
        _make_half(op, [len(op.operands) - 1])
    else:
        op.operands[len(op.operands) - 1] = _cast(
            op.operands[len(op.operands) - 1], op, is_half=True
        )
        _set_half(op.results[0])
        _widen(op)


def _read(op: ir_util.Op) -> list[Any]:
    """The tensors that a generic operation reads: operands, and those that its body indexes."""
    inner = [each.operands[0] for each in ir_util.walk(op) if each.name == names.EXTRACT]
    return [*list(op.operands)[:-1], *inner]


def _is_only_summed(value: ir_util.Value) -> bool:
    """Whether only sums read a tensor, which IREE computes where it is summed."""
    readers = [op for op, _ in ir_util.uses(value)]
    return all(
        op.name == names.GENERIC and ir_util.reduces(op) and not contraction.accumulator(op)
        for op in readers
    )


def _make_half(op: ir_util.Op, operands: Any) -> None:
    """Makes an operation on tensors of f16 of one on tensors of f32, and casts these operands."""
    for number in operands:
        if _is_wide(op.operands[number].type):
            op.operands[number] = _cast(op.operands[number], op, is_half=True)
    _set_half(op.results[0])
    for block in (block for region in op.regions for block in region):
        for argument in block.arguments:
            _set_half(argument)
        for each in list(block.operations):
            _in_half(each.operation)


def _in_half(op: ir_util.Op) -> None:
    """Makes an operation on numbers one on f16."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, ir.F32Type):
            op.operands[number] = _scalar(value, op)
    if op.name != "arith.constant":
        for result in op.results:
            _set_half(result)


def _widen(op: ir_util.Op) -> None:
    """Lets the body of an operation compute in f32, whatever its operands are."""
    for block in (block for region in op.regions for block in region):
        operations = [each.operation for each in block.operations]
        for argument, value in zip(block.arguments, op.operands, strict=True):
            if _is_half(value.type) and isinstance(argument.type, ir.F32Type):
                _extended(argument, operations[0], before=True)
        for each in operations:
            if each.name == names.EXTRACT and _is_half(each.operands[0].type):
                _extended(each.results[0], each, before=False)
        last = operations[-1]
        for number, result in enumerate(op.results):
            if _is_half(result.type) and isinstance(last.operands[number].type, ir.F32Type):
                with ir.InsertionPoint(last), last.location:
                    last.operands[number] = build.op(
                        "arith.truncf", ir.F16Type.get(), last.operands[number]
                    )


def _extended(value: ir_util.Value, place: ir_util.Op, before: bool) -> None:
    """Makes f16 of a number of a body, and extends it for all that read it."""
    point = ir.InsertionPoint(place) if before else ir.InsertionPoint.after(place)
    _set_half(value)
    with point, place.location:
        wide = build.op("arith.extf", ir.F32Type.get(), value)
    value.replace_all_uses_except(wide, wide.owner.operation)


def _scalar(value: ir_util.Value, op: ir_util.Op) -> Any:
    """Returns a number as f16. A constant stays where it was, outside of the bodies that read it."""
    maker = ir_util.definition(value)
    f16 = ir.F16Type.get()
    if maker is None or maker.name != "arith.constant":
        with ir.InsertionPoint(op), op.location:
            return build.op("arith.truncf", f16, value)
    number = float(nearest_f16(ir.FloatAttr(maker.attributes["value"]).value))
    with ir.InsertionPoint.after(maker), maker.location:
        return build.number(number, f16)


def _constant(op: ir_util.Op) -> None:
    """Makes f16 of a constant tensor."""
    kind = op.results[0].type
    if not isinstance(kind, ir.RankedTensorType) or not _is_wide(kind):
        return
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr) and kind.has_rank:
        numbers = np.array(value).reshape(kind.shape)
        op.attributes["value"] = ir.DenseElementsAttr.get(nearest_f16(numbers), type=_half(kind))
        _set_half(op.results[0])


def _cast(value: ir_util.Value, op: ir_util.Op, is_half: bool) -> Any:
    """Returns a tensor in the other type, for `op`. Makes what is empty or filled again."""
    kind = _half(value.type) if is_half else _wide(value.type)
    maker = ir_util.definition(value)
    with ir.InsertionPoint(op), op.location:
        if maker is not None and maker.name == names.EMPTY:
            return _empty(kind)
        if maker is not None and maker.name == names.FILL and is_half:
            return linalg.fill(_scalar(maker.operands[0], op), outs=[_empty(kind)])
        return _converted(value, kind)


def _narrow_all_uses(value: ir_util.Value) -> None:
    op = ir_util.definition(value)
    assert op is not None
    with ir.InsertionPoint.after(op), op.location:
        narrow = _converted(value, _half(value.type))
    value.replace_all_uses_except(narrow, narrow.owner.operation)


def _empty(kind: Any) -> Any:
    return build.op(names.EMPTY, kind)


def _converted(value: ir_util.Value, kind: Any) -> Any:
    """Returns a tensor with each number converted, at the current place."""
    name = "arith.truncf" if isinstance(kind.element_type, ir.F16Type) else "arith.extf"
    return permute.computed(
        value,
        kind.shape,
        kind.element_type,
        ir.AffineMap.get_identity(kind.rank),
        lambda number: build.op(name, kind.element_type, number),
    )


def _set_half(value: ir_util.Value) -> None:
    if isinstance(value.type, ir.F32Type):
        value.set_type(ir.F16Type.get())
    elif _is_wide(value.type):
        value.set_type(_half(value.type))


def _is_wide(kind: Any) -> bool:
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.F32Type)


def _is_half(kind: Any) -> bool:
    return isinstance(kind, ir.RankedTensorType) and isinstance(kind.element_type, ir.F16Type)


def _half(kind: Any) -> Any:
    return ir.RankedTensorType.get(kind.shape, ir.F16Type.get())


def _wide(kind: Any) -> Any:
    return ir.RankedTensorType.get(kind.shape, ir.F32Type.get())


def _function(op: ir_util.Op) -> str:
    """The name of the function that `op` is in."""
    while op.name != names.HOST_FUNCTION:
        op = op.parent
    return ir_util.string(op, "sym_name")
