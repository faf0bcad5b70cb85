"""Rounds f64 constants to values of f32, because IREE truncates them, or cannot convert large ones, as those of bf16.

IREE computes f64 as f32 (iree/phases.py). It makes 0.1 the f32 below it, where frameworks take the nearest one, and
a clamp at 0.1 would return another number than the framework's. Of a large constant, which is a resource, it changes
the type alone; those of bf16, which it computes as f32 too, become constants of another kind here. It cannot convert
constants to half floats (an initializer that is illegal), nor to f32 in a model that stays in f64, so they become
constants of these here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from iree.compiler import ir

from bmc.ir import build, constant_arrays, ir_util

_CONSTANTS = ("arith.constant", "stablehlo.constant")
_NARROWER = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}


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
    in_f64 = keeps_f64(ops)
    for op in constants:
        if isinstance(ir_util.element_type(op.results[0].type), ir.F64Type):
            _narrow(op, module)
            if not in_f64:
                _round(op, module)


def keeps_f64(ops: Sequence[ir_util.Op]) -> bool:
    """Whether a model has f64 inputs or outputs, so that IREE does not compute f64 as f32."""
    functions = [op for op in ops if "function_type" in op.attributes]
    return any("f64" in str(op.attributes["function_type"]) for op in functions)


def _is_complex(op: ir_util.Op) -> bool:
    return isinstance(ir_util.element_type(op.results[0].type), ir.ComplexType)


def _narrow(op: ir_util.Op, module: Any) -> None:
    """Gives those that read an f64 tensor as narrower floats a constant of that type."""
    for user in [use.owner.opview for use in op.results[0].uses]:
        if user.name != "stablehlo.convert":
            continue
        kind = user.results[0].type
        elements = constant_arrays.doubles(op.results[0], module)
        narrower = _NARROWER.get(str(kind.element_type))
        if elements is None or narrower is None:
            continue
        with ir.InsertionPoint(user), user.location, np.errstate(over="ignore"):
            bits = elements.astype(narrower)
            value = ir.DenseElementsAttr.get(
                bits.view(np.uint16) if narrower is ml_dtypes.bfloat16 else bits, type=kind
            )
            made = build.op(op.name, kind, value=value)
        user.results[0].replace_all_uses_with(made)
        user.erase()


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
