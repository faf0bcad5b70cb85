"""Rounds f64 constants to values of f32, because IREE truncates them, or cannot convert large ones, as those of bf16.

IREE computes f64 as f32 (iree/phases.py). It makes 0.1 the f32 below it, where frameworks take the nearest one, and
a clamp at 0.1 would return another number than the framework's. Of a large constant, which is a resource, it changes
the type alone; those of bf16, which it computes as f32 too, become constants of another kind here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import constant_arrays, ir_util

_CONSTANTS = ("arith.constant", "stablehlo.constant")


def apply(module: Any, _: object = None) -> None:
    """Rounds the constants of a model that has no f64 inputs or outputs, which keep the model in f64."""
    ops = list(ir_util.walk(module.operation))
    # The bindings cannot read the value of a complex constant.
    constants = [op for op in ops if op.name in _CONSTANTS and not _is_complex(op)]
    for op in constants:
        if "dense_resource" in str(op.attributes["value"])[:20]:
            bits = constant_arrays.brain_halves(op.results[0], module)
            if bits is not None:
                kind = op.results[0].type
                op.attributes["value"] = ir.DenseElementsAttr.get(bits, type=kind)
    functions = [op for op in ops if "function_type" in op.attributes]
    if any("f64" in str(op.attributes["function_type"]) for op in functions):
        return
    for op in constants:
        if isinstance(ir_util.element_type(op.results[0].type), ir.F64Type):
            _round(op, module)


def _is_complex(op: ir_util.Op) -> bool:
    return isinstance(ir_util.element_type(op.results[0].type), ir.ComplexType)


def _round(op: ir_util.Op, module: Any) -> None:
    elements = constant_arrays.doubles(op.results[0], module)
    if elements is not None:
        rounded = _nearest(elements)
        op.attributes["value"] = ir.DenseElementsAttr.get(rounded, type=op.results[0].type)
    else:
        value = ir.FloatAttr(op.attributes["value"])
        op.attributes["value"] = ir.FloatAttr.get(value.type, float(_nearest(value.value)))


def _nearest(numbers: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.float64(np.float32(numbers))
