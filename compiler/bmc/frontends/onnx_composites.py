"""Writes ONNX ops with simpler ones where IREE's importer does not know them, or divides by zero.

- It knows neither CumProd nor RMSNormalization.
- Its ReverseSequence is a loop over parts of sizes that depend on data, which IREE cannot compile.
- Its LpNormalization of zeros is NaN, and onnxruntime's is zero.
- Its Gelu by tanh has 0.797724 for the root of 2 / pi.
- Its determinant divides by the first number, which may be zero.
- It multiplies no vector with several matrices, and gets a QLinearMatMul of several matrices wrong.
- Its Range of halves fails.
- It takes the element itself off an exclusive CumSum, which rounds, and leaves nothing of infinite ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_blocks
from bmc.frontends.onnx_graph import Graph, Maker, attributes, node_name

# More elements in a row than this, one after the other, are too many ops.
_MOST_FACTORS = 256
_MOST_ROWS = 4
# float16 and bfloat16.
_HALVES = (10, 16)


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such an op of known sizes; returns whether it did.

    Raises:
      BmcError: a determinant has too many rows.
    """
    makers: dict[str, Maker] = {
        "CumProd": _products,
        "CumSum": _sums,
        "Det": _determinant,
        "Gelu": _gelu,
        "LpNormalization": _normalization,
        "MatMul": _vector_product,
        "QLinearMatMul": _quantized_product,
        "Range": _range,
        "ReduceL2": _length,
        "ReduceLogSum": _logarithm,
        "ReverseSequence": _reversed,
        "RMSNormalization": _root_mean_square,
    }
    return graph.replaced(node, makers)


def _products(graph: Graph, node: Any, shape: tuple[int, ...]) -> str | None:
    """Multiplies one element after the other, because another order overflows elsewhere."""
    given, along = attributes(node), graph.constant(node.input[1])
    if along is None:
        return None
    axis = int(along) % len(shape)
    if not 0 < shape[axis] <= _MOST_FACTORS:
        return None
    exclusive = bool(given.get("exclusive"))
    order = range(shape[axis])[:: -1 if given.get("reverse") else 1]
    made: list[str] = []
    for place in order:
        if exclusive and not made:
            kept = (*shape[:axis], 1, *shape[axis + 1 :])
            made.append(graph.initializer(np.ones(kept, graph.dtype(node.input[0])), node))
        if len(made) == len(order):
            break
        row = graph.add("Gather", (node.input[0], np.array([place])), node, axis=axis)
        made.append(graph.add("Mul", (made[-1], row), node) if made else row)
    return graph.add("Concat", made[:: order.step], node, axis=axis)


def _sums(graph: Graph, node: Any, shape: tuple[int, ...]) -> str | None:
    """Moves floats by one place before they are added up, where IREE takes the element itself off again."""
    given, along = attributes(node), graph.constant(node.input[1])
    if along is None or not given.get("exclusive") or graph.dtype(node.input[0]).kind in "iu":
        return None
    axis, reverse = int(along) % len(shape), given.get("reverse", 0)
    if not shape[axis]:
        return None
    start = np.zeros((*shape[:axis], 1, *shape[axis + 1 :]), graph.dtype(node.input[0]))
    ends = (1, shape[axis]) if reverse else (0, shape[axis] - 1)
    bounds = (*(np.array([end]) for end in ends), np.array([axis]))
    kept = graph.add("Slice", (node.input[0], *bounds), node)
    parts: tuple[str | Array, ...] = (kept, start) if reverse else (start, kept)
    moved = graph.add("Concat", parts, node, axis=axis)
    return graph.add("CumSum", (moved, np.array(axis)), node, reverse=reverse)


def _range(graph: Graph, node: Any, _: tuple[int, ...]) -> str | None:
    """Counts halves in f32, as the standard's function does."""
    count = graph.shape(node.output[0])
    if count is None or graph.element(node.input[0]) not in _HALVES:
        return None
    start, delta = (graph.add("Cast", (node.input[each],), node, to=1) for each in (0, 2))
    steps = np.arange(count[0], dtype=np.float32)
    moved = graph.add("Add", (start, graph.add("Mul", (steps, delta), node)), node)
    return graph.add("Cast", (moved,), node, to=graph.element(node.input[0]))


def _determinant(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    size = shape[-1]
    if size > _MOST_ROWS:
        raise BmcError(
            "op-rejected",
            f"op 'Det' of {size} rows divides by numbers that may be zero in IREE",
            where=node_name(node),
            hint=f"{_MOST_ROWS} rows are the most",
        )
    rows = [graph.add("Gather", (node.input[0], np.array(i)), node, axis=-2) for i in range(size)]
    elements = [
        [graph.add("Gather", (row, np.array(i)), node, axis=-1) for i in range(size)]
        for row in rows
    ]
    return _expanded(graph, node, elements)


def _expanded(graph: Graph, node: Any, elements: list[list[str]]) -> str:
    """Returns a determinant, developed by its first row."""
    first, *others = elements
    made = ""
    for place, factor in enumerate(first):
        smaller = [row[:place] + row[place + 1 :] for row in others]
        term = (
            graph.add("Mul", (factor, _expanded(graph, node, smaller)), node) if others else factor
        )
        made = graph.add("Sub" if place % 2 else "Add", (made, term), node) if made else term
    return made


def _gelu(graph: Graph, node: Any, _: tuple[int, ...]) -> str | None:
    if attributes(node).get("approximate", b"none") != b"tanh":
        return None
    x, dtype = node.input[0], graph.dtype(node.input[0])

    def number(value: float) -> Array:
        return np.array(value, dtype)

    cube = graph.add("Mul", (graph.add("Mul", (x, x), node), x), node)
    inner = graph.add("Add", (x, graph.add("Mul", (cube, number(0.044715)), node)), node)
    bent = graph.add("Tanh", (graph.add("Mul", (inner, number((2 / np.pi) ** 0.5)), node),), node)
    share = graph.add("Add", (bent, number(1)), node)
    return graph.add("Mul", (graph.add("Mul", (x, number(0.5)), node), share), node)


def _normalization(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    given = attributes(node)
    x, axes = node.input[0], np.array([given.get("axis", -1) % len(shape)])
    if given.get("p", 2) == 1:
        norm = graph.add("ReduceSum", (graph.add("Abs", (x,), node), axes), node)
    else:
        squares = graph.add("ReduceSum", (graph.add("Mul", (x, x), node), axes), node)
        norm = graph.add("Sqrt", (squares,), node)
    zero, one = (np.array(number, graph.dtype(node.input[0])) for number in (0, 1))
    is_zero = graph.add("Equal", (norm, zero), node)
    return graph.add("Div", (x, graph.add("Where", (is_zero, one, norm), node)), node)


def _vector_product(graph: Graph, node: Any, shape: tuple[int, ...]) -> str | None:
    """Makes a matrix of a vector that several matrices multiply."""
    others = graph.shape(node.input[1])
    if others is None or min(len(shape), len(others)) != 1 or max(len(shape), len(others)) < 3:
        return None
    axis = -2 if len(shape) == 1 else -1
    inputs = list(node.input)
    inputs[axis + 2] = graph.add("Unsqueeze", (inputs[axis + 2], np.array([axis + 2])), node)
    return graph.add("Squeeze", (graph.add("MatMul", inputs, node), np.array([axis])), node)


def _quantized_product(graph: Graph, node: Any, shape: tuple[int, ...]) -> str | None:
    """Multiplies integers, and rounds once, as onnxruntime does."""
    a, a_scale, a_zero, b, b_scale, b_zero, scale, zero = node.input
    others = graph.shape(b)
    if others is None or max(len(shape), len(others)) < 3 or graph.shape(a_scale) not in ((), (1,)):
        return None
    whole = [
        graph.add("Sub", [graph.add("Cast", (name,), node, to=6) for name in pair], node)
        for pair in ((a, a_zero), (b, b_zero))
    ]
    total = graph.add("Cast", (graph.add("MatMul", whole, node),), node, to=1)
    scales = [graph.add("Cast", (name,), node, to=1) for name in (a_scale, b_scale, scale)]
    share = graph.add("Div", (graph.add("Mul", scales[:2], node), scales[2]), node)
    steps = graph.add("Mul", (total, share), node)
    return onnx_blocks.quantized(graph, node, steps, zero, graph.element(zero))


def _length(graph: Graph, node: Any, _: tuple[int, ...]) -> str:
    """Writes the two ops of a ReduceL2, on which torch-mlir crashes where the dimension has one element."""
    squares = graph.add("ReduceSumSquare", node.input, node, **attributes(node))
    return graph.add("Sqrt", (squares,), node)


def _logarithm(graph: Graph, node: Any, _: tuple[int, ...]) -> str:
    """Writes the two ops of a ReduceLogSum, on which torch-mlir crashes as on a ReduceL2."""
    given = attributes(node)
    axes = [np.array(given.pop("axes"))] if "axes" in given else node.input[1:]
    total = graph.add("ReduceSum", (node.input[0], *axes), node, **given)
    return graph.add("Log", (total,), node)


def _reversed(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    given = attributes(node)
    batch, time = given.get("batch_axis", 1), given.get("time_axis", 0)
    return reversed_steps(graph, node, node.input[0], node.input[1], shape, batch, time)


def reversed_steps(
    graph: Graph,
    node: Any,
    value: str,
    lengths: str,
    shape: tuple[int, ...],
    batch: int,
    time: int,
) -> str:
    """Gathers each element from as far before the end of its sequence as it is behind the start.

    Args:
      graph, node: the graph, and the node that this helps to replace.
      value, shape: sequences, along axis `time`, and their shape.
      lengths: one for each place along axis `batch`.
    """
    along, across = (
        tuple(size if axis == each else 1 for each, size in enumerate(shape))
        for axis in (time, batch)
    )
    steps = np.arange(shape[time]).reshape(along)
    if graph.element(lengths) != 7:  # an LSTM's are int32
        lengths = graph.add("Cast", (lengths,), node, to=7)
    lengths = graph.add("Reshape", (lengths, np.array(across)), node)
    from_end = graph.add("Sub", (graph.add("Sub", (lengths, np.array(1)), node), steps), node)
    is_inside = graph.add("Less", (steps, lengths), node)
    places = graph.add("Where", (is_inside, from_end, steps), node)
    places = graph.add("Expand", (places, np.array(shape)), node)
    return graph.add("GatherElements", (value, places), node, axis=time)


def _root_mean_square(graph: Graph, node: Any, shape: tuple[int, ...]) -> str | None:
    given = attributes(node)
    x, scale = node.input[:2]
    if graph.dtype(x) != np.float32 or graph.dtype(scale) != np.float32:
        return None
    axes = np.arange(given.get("axis", -1) % len(shape), len(shape))
    count = np.prod([shape[axis] for axis in axes])
    squares = graph.add("ReduceSum", (graph.add("Mul", (x, x), node), axes), node)
    mean = graph.add("Div", (squares, np.array(count, np.float32)), node)
    epsilon = np.array(given.get("epsilon", 1e-5), np.float32)
    size = graph.add("Sqrt", (graph.add("Add", (mean, epsilon), node),), node)
    return graph.add("Mul", (graph.add("Div", (x, size), node), scale), node)
