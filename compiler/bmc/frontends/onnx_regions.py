"""Writes RoiAlign and DeformConv with gathers, because IREE's importer does not know them.

The formulas are those of the ONNX operator specification, versions 16 and 19, and of onnxruntime where it is silent: a
point up to one pixel outside an image has the value of the edge in a RoiAlign, and a share of it in a DeformConv.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph, attributes

_INT64 = 7


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces a RoiAlign or a DeformConv of known sizes; returns whether it did."""
    made = None
    if node.op_type == "RoiAlign":
        made = _aligned(_Ops(graph, node))
    elif node.op_type == "DeformConv":
        made = _deformed(_Ops(graph, node))
    if made:
        graph.rename(made, node.output[0])
    return bool(made)


class _Ops:
    """Adds nodes in place of one, with numbers of its type."""

    def __init__(self, graph: Graph, node: Any) -> None:
        self.node, self.given = node, attributes(node)
        self._graph = graph
        self.element = graph.element(node.input[0])
        self._dtype = graph.dtype(node.input[0])

    def shape(self, place: int) -> tuple[int, ...] | None:
        return self._graph.shape(self.node.input[place])

    def add(self, kind: str, *inputs: str | Array | float, **given: Any) -> str:
        values = [np.array(i, self._dtype) if isinstance(i, (int, float)) else i for i in inputs]
        return self._graph.add(kind, values, self.node, **given)

    def mixed(self, pixels: str, places: str, weight: str) -> str:
        """Returns weighted rows of pixels [number, channels] for places of any shape: [*shape, channels]."""
        rows = self.add("Gather", pixels, places, axis=0)
        return self.add("Mul", rows, self.add("Unsqueeze", weight, np.array([-1])))


def _aligned(ops: _Ops) -> str | None:
    images, regions = ops.shape(0), ops.shape(1)
    samples = ops.given.get("sampling_ratio", 0)
    if images is None or regions is None or samples < 1:
        return None  # Without a number of samples, it depends on the sizes of the regions.
    batch, channels, height, width = images
    count = regions[0]
    bins = [ops.given.get(f"output_{axis}", 1) for axis in ("height", "width")]
    axes = [
        _samples(ops, place, size, number * samples, number)
        for place, size, number in zip((1, 0), (height, width), bins, strict=True)
    ]
    pixels = ops.add("Transpose", ops.node.input[0], perm=[0, 2, 3, 1])
    pixels = ops.add("Reshape", pixels, np.array([-1, channels]))
    first = ops.add("Mul", ops.add("Cast", ops.node.input[2], to=_INT64), np.array(height * width))
    first = ops.add("Reshape", first, np.array([count, 1, 1]))
    terms = []
    for (row, down), (column, across) in itertools.product(*axes):
        place = ops.add("Mul", ops.add("Unsqueeze", row, np.array([2])), np.array(width))
        place = ops.add("Add", place, ops.add("Unsqueeze", column, np.array([1])))
        pair = [
            ops.add("Unsqueeze", down, np.array([2])),
            ops.add("Unsqueeze", across, np.array([1])),
        ]
        terms.append(ops.mixed(pixels, ops.add("Add", place, first), ops.add("Mul", *pair)))
    is_max = ops.given.get("mode", b"avg") == b"max"
    total = ops.add("Max", *terms) if is_max else _sum(ops, terms)
    within = np.array([count, bins[0], samples, bins[1], samples, channels])
    total = ops.add("Reshape", total, within)
    kind = "ReduceMax" if is_max else "ReduceMean"
    return ops.add(
        "Transpose", ops.add(kind, total, np.array([2, 4]), keepdims=0), perm=[0, 3, 1, 2]
    )


def _samples(ops: _Ops, place: int, size: int, count: int, bins: int) -> list[tuple[str, str]]:
    """Returns the two neighbors, and their weights, of `count` points along one dimension of all regions.

    Args:
      ops: of the RoiAlign.
      place: where a region has its first bound.
      size: of the images.
      count: number of points.
      bins: number of outputs.
    """
    half = ops.given.get("coordinate_transformation_mode", b"half_pixel") == b"half_pixel"
    scale = float(ops.given.get("spatial_scale", 1.0))
    low, high = (
        ops.add("Mul", ops.add("Gather", ops.node.input[1], np.array([each]), axis=1), scale)
        for each in (place, place + 2)
    )
    if half:
        low, high = (ops.add("Sub", each, 0.5) for each in (low, high))
    length = ops.add("Sub", high, low)
    if not half:
        length = ops.add("Max", length, 1.0)
    one = ops.add("Div", length, bins)
    samples = count // bins
    number, part = np.divmod(np.arange(count), samples)
    starts = ops.add("Mul", one, number.astype(np.float32)[None])
    inner = ops.add("Mul", one, (part + np.float32(0.5)).astype(np.float32)[None])
    point = ops.add("Add", ops.add("Add", low, starts), ops.add("Div", inner, samples))
    is_near = ops.add(
        "And", ops.add("GreaterOrEqual", point, -1.0), ops.add("LessOrEqual", point, size)
    )
    near = ops.add("Cast", is_near, to=ops.element)
    inside = ops.add("Min", ops.add("Max", point, 0.0), size - 1)
    first = ops.add("Floor", inside)
    share = ops.add("Sub", inside, first)
    second = ops.add("Min", ops.add("Add", first, 1.0), size - 1)
    weights = (ops.add("Sub", 1.0, share), share)
    return [
        (ops.add("Cast", index, to=_INT64), ops.add("Mul", weight, near))
        for index, weight in zip((first, second), weights, strict=True)
    ]


def _deformed(ops: _Ops) -> str | None:
    images, weights, offsets = (ops.shape(place) for place in range(3))
    if images is None or weights is None or offsets is None or len(images) != 4:
        return None
    batch, channels, *sizes = images
    kernel, taps, out = weights[2:], math.prod(weights[2:]), offsets[2:]
    groups = ops.given.get("offset_group", 1)
    within = [batch, groups, taps, *out]
    moved = ops.add("Reshape", ops.node.input[2], np.array([batch, groups, taps, 2, *out]))
    axes = [
        _moved(ops, ops.add("Gather", moved, np.array(axis), axis=3), axis, size, (kernel, out))
        for axis, size in enumerate(sizes)
    ]
    each = channels // groups
    pixels = ops.add("Reshape", ops.node.input[0], np.array([batch, groups, each, *sizes]))
    pixels = ops.add("Transpose", pixels, perm=[0, 1, 3, 4, 2])
    pixels = ops.add("Reshape", pixels, np.array([-1, each]))
    first = np.arange(batch * groups).reshape(batch, groups, 1, 1, 1) * math.prod(sizes)
    terms = []
    for (row, down), (column, across) in itertools.product(*axes):
        place = ops.add("Add", ops.add("Mul", row, np.array(sizes[1])), column)
        place = ops.add("Add", place, first)
        terms.append(ops.mixed(pixels, place, ops.add("Mul", down, across)))
    value = _sum(ops, terms)
    if len(ops.node.input) > 4 and ops.node.input[4]:
        mask = ops.add("Reshape", ops.node.input[4], np.array([*within, 1]))
        value = ops.add("Mul", value, mask)
    # The columns that the filters multiply, channel after channel.
    value = ops.add("Transpose", value, perm=[0, 1, 5, 2, 3, 4])
    parts = ops.given.get("group", 1)
    value = ops.add(
        "Reshape", value, np.array([batch, parts, channels // parts * taps, math.prod(out)])
    )
    filters = np.array([1, parts, weights[0] // parts, weights[1] * taps])
    value = ops.add("MatMul", ops.add("Reshape", ops.node.input[1], filters), value)
    value = ops.add("Reshape", value, np.array([batch, weights[0], *out]))
    if len(ops.node.input) > 3 and ops.node.input[3]:
        value = ops.add("Add", value, ops.add("Reshape", ops.node.input[3], np.array([-1, 1, 1])))
    return value


def _moved(
    ops: _Ops, offset: str, axis: int, size: int, sizes: tuple[tuple[int, ...], tuple[int, ...]]
) -> list[tuple[str, str]]:
    """Returns the two neighbors, and their weights, of the points along one dimension that a DeformConv reads.

    Args:
      ops: of the DeformConv.
      offset: how far each point is moved, [batch, groups, taps, *out].
      axis: 0 for rows, 1 for columns.
      size: of the images.
      sizes: of the kernel and of the output.
    """
    kernel, out = sizes
    stride, dilation = (ops.given.get(key, [1, 1])[axis] for key in ("strides", "dilations"))
    begin = ops.given.get("pads", [0] * 4)[axis]
    tap = np.unravel_index(np.arange(math.prod(kernel)), kernel)[axis].reshape(-1, 1, 1)
    step = np.indices(out)[axis][None]
    start = (step * stride - begin + tap * dilation).astype(np.float32)[None, None]
    point = ops.add("Add", offset, ops.add("Cast", start, to=ops.element))
    first = ops.add("Floor", point)
    share = ops.add("Sub", point, first)
    neighbors = []
    for index, weight in ((first, ops.add("Sub", 1.0, share)), (ops.add("Add", first, 1.0), share)):
        inside = ops.add("Min", ops.add("Max", index, 0.0), size - 1)
        is_there = ops.add("Cast", ops.add("Equal", inside, index), to=ops.element)
        neighbors.append((ops.add("Cast", inside, to=_INT64), ops.add("Mul", weight, is_there)))
    return neighbors


def _sum(ops: _Ops, terms: list[str]) -> str:
    total = terms[0]
    for term in terms[1:]:
        total = ops.add("Add", total, term)
    return total
