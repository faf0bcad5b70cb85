"""Writes a Resize as one product or gather for each dimension, in the modes that IREE's importer does not know.

Along a dimension, a Resize is linear, and its coefficients depend on sizes alone. The formulas are those of the ONNX
operator specification, version 19.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph, attributes

# Attributes that the importer does not know, with the values that it takes for granted.
_USUAL = {
    "antialias": 0,
    "axes": None,
    "exclude_outside": 0,
    "keep_aspect_ratio_policy": b"stretch",
}
_ALIGNED, _CROP, _SYMMETRIC = b"align_corners", b"tf_crop_and_resize", b"half_pixel_symmetric"


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces a Resize of known sizes in such a mode; returns whether it did."""
    if node.op_type != "Resize":
        return False
    given = attributes(node)
    mode = given.get("mode", b"nearest")
    shape, made = graph.shape(node.input[0]), graph.shape(node.output[0])
    if (
        shape is None
        or made is None
        or (graph.dtype(node.input[0]).kind != "f" and mode != b"nearest")
    ):
        return False
    place = given.get("coordinate_transformation_mode", b"half_pixel")
    is_known = place not in (_CROP, _SYMMETRIC) and not (place == _ALIGNED and mode == b"nearest")
    if is_known and all(given.get(name, usual) == usual for name, usual in _USUAL.items()):
        return False
    axes = _axes(graph, node, given, shape, made)
    if axes is None:
        return False
    value, sizes, mask = node.input[0], list(shape), np.ones((), bool)
    for number, axis in enumerate(axes):
        if axis.changes:
            value = _resized(graph, node, value, sizes, number, axis)
            mask = mask & axis.inside.reshape([-1, *[1] * (len(shape) - 1 - number)])
    if not mask.all():
        dtype = graph.dtype(node.input[0])
        value = graph.add("Mul", (value, mask.astype(dtype)), node)
        rest = (given.get("extrapolation_value", 0.0) * ~mask).astype(dtype)
        value = graph.add("Add", (value, rest), node)
    if value == node.input[0]:
        value = graph.add("Identity", (value,), node)
    graph.rename(value, node.output[0])
    return True


def _resized(
    graph: Graph, node: Any, value: str, sizes: list[int], number: int, axis: _Axis
) -> str:
    """Resizes one dimension; `sizes` gets the new one."""
    if axis.picks is not None:
        sizes[number] = axis.count
        return graph.add("Gather", (value, axis.picks), node, axis=number)
    before, after = sizes[:number], sizes[number + 1 :]
    flat = np.array([math.prod(before), sizes[number], math.prod(after)])
    value = graph.add("Reshape", (value, flat), node)
    matrix = axis.matrix.astype(graph.dtype(node.input[0]))
    value = graph.add("MatMul", (matrix, value), node)
    sizes[number] = axis.count
    return graph.add("Reshape", (value, np.array(sizes)), node)


def _axes(
    graph: Graph, node: Any, given: dict[str, Any], shape: tuple[int, ...], made: tuple[int, ...]
) -> list[_Axis] | None:
    """Returns what is to do along each dimension, None if an input decides it."""
    chosen = [axis % len(shape) for axis in given.get("axes", range(len(shape)))]
    names = [*node.input[1:], "", "", ""][:3]
    found = [graph.constant(name) if name else None for name in names]
    if any(name and value is None for name, value in zip(names, found, strict=True)):
        return None
    region, factors, wanted = (
        None if value is None or not value.size else value for value in found
    )
    if factors is not None:
        scales = dict(zip(chosen, map(float, factors), strict=True))
    elif wanted is not None:
        ratios = {axis: int(size) / shape[axis] for axis, size in zip(chosen, wanted, strict=True)}
        policy = given.get("keep_aspect_ratio_policy", b"stretch")
        if policy != b"stretch":
            one = (min if policy == b"not_larger" else max)(ratios.values())
            ratios = dict.fromkeys(chosen, one)
        scales = ratios
    else:
        return None
    starts = dict.fromkeys(chosen, (0.0, 1.0))
    if region is not None:
        half = len(chosen)
        starts = {
            axis: (float(region[i]), float(region[half + i])) for i, axis in enumerate(chosen)
        }
    return [
        _Axis(
            given, size, count, scales.get(axis, 1.0), starts.get(axis, (0.0, 1.0)), axis in chosen
        )
        for axis, (size, count) in enumerate(zip(shape, made, strict=True))
    ]


class _Axis:
    """The coefficients along a dimension.

    Attributes:
      count: how many elements it gets.
      changes: whether anything is to do.
      inside: for each of them, whether its place is in the image.
      picks: the index that each of them has, for a mode that picks one; otherwise None.
      matrix: count x size; empty if there are `picks`.
    """

    def __init__(
        self,
        given: dict[str, Any],
        size: int,
        count: int,
        scale: float,
        region: tuple[float, float],
        chosen: bool,
    ) -> None:
        self.count = count
        self._given, self._size, self._scale = given, size, scale
        transformation = given.get("coordinate_transformation_mode", b"half_pixel")
        places = self._places(transformation, region)
        self.changes = chosen and (count != size or not np.array_equal(places, np.arange(size)))
        self.inside = np.ones(count, bool)
        if transformation == _CROP:
            self.inside = (places >= 0) & (places <= size - 1)
        mode = given.get("mode", b"nearest")
        self.picks = self._nearest(places) if mode == b"nearest" else None
        self.matrix = (
            np.zeros((0, 0)) if self.picks is not None else self._weights(places, mode == b"cubic")
        )

    def _places(self, transformation: bytes, region: tuple[float, float]) -> Array:
        """Returns where each new element lies among the old ones."""
        new, last = np.arange(self.count, dtype=np.float64), self._size - 1
        length = self._scale * self._size
        if transformation == b"asymmetric":
            return np.asarray(new / self._scale)
        if transformation == _ALIGNED:
            # onnxruntime takes the whole size, where the specification has size times scale.
            return np.asarray(new * last / max(self.count - 1, 1))
        if transformation == _CROP:
            start, end = region
            if self.count == 1:
                return np.asarray(new + 0.5 * (start + end) * last)
            return np.asarray(start * last + new * (end - start) * last / (length - 1))
        if transformation == b"pytorch_half_pixel" and length <= 1:
            return np.asarray(new * 0 - 0.5)
        half = (new + 0.5) / self._scale - 0.5
        if transformation == _SYMMETRIC:
            half += self._size / 2 * (1 - self.count / length)
        return np.asarray(half)

    def _nearest(self, places: Array) -> Array:
        rule = self._given.get("nearest_mode", b"round_prefer_floor")
        picks = {
            b"ceil": np.ceil(places),
            b"floor": np.floor(places),
            b"round_prefer_ceil": np.floor(places + 0.5),
            b"round_prefer_floor": np.ceil(places - 0.5),
        }[rule]
        return np.clip(picks, 0, self._size - 1).astype(np.int64)

    def _weights(self, places: Array, is_cubic: bool) -> Array:
        reach = 2 if is_cubic else 1
        # Antialiasing makes the kernel as wide as the distance between two new elements.
        narrow = min(self._scale, 1.0) if self._given.get("antialias") else 1.0
        wide = math.ceil(reach / narrow)
        low = np.floor(places)
        indices = low[:, None] + np.arange(1 - wide, wide + 1)
        distance = np.abs(indices - places[:, None]) * narrow
        weights = self._cubic(distance) if is_cubic else np.maximum(0, 1 - distance)
        if self._given.get("exclude_outside"):
            weights *= (indices >= 0) & (indices < self._size)
        if narrow < 1 or self._given.get("exclude_outside"):
            weights /= weights.sum(1, keepdims=True)
        matrix = np.zeros((self.count, self._size))
        rows = np.broadcast_to(np.arange(self.count)[:, None], indices.shape)
        clipped = np.clip(indices, 0, self._size - 1).astype(np.int64)
        np.add.at(matrix, (rows, clipped), weights)
        return matrix

    def _cubic(self, distance: Array) -> Array:
        a = float(self._given.get("cubic_coeff_a", -0.75))
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
