"""Products that decide about a whole number, or that cancel, are rounded before something is added to them.

IREE lets LLVM fuse every product into the sum that reads it (docs/upstream/iree-contracted-products.md). A fused
product is not rounded, and LLVM fuses only where no other operation reads the product. So two kernels that compute the
same position differ in its last bit, and then their ceilings, floors and comparisons differ by one: the weights of a
resize belong to other pixels than it reads. The host that checks an import does not fuse either.

TensorFlow writes a normalization as x * s + (beta - mean * s). Its products are the same for equal numbers, and nothing
is left of them. Of a product that is fused, the rounding of the other one is left: 7e-4 of twelve numbers of 1000.

A multiply-add with -0 is the rounded product. LLVM knows that it is a multiplication, and may not fuse it.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util
from bmc.rewrites.context import Context

# Their results jump where their operands change a little.
_JUMPS = frozenset((
    "arith.bitcast", "arith.cmpf", "arith.fptosi", "arith.fptoui", "arith.remf", "math.ceil", "math.floor",
    "math.round", "math.roundeven", "math.trunc",
))  # fmt: skip
_ADDITIONS = ("arith.addf", "arith.subf")
_SUMS = (*_ADDITIONS, "arith.negf")
# These repeat or move what they read.
_MOVES = ("vector.broadcast", "vector.extract", "vector.shape_cast", "arith.negf")


def applies(context: Context) -> bool:
    """Whether the target fuses."""
    return context.target.is_riscv and not context.target.soft_float


def apply(module: Any, _: Context) -> None:
    """Rewrites the products among what such operations read, and those that cancel."""
    pending = [v for op in ir_util.walk(module.operation) if op.name in _JUMPS for v in op.operands]
    seen: set[ir_util.Op] = set()
    products: list[ir_util.Op] = []
    while pending:
        value = pending.pop()
        op = ir_util.definition(value)
        if op is None or op in seen or not _is_float(value):
            continue
        seen.add(op)
        pending += op.operands
        if op.name == "arith.mulf" and any(use.name in _SUMS for use, _ in ir_util.uses(value)):
            products.append(op)
    for op in ir_util.walk(module.operation):
        if op.name in _ADDITIONS:
            products += _cancelling(op)
    # Values that wait above may be results of these.
    for product in dict.fromkeys(products):
        _round(product)


def _cancelling(total: ir_util.Op) -> list[ir_util.Op]:
    """Returns two products with the same factor, of which one is a term of `total` and the other is, or in one."""
    left, right = map(_moved, total.operands)
    for one, other in ((left, right), (right, left)):
        first = ir_util.definition(one)
        if first is None or first.name != "arith.mulf":
            continue
        op = ir_util.definition(other)
        terms = [other]
        if op is not None and op.name in _ADDITIONS:
            terms = [_moved(operand) for operand in op.operands]
        for second in map(ir_util.definition, terms):
            if second is not None and second.name == "arith.mulf" and _shared(first, second):
                return [first, second]
    return []


def _shared(first: ir_util.Op, second: ir_util.Op) -> bool:
    """Whether two products have a factor in common that is computed."""
    common = set(map(_moved, first.operands)) & set(map(_moved, second.operands))
    definitions = map(ir_util.definition, common)
    return any(op is None or op.name != "arith.constant" for op in definitions)


def _moved(value: ir_util.Value) -> ir_util.Value:
    """Returns what a value repeats or moves."""
    op = ir_util.definition(value)
    while op is not None and op.name in _MOVES:
        value = op.operands[0]
        op = ir_util.definition(value)
    return value


def _is_float(value: ir_util.Value) -> bool:
    return isinstance(ir_util.element_type(value.type), ir.FloatType)


def _round(product: ir_util.Op) -> None:
    type_ = product.results[0].type
    with ir.InsertionPoint(product), product.location:
        rounded = build.same("math.fma", *product.operands, build.number(-0.0, type_))
    product.results[0].replace_all_uses_with(rounded)
    product.erase()
