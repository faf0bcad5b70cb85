"""Computes ONNX's STFT and DFT by products with constant matrices, which IREE has fast kernels for.

A transform of N = N1 N2 elements takes two stages (Cooley and Tukey, "An algorithm for the machine calculation of
complex Fourier series", 1965): with n = N2 n1 + n2 and k = k1 + N1 k2, and w(M) = exp(-2 pi i / M),

    X[k] = sum over n2 of w(N2)^(n2 k2) w(N)^(n2 k1) (sum over n1 of w(N1)^(n1 k1) x[n]).

That is fewer products than with one matrix, and sums of sqrt(N) terms in place of N, which round less.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph, attributes

# With more parts, frames are gathered element by element.
_MOST_PARTS = 16


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces an STFT or DFT of known sizes; returns whether it did."""
    return (node.op_type == "STFT" and _stft(graph, node)) or (
        node.op_type == "DFT" and _dft(graph, node)
    )


def _stft(graph: Graph, node: Any) -> bool:
    signal, step, window, length = (*node.input, "", "")[:4]
    shape = graph.shape(signal)
    steps, windows, lengths = (
        graph.constant(name) if name else None for name in (step, window, length)
    )
    size = int(lengths) if lengths is not None else windows.size if windows is not None else 0
    if shape is None or steps is None or not size or (window and windows is None):
        return False
    parts = shape[2] if len(shape) == 3 else 1
    hop, count = int(steps), (shape[1] - size) // int(steps) + 1
    if count < 1 or hop < 1:
        return False
    value = _frames(graph, node, signal, (shape[0], shape[1], parts), (count, hop, size))
    if windows is not None:
        value = graph.add("Mul", (value, windows.reshape(size, 1)), node)
    onesided = bool(attributes(node).get("onesided", 1))
    _transform(graph, node, value, (shape[0] * count, size, parts), (shape[0], count), onesided)
    return True


def _frames(
    graph: Graph,
    node: Any,
    signal: str,
    shape: tuple[int, int, int],
    frames: tuple[int, int, int],
) -> str:
    """Returns overlapping frames [batch, count, size, parts] of a signal [batch, length, parts]."""
    batch, _, parts = shape
    count, hop, size = frames
    common = math.gcd(hop, size)
    if size // common > _MOST_PARTS:
        places = np.arange(count)[:, None] * hop + np.arange(size)
        flat = graph.add("Reshape", (signal, np.array(shape)), node)
        return graph.add("Gather", (flat, places), node, axis=1)
    # Rows of the common divisor, of which a frame is some in a row.
    rows = ((count - 1) * hop + size) // common
    bounds = (np.array([0]), np.array([rows * common]), np.array([1]))
    used = graph.add("Slice", (signal, *bounds), node)
    rows_shape = np.array([batch, rows, common, parts])
    used = graph.add("Reshape", (used, rows_shape), node)
    stride, pieces = hop // common, []
    for first in range(size // common):
        end = first + (count - 1) * stride + 1
        cut = [np.array([number]) for number in (first, end, 1, stride)]
        pieces.append(graph.add("Slice", (used, *cut), node))
    return graph.add("Concat", pieces, node, axis=2)


def _dft(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    named = [graph.constant(name) if name else None for name in node.input[1:]]
    length, axes = (*named, None, None)[:2]
    shape = graph.shape(node.input[0])
    inverse, onesided = bool(given.get("inverse", 0)), bool(given.get("onesided", 0))
    unknown = any(name and array is None for name, array in zip(node.input[1:], named, strict=True))
    if shape is None or unknown or (inverse and onesided):
        return False
    rank = len(shape)
    # Until opset 20 the axis is an attribute, 1 unless given.
    default = -2 if len(node.input) > 2 else 1
    axis = (int(axes) if axes is not None else given.get("axis", default)) % rank
    if axis == rank - 1 or shape[-1] not in (1, 2):
        return False
    order = [*(d for d in range(rank - 1) if d != axis), axis, rank - 1]
    value = node.input[0]
    if order != list(range(rank)):
        value = graph.add("Transpose", (value,), node, perm=order)
    size = int(length) if length is not None else shape[axis]
    others = tuple(shape[d] for d in order[:-2])
    if size < shape[axis]:
        bounds = (np.array([0]), np.array([size]), np.array([rank - 2]))
        value = graph.add("Slice", (value, *bounds), node)
    elif size > shape[axis]:
        more = [0] * (2 * rank - 2) + [size - shape[axis], 0]
        value = graph.add("Pad", (value, np.array(more)), node)
    back = [int(place) for place in np.argsort(order)]
    _transform(
        graph, node, value, (math.prod(others), size, shape[-1]), others, onesided, inverse, back
    )
    return True


def _transform(
    graph: Graph,
    node: Any,
    value: str,
    shape: tuple[int, int, int],
    others: tuple[int, ...],
    onesided: bool,
    inverse: bool = False,
    order: list[int] | None = None,
) -> None:
    """Replaces `node` by the transform of value [rows, size, parts]: [*others, frequencies, 2], axes in `order`."""
    rows, size, parts = shape
    wanted = size // 2 + 1 if onesided else size
    first = max(d for d in range(1, math.isqrt(size) + 1) if size % d == 0)
    second = size // first
    kept = -(-wanted // first)
    sign = 1 if inverse else -1
    # [rows, n1, n2, parts] -> [rows, n2, (parts, n1)]
    value = graph.add("Reshape", (value, np.array([rows, first, second, parts])), node)
    value = graph.add("Transpose", (value,), node, perm=[0, 2, 3, 1])
    value = graph.add("Reshape", (value, np.array([rows, second, parts * first])), node)
    dtype = graph.dtype(node.input[0])
    matrix = _roots(first, np.arange(first), np.arange(first), sign)
    value = graph.add("MatMul", (value, _real(matrix)[: parts * first].astype(dtype)), node)
    if first > 1:
        value = _turned(graph, node, value, _roots(size, np.arange(second), np.arange(first), sign))
    # [rows, n2, (2, k1)] -> [rows, k1, (2, n2)]
    value = graph.add("Reshape", (value, np.array([rows, second, 2, first])), node)
    value = graph.add("Transpose", (value,), node, perm=[0, 3, 2, 1])
    value = graph.add("Reshape", (value, np.array([rows, first, 2 * second])), node)
    matrix = _roots(second, np.arange(second), np.arange(kept), sign)
    if inverse:
        matrix = matrix / size
    value = graph.add("MatMul", (value, _real(matrix).astype(dtype)), node)
    # [rows, k1, (2, k2)] -> [rows, (k2, k1), 2]
    value = graph.add("Reshape", (value, np.array([rows, first, 2, kept])), node)
    value = graph.add("Transpose", (value,), node, perm=[0, 3, 1, 2])
    value = graph.add("Reshape", (value, np.array([*others, kept * first, 2])), node)
    bounds = (np.array([0]), np.array([wanted]), np.array([len(others)]))
    value = graph.add("Slice", (value, *bounds), node)
    if order is not None and order != sorted(order):
        value = graph.add("Transpose", (value,), node, perm=order)
    graph.rename(value, node.output[0])


def _turned(graph: Graph, node: Any, value: str, by: Array) -> str:
    """Returns complex numbers [rows, n2, (2, k1)] times `by` [n2, k1]."""
    dtype = graph.dtype(node.input[0])
    second, first = by.shape
    halves = []
    for number in range(2):
        cut = [np.array([place]) for place in (number * first, (number + 1) * first, 2)]
        halves.append(graph.add("Slice", (value, *cut), node))
    real, imaginary = by.real.astype(dtype), by.imag.astype(dtype)
    made = []
    for op, factors in (("Sub", (real, imaginary)), ("Add", (imaginary, real))):
        products = [graph.add("Mul", (h, f), node) for h, f in zip(halves, factors, strict=True)]
        made.append(graph.add(op, products, node))
    return graph.add("Concat", made, node, axis=2)


def _roots(size: int, n: Array, k: Array, sign: int) -> Array:
    """Returns exp(sign 2 pi i n k / size), [n, k]; the product is reduced first, which keeps it exact."""
    angle = 2 * np.pi * (np.outer(n, k) % size) / size
    roots: Array = np.cos(angle) + sign * 1j * np.sin(angle)
    return roots


def _real(matrix: Array) -> Array:
    """Returns the matrix [(2, n), (2, k)] that multiplies real and imaginary parts in a row by a complex one."""
    return np.block([[matrix.real, matrix.imag], [-matrix.imag, matrix.real]])
