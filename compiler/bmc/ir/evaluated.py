"""The value of constant expressions of StableHLO, as NumPy computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.dtype import Array
from bmc.ir import constant_arrays, ir_util

_COMPARISONS: dict[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "stablehlo.add": np.add,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.ceil": np.ceil,
    "stablehlo.divide": np.divide,
    "stablehlo.multiply": np.multiply,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.shift_left": np.left_shift,
    "stablehlo.shift_right_arithmetic": np.right_shift,
    "stablehlo.subtract": np.subtract,
}
_DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_}


class Evaluator:
    """Evaluates values of a module, each once.

    Args:
      module: the module.
    """

    def __init__(self, module: Any) -> None:
        self._module = module
        self._known: dict[Any, Array | None] = {}

    def __call__(self, value: ir_util.Value) -> Array | None:
        """Returns the elements of a tensor, None if it is no constant, or computed by other operations than these."""
        if value not in self._known:
            self._known[value] = self._evaluate(value)
        return self._known[value]

    def _evaluate(self, value: ir_util.Value) -> Array | None:
        op = ir_util.definition(value)
        kind = value.type
        if op is None or not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
            return None
        if not op.operands and op.name != "stablehlo.iota":
            return constant_arrays.elements(value, self._module)
        arguments: list[Any] = []
        for operand in op.operands:
            argument = self(operand)
            if argument is None:
                return None
            arguments.append(argument)
        found = _computed(op, arguments, tuple(kind.shape))
        dtype = dtype_of(kind.element_type)
        return (
            None if found is None or dtype is None else np.asarray(found).astype(dtype, copy=False)
        )


def dtype_of(element: Any) -> Any:
    """Returns the NumPy type of elements, None if there is none."""
    name = str(element)
    if isinstance(element, ir.IntegerType) and element.width in (8, 16, 32, 64):
        return np.dtype(f"{'u' if element.is_unsigned else 'i'}{element.width // 8}")
    return _DTYPES.get(name)


def _computed(op: ir_util.Op, arguments: list[Any], shape: tuple[int, ...]) -> Any:
    name = op.name.removeprefix("stablehlo.")
    if op.name in _ARITHMETIC:
        return _ARITHMETIC[op.name](*arguments)
    if name == "convert":
        return arguments[0]
    if name == "reshape":
        return arguments[0].reshape(shape)
    if name == "transpose":
        return arguments[0].transpose(list(op.attributes["permutation"]))
    if name == "broadcast_in_dim":
        axes = list(op.attributes["broadcast_dimensions"])
        inner = [1] * len(shape)
        for axis, extent in zip(axes, arguments[0].shape, strict=True):
            inner[axis] = extent
        return np.broadcast_to(arguments[0].reshape(inner), shape)
    if name == "concatenate":
        return np.concatenate(arguments, ir.IntegerAttr(op.attributes["dimension"]).value)
    if name == "compare":
        direction = str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
        return _COMPARISONS[direction](*arguments)
    if name == "select":
        return np.where(*arguments)
    if name in ("iota", "dynamic_iota"):
        axis = ir.IntegerAttr(op.attributes["iota_dimension"]).value
        inner = [-1 if number == axis else 1 for number in range(len(shape))]
        return np.broadcast_to(np.arange(shape[axis]).reshape(inner), shape)
    return None
