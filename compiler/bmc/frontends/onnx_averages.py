"""Writes average pools as sums and divisions where IREE's importer gets them wrong.

It takes no account of dilations, and divides the windows at the end that `ceil_mode` adds by all of their elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.dtype import Array
from bmc.frontends.onnx_graph import Graph, attributes


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such an AveragePool of known sizes; returns whether it did."""
    if node.op_type != "AveragePool":
        return False
    given = attributes(node)
    image, made = graph.shape(node.input[0]), graph.shape(node.output[0])
    if (
        image is None
        or made is None
        or 0 in made
        or given.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID")
    ):
        return False
    kernel = given["kernel_shape"]
    dims = len(kernel)
    strides, dilations = (given.get(key, [1] * dims) for key in ("strides", "dilations"))
    pads = given.get("pads", [0] * 2 * dims)
    axes = [
        _Axis(*each)
        for each in zip(
            image[2:], made[2:], kernel, strides, dilations, pads, pads[dims:], strict=False
        )
    ]
    if all(axis.dilation == 1 and not axis.over for axis in axes):
        return False
    ends = np.array([axis.size - max(-axis.missing, 0) for axis in axes])
    x = node.input[0]
    if any(axis.missing < 0 for axis in axes):
        x = graph.add("Slice", (x, np.zeros(dims, np.int64), ends, np.arange(2, dims + 2)), node)
    dtype = graph.dtype(node.input[0])
    total = graph.add(
        "Conv",
        (x, np.ones((image[1], 1, *kernel), dtype)),
        node,
        group=image[1],
        strides=strides,
        dilations=dilations,
        pads=[*(axis.before for axis in axes), *(max(axis.missing, 0) for axis in axes)],
    )
    counted: Array = np.ones((1,), dtype)
    for axis in axes:
        counted = counted[..., None] * axis.counted(bool(given.get("count_include_pad"))).astype(
            dtype
        )
    graph.rename(graph.add("Div", (total, counted[None]), node), node.output[0])
    return True


class _Axis:
    """The windows along a dimension of an image."""

    def __init__(
        self,
        size: int,
        count: int,
        kernel: int,
        stride: int,
        dilation: int,
        before: int,
        after: int,
    ) -> None:
        self.size, self.dilation, self.before, self._after = size, dilation, before, after
        starts = np.arange(count)[:, None] * stride - before
        self._places = starts + np.arange(kernel) * dilation
        # By how much the last window ends behind the image, or before its end.
        self.missing = int(self._places[-1, -1]) + 1 - size

    @property
    def over(self) -> bool:
        """Whether the last window ends behind the padding."""
        return self.missing > self._after

    def counted(self, with_padding: bool) -> Array:
        """Returns how many elements of each window count."""
        first, last = (-self.before, self.size + self._after) if with_padding else (0, self.size)
        return np.asarray(((self._places >= first) & (self._places < last)).sum(1))
