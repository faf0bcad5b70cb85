"""Products with packed weights, their operands, and their results as NumPy computes them."""

from __future__ import annotations

import numpy as np
import products
from products import Array

from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import RESULT, A, B, Loop, Node, Packing, Product

_SCALES, _MINS = 3, 4


def product(
    rows: int,
    lanes: int,
    groups: int,
    size: int,
    packing: Packing,
    epilogue: tuple[Node, ...] = (products.FLOAT_SUM,),
    extra: tuple[str, ...] = (),
) -> Product:
    """A product of [rows, groups * size] and [groups * size, lanes]; `extra` is as in products.matmul()."""
    scaling = 1 + (packing.mins is not None)
    factors = ["f32"] * (packing.factors is not None)
    more = (*["i16"] * scaling, *factors, *(each.split()[-1] for each in extra))
    dtypes = ("i8" if factors else "f32", "i8", "f32", *more)
    codes = 8 // packing.bits
    inner = size // codes

    def loop(
        extent: int, a: int, b: int, result: int, scales: int, each: int, *others: int
    ) -> Loop:
        elements = (a, b, result, *[scales] * scaling, *[each] * len(factors), *others)
        return Loop(extent, tuple(n * WIDTHS[t] for n, t in zip(elements, dtypes, strict=True)))

    moves = [lanes * each.startswith("residual") for each in extra]
    none = [0] * len(extra)
    return Product(
        dtypes,
        (),
        (loop(rows, groups * size, 0, lanes, 0, groups, *moves),),
        loop(lanes, 0, 1, 1, 1, 0, *[1] * len(extra)),
        (
            loop(groups, size, inner * lanes, 0, lanes, 1, *none),
            loop(codes, inner, 0, 0, 0, 0, *none),
            loop(inner, 1, lanes, 0, 0, 0, *none),
        ),
        None,
        epilogue,
        packing=packing,
    )


def form(bits: int, zero: int = 0, mins: bool = False, factors: bool = False) -> Packing:
    return Packing(bits, zero, _SCALES, _MINS if mins else None, _MINS + mins if factors else None)


def operands(product: Product) -> list[Array]:
    """Returns operands whose sums are exact in any order: small integers, and scales that are powers of two."""
    data = products.operands(product)
    generator = np.random.default_rng(5)
    for number, dtype in enumerate(product.dtypes):
        if dtype == "i16":
            powers: Array = np.exp2(generator.integers(-3, 3, data[number].size)).astype(np.float16)
            data[number] = (
                (powers * generator.choice([-1, 1], powers.size)).astype(np.float16).view(np.int16)
            )
    if (packing := product.packing) is not None and packing.factors is not None:
        data[A] = np.clip(data[A], -127, 127)
        exponents = generator.integers(-3, 3, data[packing.factors].size)
        data[packing.factors] = np.exp2(exponents).astype(np.float32)
    return data


def results(product: Product, data: list[Array]) -> dict[int, Array]:
    """Computes all results in NumPy, by operand."""
    packing = product.packing
    assert packing is not None
    groups, codes, inner = (loop.extent for loop in product.summed)
    rows, lanes = product.rows[0].extent, product.lanes.extent
    x: Array = data[A].reshape(rows, groups, -1).astype(np.float64)
    if packing.factors is not None:
        x *= data[packing.factors].reshape(rows, groups, 1)
    x = x.reshape(rows, -1)
    stored = data[B].reshape(groups, 1, inner, lanes)
    if packing.bits == 4:
        unsigned = stored.view(np.uint8)
        stored = np.concatenate([unsigned & 15, unsigned >> 4], axis=1)
    weights = stored.astype(np.float64) - packing.zero
    weights *= _scaling(data[packing.scales], groups)
    if packing.mins is not None:
        weights += _scaling(data[packing.mins], groups)
    assert stored.shape[1] == codes
    sums = (x.astype(np.float64) @ weights.reshape(-1, lanes)).astype(np.float32)

    def load(number: int) -> Array:
        each = data[number]
        return each.reshape(rows, lanes) if each.size == rows * lanes else each[:lanes]

    found = products.evaluated(product.epilogue, sums, load)
    return {n: value.astype(products.DTYPES[product.dtypes[n]]) for n, value in found.items()}


def _scaling(bits: Array, groups: int) -> Array:
    return bits.view(np.float16).astype(np.float64).reshape(groups, 1, 1, -1)


__all__ = ["RESULT", "form", "operands", "product", "results"]
