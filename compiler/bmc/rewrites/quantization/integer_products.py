"""Makes products of signed bytes of ONNX's MatMulInteger, which arrives as one of 32-bit numbers, summed in 64 bits.

With activations a and their zero point z, and constant weights w without one, sum((a - z) w) is
sum(a w) - z sum(w). Unsigned bytes become signed ones and move by 128 with their zero point. The result has 32 bits, in
which both sides wrap alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.dtype import Array
from bmc.ir import build, constant_arrays, ir_util, names, permute

_EXTENSIONS = {"arith.extsi": True, "arith.extui": False}
# The indexing maps of a product of two matrices of which none is transposed.
_MATMUL = [f"(d0, d1, d2) -> ({axes})" for axes in ("d0, d2", "d2, d1", "d0, d1")]


@dataclass(frozen=True, slots=True)
class _Bytes:
    """A matrix of bytes minus a zero point.

    Attributes:
      value: the tensor of bytes.
      zero: a tensor with the zero point, a byte; None for 0.
      is_signed: whether both are signed.
    """

    value: Any
    zero: Any
    is_signed: bool


def apply(module: Any, _: object = None) -> None:
    """Rewrites such products."""
    for op in ir_util.all_of(module, "linalg.matmul"):
        narrowed = _narrowed(op)
        if narrowed is None or list(map(str, permute.maps(op))) != _MATMUL:
            continue
        left, right = (_bytes(value) for value in list(op.operands)[:2])
        if left is None or right is None:
            continue
        weights = _weights(right, module)
        if weights is None:
            continue
        with ir.InsertionPoint(op), op.location:
            made = _product(left, weights, op.attributes["indexing_maps"])
            if op.parent.name != names.HOST_FUNCTION:
                # A step of a loop adds inputs at its number, which no epilogue can.
                made = permute.apart(made)
        narrowed.results[0].replace_all_uses_with(made)
        narrowed.erase()
        op.erase()


def _bytes(value: Any) -> _Bytes | None:
    """Reads bytes that are extended, and of which a zero point may be subtracted."""
    zero, identity = None, ir.AffineMap.get_identity(2)
    moved = ir_util.defined_by(value, names.GENERIC)
    if moved is None:
        return None
    extension, *others = (op.operation for op in moved.regions[0].blocks[0].operations)
    if [op.name for op in others] == ["arith.subi", names.YIELD]:
        if permute.maps(moved) != [identity, ir.AffineMap.get(2, 0, []), identity]:
            return None
        value, zero, _ = moved.operands
        first, second, _ = moved.regions[0].blocks[0].arguments
        is_difference = list(others[0].operands) == [first, extension.results[0]]
        if not is_difference or list(extension.operands) != [second]:
            return None
    whole = ir_util.defined_by(value, names.GENERIC)
    if whole is None or len(whole.operands) != 2:
        return None
    extended, *others = (op.operation for op in whole.regions[0].blocks[0].operations)
    is_plain = [op.name for op in others] == [names.YIELD] and permute.maps(whole) == [identity] * 2
    source = whole.operands[0]
    if extended.name not in _EXTENSIONS or not is_plain or not _is_byte(source.type):
        return None
    if zero is not None and (extension.name != extended.name or not _is_byte(zero.type)):
        return None
    return _Bytes(source, zero, _EXTENSIONS[extended.name])


def _is_byte(kind: Any) -> bool:
    return isinstance(kind, ir.RankedTensorType) and str(kind.element_type) == "i8"


def _narrowed(op: ir_util.Op) -> ir_util.Op | None:
    """Returns the operation that takes the low 32 bits of a product's sums, None if anything else reads them."""
    if str(op.results[0].type.element_type) != "i64" or len(list(op.results[0].uses)) != 1:
        return None
    start = ir_util.defined_by(op.operands[2], names.FILL)
    if start is None or ir_util.constant(start.operands[0]) != 0:
        return None
    ((reader, _),) = ir_util.uses(op.results[0])
    if reader.name != names.GENERIC or len(reader.operands) != 2:
        return None
    inside = [each.name for each in reader.regions[0].blocks[0].operations]
    is_word = str(reader.results[0].type.element_type) == "i32"
    is_plain = permute.maps(reader) == [ir.AffineMap.get_identity(2)] * 2
    is_truncation = inside == ["arith.trunci", names.YIELD]
    return reader if is_truncation and is_plain and is_word else None


def _weights(given: _Bytes, module: Any) -> Array | None:
    """Returns constant weights without their zero point, i8 [sum, columns]; None if they need more bits."""
    values = constant_arrays.integers(given.value, module)
    zero = 0 if given.zero is None else constant_arrays.integers(given.zero, module)
    if values is None or zero is None:
        return None
    dtype = np.int8 if given.is_signed else np.uint8
    wide = values.view(dtype).astype(np.int32) - np.asarray(zero).astype(dtype).astype(np.int32)
    return wide.astype(np.int8) if (wide == wide.astype(np.int8)).all() else None


def _product(left: _Bytes, weights: Array, maps: Any) -> Any:
    """Computes the product, i32 [rows, columns]; `maps` are the indexing maps of a matrix product."""
    byte, word = ir.IntegerType.get_signless(8), ir.IntegerType.get_signless(32)
    rows, (_, columns) = left.value.type.shape[0], weights.shape
    value = left.value if left.is_signed else _moved(left.value)
    empty = tensor.empty([rows, columns], word)
    zeros = linalg.fill(build.number(0, word), outs=[empty])
    sums = linalg.matmul(value, build.array(weights, byte), outs=[zeros])
    # IREE counts on them.
    sums.owner.attributes["indexing_maps"] = maps
    if left.zero is None and left.is_signed:
        return sums
    # Apart, as no kernel computes the zero point in its epilogue.
    moved = permute.apart(_zero_by_column(left, weights.sum(0, dtype=np.int32)))
    identity, by_column = (
        ir.AffineMap.get(2, 0, [*map(ir.AffineExpr.get_dim, dims)]) for dims in ((0, 1), (1,))
    )

    def corrected(total: Any, offset: Any) -> Any:
        return build.same("arith.subi", total, offset)

    return build.elementwise([sums, moved], empty, [identity, by_column, identity], corrected)


def _zero_by_column(left: _Bytes, totals: Array) -> Any:
    """Returns the zero point, of signed bytes, times the sum of each column's weights, i32 [columns]."""
    word = ir.IntegerType.get_signless(32)

    def start(zero: Any = None) -> Any:
        extension = "arith.extsi" if left.is_signed else "arith.extui"
        extended = build.number(0, word) if zero is None else build.op(extension, word, zero)
        return (
            extended
            if left.is_signed
            else build.same("arith.subi", extended, build.number(128, word))
        )

    def times(total: Any, *zero: Any) -> Any:
        return build.same("arith.muli", total, start(*zero))

    inputs = [build.array(totals, word), *([] if left.zero is None else [left.zero])]
    column = ir.AffineMap.get_identity(1)
    indexing = [column, *([] if left.zero is None else [ir.AffineMap.get(1, 0, [])]), column]
    return build.elementwise(inputs, tensor.empty(totals.shape, word), indexing, times)


def _moved(value: Any) -> Any:
    """Unsigned bytes minus 128, which are signed ones."""
    empty = tensor.empty(value.type.shape, value.type.element_type)
    identity = ir.AffineMap.get_identity(2)

    def moved(byte: Any) -> Any:
        return build.same("arith.xori", byte, build.number(-128, byte.type))

    return build.elementwise([value], empty, [identity, identity], moved)
