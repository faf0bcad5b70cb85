"""Operands of products, and their results as numpy computes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.kernels.product import RESULT, Loop, Node, Product

_DTYPES = {"f32": np.float32, "i32": np.int32, "i8": np.int8}
_WIDTHS = {"f32": 4, "i32": 4, "i8": 1}
Array = np.ndarray[Any, Any]


def _loops(product: Product) -> list[Loop]:
    return [*product.outer, *product.rows, product.lanes, *product.sums]


def operands(product: Product, seed: int = 0) -> list[Array]:
    """Returns operands that are exactly as large as what the loops visit; the result is zero.

    Floats are small integers, so every order of additions gives the same sum.
    """
    generator = np.random.default_rng(seed)
    made = []
    for number, dtype in enumerate(product.dtypes):
        reach = sum((loop.extent - 1) * loop.strides[number] for loop in _loops(product))
        size = reach // _WIDTHS[dtype] + 1
        limit = {"i8": 128, "i32": 2**22, "f32": 9}[dtype]
        values = generator.integers(-limit, limit, size)
        made.append((values * (number != RESULT)).astype(_DTYPES[dtype]))
    return made


def _view(product: Product, data: list[Array], number: int, sums: bool = False) -> Array:
    """An operand, with an axis for each loop."""
    loops = _loops(product)
    loops = loops if sums else loops[: len(loops) - len(product.sums)]
    return np.lib.stride_tricks.as_strided(
        data[number], [each.extent for each in loops], [each.strides[number] for each in loops]
    )


def _constant(node: Node) -> Any:
    return np.float32(node.value) if node.dtype == "f32" else np.int32(int(node.value))


def expected(product: Product, data: list[Array]) -> Array:
    """Computes the result in numpy."""
    wide, narrow = (np.float64, np.float32) if product.is_float else (np.int64, np.int32)
    factors = [_view(product, data, number, sums=True).astype(wide) for number in (0, 1)]
    axes = tuple(range(-len(product.sums), 0)) if product.sums else ()
    sums = (factors[0] * factors[1]).sum(axis=axes)
    if product.initial is not None:
        sums = sums + _view(product, data, product.initial)
    values: list[Any] = []
    for node in product.epilogue:
        if node.op == "sum":
            values.append(sums.astype(narrow))
        elif node.op == "load":
            values.append(_view(product, data, node.operand))
        elif node.op == "constant":
            values.append(_constant(node))
        else:
            values.append(_OPERATIONS[node.op](node, *(values[arg] for arg in node.args)))
    result = [array.copy() for array in data]
    with np.errstate(all="ignore"):
        _view(product, result, RESULT)[...] = values[-1].astype(_DTYPES[product.dtypes[RESULT]])
    return result[RESULT]


_OPERATIONS: dict[str, Any] = {
    "addi": lambda _, a, b: a + b,
    "subi": lambda _, a, b: a - b,
    "muli": lambda _, a, b: a * b,
    "mulhi": lambda _, a, b: (np.int64(a) * np.int64(b) >> 32).astype(np.int32),
    "shli": lambda _, a, b: a << b,
    "shrsi": lambda _, a, b: a >> b,
    "shrui": lambda _, a, b: (a.view(np.uint32) >> np.uint32(b)).view(np.int32),
    "maxsi": lambda _, a, b: np.maximum(a, b),
    "minsi": lambda _, a, b: np.minimum(a, b),
    "andi": lambda _, a, b: a & b,
    "ori": lambda _, a, b: a | b,
    "xori": lambda _, a, b: a ^ b,
    "addf": lambda _, a, b: a + b,
    "subf": lambda _, a, b: a - b,
    "mulf": lambda _, a, b: a * b,
    "divf": lambda _, a, b: a / b,
    "negf": lambda _, a: -a,
    "maximumf": lambda _, a, b: np.maximum(a, b),
    "minimumf": lambda _, a, b: np.minimum(a, b),
    "extsi": lambda node, a: a.astype(_DTYPES[node.dtype]),
    "trunci": lambda node, a: a.astype(_DTYPES[node.dtype]),
    "sitofp": lambda _, a: a.astype(np.float32),
    "fptosi": lambda _, a: a.astype(np.int32),
}
