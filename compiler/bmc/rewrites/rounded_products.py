"""Products that decide about a whole number are rounded before something is added to them.

IREE lets LLVM fuse every product into the sum that reads it (docs/upstream/iree-contracted-products.md). A fused
product is not rounded, and LLVM fuses only where no other operation reads the product. So two kernels that compute the
same position differ in its last bit, and then their ceilings, floors and comparisons differ by one: the weights of a
resize belong to other pixels than it reads. The host that checks an import does not fuse either.

A multiply-add with -0 is the rounded product. LLVM knows that it is a multiplication, and may not fuse it.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, math

from bmc.ir import ir_util
from bmc.rewrites.context import Context

# Their results jump where their operands change a little.
_JUMPS = frozenset((
    "arith.bitcast", "arith.cmpf", "arith.fptosi", "arith.fptoui", "arith.remf", "math.ceil", "math.floor",
    "math.round", "math.roundeven", "math.trunc",
))  # fmt: skip
_SUMS = ("arith.addf", "arith.subf", "arith.negf")


def applies(context: Context) -> bool:
    """Whether the target fuses."""
    return context.target.is_riscv and not context.target.soft_float


def apply(module: Any, _: Context) -> None:
    """Rewrites the products among what such operations read."""
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
    # Values that wait above may be results of these.
    for product in products:
        _round(product)


def _is_float(value: ir_util.Value) -> bool:
    return isinstance(ir_util.element_type(value.type), ir.FloatType)


def _round(product: ir_util.Op) -> None:
    type_ = product.results[0].type
    zero = ir.FloatAttr.get(ir_util.element_type(type_), -0.0)
    if isinstance(type_, ir.VectorType):
        zero = ir.DenseElementsAttr.get_splat(type_, zero)
    with ir.InsertionPoint(product), product.location:
        rounded = math.fma(*product.operands, arith.constant(type_, zero))
    product.results[0].replace_all_uses_with(rounded)
    product.erase()
