"""Pads images of quantized convolutions in a node of its own, where there is more on one side than on the other.

For such a QLinearConv or ConvInteger, IREE's importer makes a padding without a number and crashes. It takes no
account of their `auto_pad` either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, attributes, set_attributes

# Op -> the places of the weight and of the image's zero point among its inputs.
_PLACES = {"ConvInteger": (1, 2), "QLinearConv": (3, 2)}


def pad(graph: Graph, node: Any) -> None:
    """Gives such a node pads instead of `auto_pad`, and an image that is padded before it if they are uneven."""
    if node.op_type not in _PLACES:
        return
    weight, zero = _PLACES[node.op_type]
    given = attributes(node)
    pads = given.get("pads")
    if given.get("auto_pad", b"NOTSET").startswith(b"SAME"):
        pads = _same(graph.shape(node.input[0]), graph.shape(node.input[weight]), given)
    if not pads:
        return
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        widths = np.array([0, 0, *pads[:half], 0, 0, *pads[half:]], np.int64)
        # Without a zero point it is zero, and so is what Pad takes.
        number = list(node.input)[zero : zero + 1]
        node.input[0] = graph.add("Pad", (node.input[0], widths, *number), node)
        pads = [0] * len(pads)
    set_attributes(node, pads=pads, auto_pad="NOTSET")


def _same(
    image: tuple[int, ...] | None, weight: tuple[int, ...] | None, given: dict[str, Any]
) -> list[int] | None:
    """Returns the pads of `auto_pad`, as the ONNX operator specification computes them; None for an unknown shape.

    There are no dilations: onnxruntime refuses them beside it.
    """
    if image is None or weight is None:
        return None
    strides = given.get("strides", [1] * (len(image) - 2))
    totals = [
        max((-(-size // stride) - 1) * stride + kernel - size, 0)
        for size, kernel, stride in zip(image[2:], weight[2:], strides, strict=True)
    ]
    less, more = [total // 2 for total in totals], [-(-total // 2) for total in totals]
    is_lower = given["auto_pad"] == b"SAME_LOWER"
    return [*more, *less] if is_lower else [*less, *more]
