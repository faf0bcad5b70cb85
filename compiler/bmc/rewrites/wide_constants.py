"""Rounds f64 constants to values of f32, because IREE truncates them.

IREE computes f64 as f32 (iree/phases.py). It makes 0.1 the f32 below it, where frameworks take the nearest one, and
a clamp at 0.1 would return another number than the framework's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import ir_util

_CONSTANTS = ("arith.constant", "stablehlo.constant")


def apply(module: Any, _: object = None) -> None:
    """Rounds the constants of a model that has no f64 inputs or outputs, which keep the model in f64."""
    ops = list(ir_util.walk(module.operation))
    functions = [op for op in ops if "function_type" in op.attributes]
    if any("f64" in str(op.attributes["function_type"]) for op in functions):
        return
    for op in ops:
        if op.name in _CONSTANTS:
            op.attributes["value"] = _rounded(op.attributes["value"])


def _rounded(value: ir.Attribute) -> ir.Attribute:
    if isinstance(value, ir.FloatAttr) and isinstance(value.type, ir.F64Type):
        return ir.FloatAttr.get(value.type, float(_nearest(value.value)))
    if isinstance(value, ir.DenseFPElementsAttr) and isinstance(
        value.type.element_type, ir.F64Type
    ):
        return ir.DenseElementsAttr.get(_nearest(np.array(value)), type=value.type)
    return value


def _nearest(numbers: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.float64(np.float32(numbers))
