"""Constants that are added to the channels of a tensor, such as the bias of a convolution."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.dtype import Array
from bmc.ir import build, contraction, ir_util, names
from bmc.ir.elementwise import Elementwise


@dataclass(frozen=True)
class Offset:
    """Constants that are added to the channels of a tensor.

    Attributes:
      sums: the tensor before.
      constant: int64.
      map: selects the element of `constant` for each element of the tensor.
      additions: the operations that add it, last first.
    """

    sums: Any
    constant: Array
    map: Any
    additions: tuple[ir_util.Op, ...]


def find(tensor: ir_util.Value, module: Any) -> Offset | None:
    """Finds what is added to the channels of `tensor`, None if nothing is."""
    offset = _addition(tensor, module)
    while offset is not None:
        more = _addition(offset.sums, module)
        if more is None or more.map != offset.map:
            # As the additions did, the sum wraps around.
            constant = offset.constant.astype(np.int32).astype(np.int64)
            return replace(offset, constant=constant)
        constant = offset.constant + more.constant
        additions = offset.additions + more.additions
        offset = Offset(more.sums, constant, offset.map, additions)
    return None


def _addition(tensor: ir_util.Value, module: Any) -> Offset | None:
    """Returns the offset if `tensor` is computed by one addition or subtraction."""
    body = _in_order(tensor, module)
    if body is None:
        return None
    operation = ir_util.definition(body.yielded)
    if operation is None or operation.name not in ("arith.addi", "arith.subi"):
        return None
    first, second = operation.operands
    constant, map_ = _channels(body, second, module)
    if constant is None and operation.name == "arith.addi":
        first, second = second, first
        constant, map_ = _channels(body, second, module)
    number = body.operand(first)
    if constant is None or map_ is None or number is None or not body.is_in_order(number):
        return None
    signed = constant if operation.name == "arith.addi" else -constant
    return Offset(body.op.operands[number], signed, map_, (body.op,))


def _channels(body: Elementwise, value: Any, module: Any) -> tuple[Array | None, Any]:
    """Returns the constant that `value` of a body is, also if it was broadcast before, and its indexing map."""
    constant = body.constant(value)
    if constant is not None:
        return constant, body.constant_map
    number = body.operand(value)
    if number is None or not body.is_in_order(number):
        return None, None
    broadcast = _in_order(body.op.operands[number], module)
    if broadcast is None:
        return None, None
    return broadcast.constant(broadcast.yielded), broadcast.constant_map


def _in_order(tensor: ir_util.Value, module: Any) -> Elementwise | None:
    """Returns the linalg.generic that computes `tensor` in the order of its loops, without reductions."""
    op = ir_util.definition(tensor)
    if op is None or op.name != names.GENERIC or len(op.results) != 1:
        return None
    body = Elementwise(op, module)
    return body if body.is_in_order(-1) else None


def start_from(offset: Offset) -> bool:
    """Lets sums of products start from the offset.

    Returns False if they do not start from zeros yet, or if each constant belongs to one sum only. Such a start would
    be a copy of the constants in memory.
    """
    product = ir_util.definition(offset.sums)
    if product is None or contraction.read(product) is None or len(ir_util.uses(offset.sums)) != 1:
        return False
    zeros = ir_util.definition(product.operands[2])
    if zeros is None or zeros.name != names.FILL or ir_util.constant(zeros.operands[0]) != 0:
        return False
    kept = [index.position for index in offset.map.results if isinstance(index, ir.AffineDimExpr)]
    if len(kept) != len(offset.map.results) or kept != sorted(set(kept)):
        return False
    start = zeros.operands[1]
    repeated = [axis for axis in range(start.type.rank) if axis not in kept]
    if not repeated:
        return False
    with ir.InsertionPoint(product), product.location:
        constant = build.array(offset.constant.astype(np.int32))
        first = linalg.broadcast(constant, outs=[start], dimensions=repeated)
        product.operands[2] = first.results[0]
    return True
