"""Makes integers of floats as JAX does: what is out of the type's range becomes its end, and NaN becomes 0.

IREE leaves to the CPU what becomes of such floats, and CPUs differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import build, ir_util, stablehlo

# Bits of a float's significand, by its width and whether it is a bf16.
_SIGNIFICANDS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
_LARGEST = {"bf16": float.fromhex("0x1.fep127"), "f16": 65504.0}


def apply(path: Path) -> None:
    """Changes such conversions in a file of StableHLO."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(path)
        found = [op for op in ir_util.all_of(module, "stablehlo.convert") if _is_one(op)]
        for op in found:
            with ir.InsertionPoint(op), op.location:
                _saturate(op)
        if found:
            ir_util.write(module, path)


def _is_one(op: ir_util.Op) -> bool:
    source, result = (value.type.element_type for value in (op.operands[0], op.results[0]))
    # A conversion to truth values compares with 0.
    return str(source) in _SIGNIFICANDS and isinstance(result, ir.IntegerType) and result.width != 1


def _saturate(op: ir_util.Op) -> None:
    value, kind = op.operands[0], op.results[0].type
    element, source = kind.element_type, str(value.type.element_type)
    least, most = _range(element)
    # The largest float of the range, and the next one.
    bits = element.width - (0 if element.is_unsigned else 1)
    gap = max(bits - _SIGNIFICANDS[source], 0)
    largest, beyond = float(2**bits - 2**gap), float(2**bits)
    finite = _LARGEST.get(source, np.inf)
    if largest > finite:
        largest, beyond = finite, np.inf
    within = build.op(
        "stablehlo.clamp",
        value.type,
        _float(max(least, -finite), value),
        value,
        _float(largest, value),
    )
    result = build.op("stablehlo.convert", kind, within)
    ends = [(stablehlo.compared("NE", value, value), 0)]
    if gap or beyond == np.inf:
        ends.append(
            (
                stablehlo.compared(
                    "GE", value, stablehlo.broadcast(_float(beyond, value), value.type)
                ),
                most,
            )
        )
    if least < -finite:
        ends.append(
            (
                stablehlo.compared(
                    "EQ", value, stablehlo.broadcast(_float(-np.inf, value), value.type)
                ),
                least,
            )
        )
    for condition, number in ends:
        end = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(element, number))
        end = build.op("stablehlo.constant", kind, value=end)
        result = build.op("stablehlo.select", kind, condition, end, result)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _range(element: Any) -> tuple[int, int]:
    if element.is_unsigned:
        return 0, 2**element.width - 1
    return -(2 ** (element.width - 1)), 2 ** (element.width - 1) - 1


def _float(number: float, like: Any) -> Any:
    scalar = ir.RankedTensorType.get([], like.type.element_type)
    value = ir.FloatAttr.get(scalar.element_type, number)
    held = ir.DenseElementsAttr.get_splat(scalar, value)
    return build.op("stablehlo.constant", scalar, value=held)
