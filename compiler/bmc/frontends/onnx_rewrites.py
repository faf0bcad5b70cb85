"""Writes some ONNX ops with others, because IREE's importer gets them wrong or does not know them.

- IREE refuses a window of a pool or a convolution that is the only one along a dimension and leaves elements over.
- Its importer takes for ever over a Pad that wraps around, and refuses many that reflect, or repeat the edge and cut.
- Its importer crashes over uneven pads of a QLinearConv (onnx_pads.py).
- It lacks settings of recurrent layers (onnx_recurrents.py).
- It divides and clips unsigned numbers as signed ones (onnx_unsigned.py).
- Its remainder of floats subtracts a rounded product.
- It multiplies the matrix that a Gemm adds by zero where it leaves it out.
- IREE cannot compile a Slice that goes backwards along two dimensions.
- It knows no DFT, and an STFT only as a product with one large matrix (onnx_spectra.py).
- It leaves out a limit that a Clip lacks (onnx_clips.py).
- It computes Neg of integers in f32.
- Its ReduceLogSumExp, Asinh and Acosh overflow (onnx_logarithms.py).
- It computes powers of integers, and those of negative floats, in floats that have none (onnx_powers.py).
- It gets average pools with dilations wrong, and the last windows of `ceil_mode` (onnx_averages.py).
- It gets a QLinearConv wrong whose channels have scales of their own (onnx_channel_scales.py).
- It knows only some modes of GridSample (onnx_grids.py).
- It does not know all modes of Resize (onnx_resizes.py).
- It knows no RoiAlign and no DeformConv (onnx_regions.py).
- It quantizes no blocks, and no uint16 (onnx_blocks.py).
- It lacks ops that scatter (onnx_scatters.py).
- It lacks windows of pools and of transposed convolutions (onnx_windows.py).
- It crashes over some tensors without elements (onnx_empty.py).
- Others are in onnx_composites.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends import (
    onnx_averages,
    onnx_bitcasts,
    onnx_blocks,
    onnx_channel_scales,
    onnx_clips,
    onnx_composites,
    onnx_empty,
    onnx_grids,
    onnx_logarithms,
    onnx_pads,
    onnx_powers,
    onnx_recurrents,
    onnx_regions,
    onnx_resizes,
    onnx_scatters,
    onnx_spectra,
    onnx_unsigned,
    onnx_windows,
)
from bmc.frontends.onnx_graph import Graph, attributes, graphs_of, set_attributes

_WINDOWS = ("AveragePool", "Conv", "ConvInteger", "LpPool", "MaxPool", "QLinearConv")
# Which of the inputs is the weight, if there is one.
_WEIGHT = {"Conv": 1, "ConvInteger": 1, "QLinearConv": 3}
# Each takes or leaves a node as it is in the file.
WHOLE = (
    onnx_averages.rewrite,
    onnx_bitcasts.rewrite,
    onnx_blocks.rewrite,
    onnx_empty.rewrite,
    onnx_grids.rewrite,
    onnx_recurrents.rewrite,
    onnx_regions.rewrite,
    onnx_resizes.rewrite,
    onnx_scatters.rewrite,
    onnx_windows.rewrite,
)


def apply(model: Any) -> None:
    """Changes such ops in a ModelProto with inferred shapes, which have to be inferred again."""
    _apply(Graph(model.graph))


def _apply(graph: Graph) -> None:
    for node in list(graph.proto.node):
        for inner in graphs_of(node):
            _apply(Graph(inner, graph))
        if node.domain in ("", "ai.onnx"):
            if any(rewrite(graph, node) for rewrite in WHOLE):
                continue
            if node.op_type in _WINDOWS:
                _crop(graph, node)
                onnx_pads.pad(graph, node)
                if onnx_channel_scales.rewrite(graph, node) or onnx_unsigned.rewrite(graph, node):
                    continue
            elif node.op_type == "Gemm" and attributes(node).get("beta") == 0:
                del node.input[2:]  # It is not read, not even where it is no number.
            elif node.op_type == "Clip" and onnx_clips.limit(graph, node):
                pass
            elif (
                node.op_type == "Pad"
                and _pad(graph, node)
                or onnx_unsigned.rewrite(graph, node)
                or onnx_spectra.rewrite(graph, node)
                or onnx_composites.rewrite(graph, node)
                or node.op_type == "Mod"
                and _rest(graph, node)
                or node.op_type == "Pow"
                and onnx_powers.rewrite(graph, node)
                or node.op_type == "Neg"
                and _negative(graph, node)
                or onnx_logarithms.rewrite(graph, node)
                or node.op_type == "Slice"
                and _backwards(graph, node)
            ):
                continue
        graph.nodes.append(node)
    graph.finish()


def _rest(graph: Graph, node: Any) -> bool:
    """Gives the exact remainder of floats without signs the sign of the dividend; returns whether it did."""
    dtype = graph.dtype(node.input[0])
    if not attributes(node).get("fmod") or dtype.kind != "f":
        return False
    sizes = [graph.add("Abs", [name], node) for name in node.input]
    rest = graph.add("Mod", sizes, node)  # without fmod, which takes the sign of the divisor
    zero = np.zeros((), dtype)
    is_negative = graph.add("Less", [node.input[0], zero], node)
    signed = graph.add("Where", [is_negative, graph.add("Neg", [rest], node), rest], node)
    # A zero may have a sign too.
    is_whole = graph.add("Equal", [sizes[0], rest], node)
    signed = graph.add("Where", [is_whole, node.input[0], signed], node)
    graph.rename(signed, node.output[0])
    return True


def _negative(graph: Graph, node: Any) -> bool:
    """Takes integers from 0; returns whether it did."""
    dtype = graph.dtype(node.input[0])
    if dtype.kind != "i":
        return False
    graph.rename(graph.add("Sub", [np.zeros((), dtype), node.input[0]], node), node.output[0])
    return True


def _crop(graph: Graph, node: Any) -> None:
    """Cuts off the elements that no window reads, along dimensions with one window."""
    given = attributes(node)
    shape = graph.shape(node.input[0])
    weight = graph.shape(node.input[_WEIGHT[node.op_type]]) if node.op_type in _WEIGHT else None
    kernel = given.get("kernel_shape") or (weight and weight[2:])
    if shape is None or not kernel or given.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
        return
    if len(node.output) > 1:
        return  # A max pool's indices count the elements of what it gets.
    dims = len(kernel)
    strides, dilations = (given.get(key, [1] * dims) for key in ("strides", "dilations"))
    pads = list(given.get("pads", [0] * 2 * dims))
    sizes = list(shape[2:])
    for axis in range(dims):
        covered = (kernel[axis] - 1) * dilations[axis] + 1
        over = sizes[axis] + pads[axis] + pads[dims + axis] - covered
        if 0 < over < strides[axis]:
            cut = min(over, pads[dims + axis])
            pads[dims + axis] -= cut
            sizes[axis] -= over - cut
    if sizes != list(shape[2:]):
        axes = np.arange(2, dims + 2)
        bounds = (np.zeros(dims, np.int64), np.array(sizes, np.int64), axes)
        node.input[0] = graph.add("Slice", (node.input[0], *bounds), node)
    if pads != list(given.get("pads", pads)):
        set_attributes(node, pads=pads)


def _pad(graph: Graph, node: Any) -> bool:
    """Pads by a concatenation of parts of the tensor; returns whether it did."""
    mode = attributes(node).get("mode", b"constant")
    shape = graph.shape(node.input[0])
    pads = graph.constant(node.input[1]) if len(node.input) > 1 else None
    if mode not in (b"edge", b"reflect", b"wrap") or shape is None or pads is None:
        return False
    named = node.input[3] if len(node.input) > 3 else ""
    axes: Array | None = graph.constant(named) if named else np.arange(len(shape))
    is_cut = bool((pads < 0).any())
    if axes is None or min(shape) < 1 or not (pads > 0).any() or is_cut != (mode == b"edge"):
        return False
    value = node.input[0]
    for axis, low, high in zip(axes % len(shape), *pads.reshape(2, -1), strict=True):
        size = shape[axis]
        if low < 0 or high < 0:  # What is cut off goes first.
            begin, end = max(-low, 0), size - max(-high, 0)
            cut = [np.array([number]) for number in (begin, end, axis)]
            value = graph.add("Slice", (value, *cut), node)
            low, high, size = max(low, 0), max(high, 0), end - begin
        places = np.arange(-low, size + high)
        if mode == b"edge":
            places = places.clip(0, size - 1)
        elif mode == b"wrap":
            places %= size
        else:
            period = max(2 * size - 2, 1)
            places = (size - 1) - abs((size - 1) - places % period)
        parts: list[str] = []
        for part in (places[:low], None, places[low + size :]):
            if part is None:
                parts.append(value)
            elif part.size:
                parts.append(graph.add("Gather", (value, part), node, axis=int(axis)))
        if len(parts) > 1:
            value = graph.add("Concat", parts, node, axis=int(axis))
    graph.rename(value, node.output[0])
    return True


def _backwards(graph: Graph, node: Any) -> bool:
    """Gathers the rows of a Slice that goes backwards along several dimensions; returns whether it did."""
    shape = graph.shape(node.input[0])
    if shape is None or len(node.input) < 5:
        return False
    given = [graph.constant(name) if name else np.arange(len(shape)) for name in node.input[1:]]
    starts, ends, axes, steps = ([] if each is None else each.tolist() for each in given)
    if not (starts and ends and axes) or sum(step < 0 for step in steps) < 2:
        return False
    value = node.input[0]
    for axis, *bounds in zip(axes, starts, ends, steps, strict=False):
        rows = np.array(_rows(shape[axis], *bounds), np.int64)
        value = graph.add("Gather", (value, rows), node, axis=axis)
    graph.rename(value, node.output[0])
    return True


def _rows(size: int, start: int, end: int, step: int) -> range:
    """Returns which rows a Slice takes. What is too far before the first one stands for it, and for what ends there."""
    first, last = (-1, size - 1) if step < 0 else (0, size)
    start, end = (number + size if number < 0 else number for number in (start, end))
    return range(min(max(start, 0), last), min(max(end, first), size), step)
