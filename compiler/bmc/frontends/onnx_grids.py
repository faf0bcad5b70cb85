"""Writes GridSample with gathers, because IREE's importer knows only some of its modes, and gets zeros around wrong.

The formulas are those of the ONNX operator specification, version 20.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph, attributes

_MODES = {b"bilinear": b"linear", b"bicubic": b"cubic"}
# The coefficient of the cubic kernel.
_A = -0.75


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces a GridSample of known sizes; returns whether it did."""
    if node.op_type != "GridSample":
        return False
    shape, places = graph.shape(node.input[0]), graph.shape(node.input[1])
    if shape is None or places is None or graph.dtype(node.input[0]).kind != "f":
        return False
    sampler = _Sampler(graph, node, shape, places)
    graph.rename(sampler.sampled(), node.output[0])
    return True


@dataclass(frozen=True)
class _Neighbor:
    """A row of pixels along one dimension: its index as a float, and its weight, "" for 1."""

    index: str
    weight: str


class _Sampler:
    """Builds the ops; values are vectors with an element for each sampled point of all images."""

    def __init__(
        self, graph: Graph, node: Any, shape: tuple[int, ...], places: tuple[int, ...]
    ) -> None:
        given = attributes(node)
        mode = given.get("mode", b"linear")
        self._graph, self._node = graph, node
        self._batch, self._channels, *self._sizes = shape
        self._points = places[1:-1]
        self._mode = _MODES.get(mode, mode)
        self._padding = given.get("padding_mode", b"zeros")
        self._corners = bool(given.get("align_corners", 0))
        self._dtype = graph.dtype(node.input[0])

    def sampled(self) -> str:
        """Returns the images, N x C x the points."""
        dims, count = len(self._sizes), self._batch * math.prod(self._points)
        grid = self._add("Cast", self._node.input[1], to=self._graph.element(self._node.input[0]))
        grid = self._add("Reshape", grid, np.array([count, dims]))
        axes = [
            # The last coordinate of the grid is for the first dimension.
            self._neighbors(self._add("Gather", grid, np.array(dims - 1 - axis), axis=1), size)
            for axis, size in enumerate(self._sizes)
        ]
        order = [0, *range(2, dims + 2), 1]
        pixels = self._add("Transpose", self._node.input[0], perm=order)
        pixels = self._add("Reshape", pixels, np.array([-1, self._channels]))
        terms = [self._term(pixels, chosen) for chosen in itertools.product(*axes)]
        total = terms[0]
        for term in terms[1:]:
            total = self._add("Add", total, term)
        total = self._add("Reshape", total, np.array([self._batch, -1, self._channels]))
        total = self._add("Transpose", total, perm=[0, 2, 1])
        return self._add("Reshape", total, np.array([self._batch, self._channels, *self._points]))

    def _term(self, pixels: str, chosen: tuple[_Neighbor, ...]) -> str:
        count = math.prod(self._points)
        first = np.repeat(np.arange(self._batch) * math.prod(self._sizes), count)
        place: str | Array = first
        weight = ""
        for axis, neighbor in enumerate(chosen):
            index = self._add("Cast", neighbor.index, to=7)  # int64
            step = np.array(math.prod(self._sizes[axis + 1 :]))
            place = self._add("Add", place, self._add("Mul", index, step))
            if neighbor.weight:
                weight = self._add("Mul", weight, neighbor.weight) if weight else neighbor.weight
        found = self._add("Gather", pixels, place, axis=0)
        if not weight:
            return found
        return self._add("Mul", found, self._add("Reshape", weight, np.array([-1, 1])))

    def _neighbors(self, place: str, size: int) -> list[_Neighbor]:
        half = (size - 1) / 2 if self._corners else size / 2
        place = self._add("Add", self._add("Mul", place, half), (size - 1) / 2)
        if self._mode != b"cubic":
            place = self._inside(place, size)
        if self._mode == b"nearest":
            return [self._neighbor(self._add("Round", place), "", size)]
        low = self._add("Floor", place)
        part = self._add("Sub", place, low)
        if self._mode == b"linear":
            weights = {0: self._add("Sub", 1, part), 1: part}
        else:
            weights = {offset: self._cubic(part, offset) for offset in (-1, 0, 1, 2)}
        return [
            self._neighbor(self._add("Add", low, offset) if offset else low, weight, size)
            for offset, weight in weights.items()
        ]

    def _cubic(self, part: str, offset: int) -> str:
        """Returns the kernel at a distance of `offset` pixels and the fraction `part`."""
        distance = self._add("Abs", self._add("Sub", offset, part))
        near = offset in (0, 1)
        factors = (_A + 2, -_A - 3, 0, 1) if near else (_A, -5 * _A, 8 * _A, -4 * _A)
        value: str | float = factors[0]
        for factor in factors[1:]:
            value = self._add("Add", self._add("Mul", value, distance), factor)
        return str(value)

    def _neighbor(self, index: str, weight: str, size: int) -> _Neighbor:
        if self._mode == b"cubic":
            index = self._inside(index, size)
        inside = self._add("Min", self._add("Max", index, 0), size - 1)
        if self._padding == b"zeros":
            is_there = self._add("Equal", inside, index)
            mask = self._add("Cast", is_there, to=self._graph.element(self._node.input[0]))
            weight = self._add("Mul", weight, mask) if weight else mask
        return _Neighbor(inside, weight)

    def _inside(self, place: str, size: int) -> str:
        """Returns a place or an index after padding, which does nothing to zeros."""
        if self._padding == b"reflection":
            low, span = (0.0, size - 1.0) if self._corners else (-0.5, float(size))
            if not span:
                return self._add("Mul", place, 0)
            from_low = self._add("Abs", self._add("Sub", place, low))
            turns = self._add("Floor", self._add("Mul", from_low, 1 / (2 * span)))
            rest = self._add("Sub", from_low, self._add("Mul", turns, 2 * span))
            # Behind the far end it comes back.
            back = self._add("Min", rest, self._add("Sub", 2 * span, rest))
            place = self._add("Add", back, low)
        if self._padding == b"zeros":
            return place
        return self._add("Min", self._add("Max", place, 0), size - 1)

    def _add(self, kind: str, *inputs: str | Array | float, **given: Any) -> str:
        values = [np.array(i, self._dtype) if isinstance(i, (int, float)) else i for i in inputs]
        return self._graph.add(kind, values, self._node, **given)
