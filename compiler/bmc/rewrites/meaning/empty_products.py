"""Takes products and convolutions over no elements out of a model, on which IREE crashes.

A product of [2, 0] and [0, 3] is [2, 3] zeros. An operation of linalg without a step returns the tensor that it starts
from.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util

# Sums of products, which are zero.
_PRODUCTS = ("stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general", "tosa.matmul")


def apply(module: Any, _: object = None) -> None:
    """Rewrites operations that read a tensor without elements, and return tensors with some."""
    for op in [op for op in ir_util.walk(module.operation) if _is_empty(op)]:
        results = list(op.results)
        if op.name in _PRODUCTS:
            with ir.InsertionPoint(op), op.location:
                made = [build.number(0, results[0].type)]
        else:
            made = list(op.operands)[-len(results) :]
        for old, new in zip(results, made, strict=True):
            old.replace_all_uses_with(new)
        op.erase()


def _is_empty(op: ir_util.Op) -> bool:
    if op.name not in _PRODUCTS and not op.name.startswith("linalg."):
        return False
    read, made = ([_count(value) for value in values] for values in (op.operands, op.results))
    return 0 in read and bool(made) and 0 not in made and None not in made


def _count(value: Any) -> int | None:
    """Returns how many elements a tensor has, None for other values and unknown sizes."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    count = 1
    for size in kind.shape:
        count *= size
    return count
