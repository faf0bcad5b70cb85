"""Computes ONNX's STFT and DFT by products with constant matrices, which IREE has fast kernels for.

A transform of N = N1 N2 elements takes two stages (Cooley and Tukey, "An algorithm for the machine calculation of
complex Fourier series", 1965): with n = N2 n1 + n2 and k = k1 + N1 k2, and w(M) = exp(-2 pi i / M),

    X[k] = sum over n2 of w(N2)^(n2 k2) w(N)^(n2 k1) (sum over n1 of w(N1)^(n1 k1) x[n]).

That is fewer products than with one matrix, and sums of sqrt(N) terms in place of N, which round less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import fourier
from bmc.frontends.onnx_graph import Graph, attributes

# With more parts, frames are gathered element by element.
_MOST_PARTS = 16


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces an STFT or DFT of known sizes; returns whether it did."""
    return (node.op_type == "STFT" and _stft(graph, node)) or (
        node.op_type == "DFT" and _dft(graph, node)
    )


def in_one_stage(model: Any) -> Any:
    """Returns a ModelProto in which transforms of real numbers are convolutions and products, which int8 rounds once.

    An STFT's weights hold its window. Those whose sizes are not known stay.
    """
    from onnx import shape_inference

    makers = {"DFT": _product, "STFT": _convolution}
    if makers.keys().isdisjoint(node.op_type for node in model.graph.node):
        return model
    model = shape_inference.infer_shapes(model, data_prop=True)
    graph = Graph(model.graph)
    for node in model.graph.node:
        if node.op_type not in makers or not makers[node.op_type](graph, node):
            graph.nodes.append(node)
    graph.finish()
    # ONNX infers too many frequencies of an STFT.
    del model.graph.value_info[:]
    return model


@dataclass(frozen=True)
class _Frames:
    """Windows of an STFT: `count` of `size` elements, `hop` apart.

    `window` has the weights, or the name of a value with them; it is None if all weigh the same.
    """

    shape: tuple[int, int, int]
    count: int
    hop: int
    size: int
    window: Array | str | None


def _read(graph: Graph, node: Any) -> _Frames | None:
    """Returns the windows of an STFT, None if they are not known."""
    signal, step, window, length = (*node.input, "", "")[:4]
    shape = graph.shape(signal)
    steps, windows, lengths = (
        graph.constant(name) if name else None for name in (step, window, length)
    )
    weights = graph.shape(window) if window else None
    size = int(lengths) if lengths is not None else weights[0] if weights else 0
    if shape is None or steps is None or not size or (window and weights is None):
        return None
    parts = shape[2] if len(shape) == 3 else 1
    hop, count = int(steps), (shape[1] - size) // int(steps) + 1
    if count < 1 or hop < 1:
        return None
    return _Frames(
        (shape[0], shape[1], parts),
        count,
        hop,
        size,
        (window or None) if windows is None else windows,
    )


def _convolution(graph: Graph, node: Any) -> bool:
    frames = _read(graph, node)
    if frames is None or frames.shape[2] != 1 or isinstance(frames.window, str):
        return False
    batch, length, _ = frames.shape
    kept, filters = _filters(frames.size, frames.size, attributes(node).get("onesided", 1))
    if frames.window is not None:
        filters = filters * frames.window
    value = graph.add("Reshape", (node.input[0], np.array([batch, 1, length])), node)
    weights = filters[:, None].astype(graph.dtype(node.input[0]))
    value = graph.add("Conv", (value, weights), node, strides=[frames.hop])
    value = graph.add("Transpose", (value,), node, perm=[0, 2, 1])
    _join(graph, node, value, (batch, frames.count), kept)
    return True


def _product(graph: Graph, node: Any) -> bool:
    found, given = _axis(graph, node), attributes(node)
    if found is None or given.get("inverse", 0):
        return False
    shape, axis, size = found
    others, taken = shape[:-2], min(size, shape[axis])
    if axis != len(shape) - 2 or taken < shape[axis] or shape[-1] != 1:
        return False
    kept, filters = _filters(size, taken, given.get("onesided", 0))
    value = graph.add("Reshape", (node.input[0], np.array([*others, taken])), node)
    weights = filters.T.astype(graph.dtype(node.input[0]))
    value = graph.add("MatMul", (value, weights), node)
    _join(graph, node, value, others, kept)
    return True


def _join(graph: Graph, node: Any, value: str, others: tuple[int, ...], kept: int) -> None:
    """Replaces `node` by the real and imaginary parts in value [*others, (2, frequencies)]: [*others, frequencies, 2].

    They are cut apart because a reshape would make the scales of the frequencies a matrix.
    """
    parts = []
    for first in (0, kept):
        cut = [np.array([place]) for place in (first, first + kept, len(others))]
        part = graph.add("Slice", (value, *cut), node)
        parts.append(graph.add("Reshape", (part, np.array([*others, kept, 1])), node))
    graph.rename(graph.add("Concat", parts, node, axis=len(others) + 1), node.output[0])


def _filters(size: int, taken: int, onesided: int) -> tuple[int, Array]:
    """Returns a number of frequencies, and the real and imaginary parts that multiply the first `taken` elements."""
    kept = size // 2 + 1 if onesided else size
    roots = fourier.roots(size, np.arange(kept), np.arange(taken), -1)
    return kept, np.concatenate((roots.real, roots.imag))


def _stft(graph: Graph, node: Any) -> bool:
    frames = _read(graph, node)
    if frames is None:
        return False
    batch, _, parts = frames.shape
    count, size = frames.count, frames.size
    value = _frames(graph, node, frames)
    if isinstance(frames.window, str):
        column = graph.add("Reshape", (frames.window, np.array([size, 1])), node)
        value = graph.add("Mul", (value, column), node)
    elif frames.window is not None:
        value = graph.add("Mul", (value, frames.window.reshape(size, 1)), node)
    onesided = bool(attributes(node).get("onesided", 1))
    value = _transform(graph, node, value, (batch * count, size, parts), (batch, count), onesided)
    graph.rename(value, node.output[0])
    return True


def _frames(graph: Graph, node: Any, frames: _Frames) -> str:
    """Returns overlapping frames [batch, count, size, parts] of a signal [batch, length, parts]."""
    batch, _, parts = frames.shape
    count, hop, size = frames.count, frames.hop, frames.size
    signal = node.input[0]
    common = math.gcd(hop, size)
    if size // common > _MOST_PARTS:
        places = np.arange(count)[:, None] * hop + np.arange(size)
        flat = graph.add("Reshape", (signal, np.array(frames.shape)), node)
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


def _axis(graph: Graph, node: Any) -> tuple[tuple[int, ...], int, int] | None:
    """Returns the shape of what a DFT reads, its axis and its length, None if they are not known."""
    given = attributes(node)
    named = [graph.constant(name) if name else None for name in node.input[1:]]
    length, axes = (*named, None, None)[:2]
    shape = graph.shape(node.input[0])
    unknown = any(name and array is None for name, array in zip(node.input[1:], named, strict=True))
    if shape is None or unknown:
        return None
    rank = len(shape)
    # Until opset 20 the axis is an attribute, 1 unless given.
    default = -2 if len(node.input) > 2 else 1
    axis = (int(axes) if axes is not None else given.get("axis", default)) % rank
    if axis == rank - 1 or shape[-1] not in (1, 2):
        return None
    return shape, axis, int(length) if length is not None else shape[axis]


def _dft(graph: Graph, node: Any) -> bool:
    given = attributes(node)
    inverse, onesided = bool(given.get("inverse", 0)), bool(given.get("onesided", 0))
    found = _axis(graph, node)
    if found is None:
        return False
    shape, axis, size = found
    to_real = inverse and onesided
    if to_real and not (len(node.input) > 1 and node.input[1]):
        size = 2 * (shape[axis] - 1)
    if size < 1 or (to_real and shape[-1] != 2):
        return False
    rank = len(shape)
    order = [*(d for d in range(rank - 1) if d != axis), axis, rank - 1]
    value = node.input[0]
    if order != list(range(rank)):
        value = graph.add("Transpose", (value,), node, perm=order)
    others = tuple(shape[d] for d in order[:-2])
    given_size = size // 2 + 1 if to_real else size
    if given_size < shape[axis]:
        bounds = (np.array([0]), np.array([given_size]), np.array([rank - 2]))
        value = graph.add("Slice", (value, *bounds), node)
    elif given_size > shape[axis]:
        more = [0] * (2 * rank - 2) + [given_size - shape[axis], 0]
        value = graph.add("Pad", (value, np.array(more)), node)
    if to_real:
        value = _mirrored(graph, node, value, size, rank - 2)
    back = [int(place) for place in np.argsort(order)]
    rows = (math.prod(others), size, shape[-1])
    value = _transform(graph, node, value, rows, others, onesided and not inverse, inverse, back)
    if to_real:
        first = (np.array([0]), np.array([1]), np.array([rank - 1]))
        value = graph.add("Slice", (value, *first), node)
    graph.rename(value, node.output[0])
    return True


def _mirrored(graph: Graph, node: Any, value: str, size: int, axis: int) -> str:
    """Returns all `size` frequencies of a real signal, of which value has the first half [..., size // 2 + 1, 2]."""
    places = np.arange(size // 2 + 1, size)
    if not places.size:
        return value
    others = graph.add("Gather", (value, size - places), node, axis=axis)
    conjugate = np.array([1, -1], graph.dtype(node.input[0]))
    return graph.add(
        "Concat", (value, graph.add("Mul", (others, conjugate), node)), node, axis=axis
    )


def _transform(
    graph: Graph,
    node: Any,
    value: str,
    shape: tuple[int, int, int],
    others: tuple[int, ...],
    onesided: bool,
    inverse: bool = False,
    order: list[int] | None = None,
) -> str:
    """Returns the transform of value [rows, size, parts]: [*others, frequencies, 2], axes in `order`."""
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
    matrix = fourier.roots(first, np.arange(first), np.arange(first), sign)
    value = graph.add(
        "MatMul", (value, fourier.as_real(matrix)[: parts * first].astype(dtype)), node
    )
    if first > 1:
        value = _turned(
            graph, node, value, fourier.roots(size, np.arange(second), np.arange(first), sign)
        )
    # [rows, n2, (2, k1)] -> [rows, k1, (2, n2)]
    value = graph.add("Reshape", (value, np.array([rows, second, 2, first])), node)
    value = graph.add("Transpose", (value,), node, perm=[0, 3, 2, 1])
    value = graph.add("Reshape", (value, np.array([rows, first, 2 * second])), node)
    matrix = fourier.roots(second, np.arange(second), np.arange(kept), sign)
    if inverse:
        matrix = matrix / size
    value = graph.add("MatMul", (value, fourier.as_real(matrix).astype(dtype)), node)
    # [rows, k1, (2, k2)] -> [rows, (k2, k1), 2]
    value = graph.add("Reshape", (value, np.array([rows, first, 2, kept])), node)
    value = graph.add("Transpose", (value,), node, perm=[0, 3, 1, 2])
    value = graph.add("Reshape", (value, np.array([*others, kept * first, 2])), node)
    bounds = (np.array([0]), np.array([wanted]), np.array([len(others)]))
    value = graph.add("Slice", (value, *bounds), node)
    if order is not None and order != sorted(order):
        value = graph.add("Transpose", (value,), node, perm=order)
    return value


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
