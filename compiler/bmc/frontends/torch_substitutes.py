"""Replaces ops that torch-mlir lowers wrongly or not at all.

- A depthwise transposed convolution cannot become linalg. It is a convolution of the operand with zeros between and
  around its elements.
- A roll by more than a dimension's size takes the elements from the wrong places, and one of all elements has no
  lowering.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends.torch_windows import arguments, call


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program."""
    import torch

    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.roll.default:
            _roll(program.graph, node)
        elif node.target is torch.ops.aten.convolution.default:
            given = arguments(node)
            if given["transposed"] and _is_depthwise(given):
                _spread(program.graph, node, given)
    program.graph_module.recompile()


def _roll(graph: Any, node: Any) -> None:
    import torch

    aten = torch.ops.aten
    x, shifts, *dims = node.args
    shape = x.meta["val"].shape
    if dims and dims[0]:
        shifts = [shift % max(shape[dim], 1) for shift, dim in zip(shifts, *dims, strict=True)]
        node.args = (x, shifts, *dims)
        return
    flat = call(graph, node, aten.reshape.default, (x, [-1]))
    rolled = call(graph, node, aten.roll.default, (flat, [shifts[0] % max(shape.numel(), 1)], [0]))
    node.replace_all_uses_with(call(graph, node, aten.reshape.default, (rolled, list(shape))))
    graph.erase_node(node)


def _is_depthwise(given: dict[str, Any]) -> bool:
    channels, outputs, *_ = given["weight"].meta["val"].shape
    return bool(given["groups"] == channels > 1 == outputs)


def _spread(graph: Any, node: Any, given: dict[str, Any]) -> None:
    import torch

    aten = torch.ops.aten
    x, weight = given["input"], given["weight"]
    batch, channels, *sizes = x.meta["val"].shape
    strides, dims = given["stride"], range(2, len(sizes) + 2)
    # Each element gets an axis of its own, which ends with the zeros before the next element.
    split = [part for size in sizes for part in (size, 1)]
    gaps = [part for stride in reversed(strides) for part in (0, stride - 1, 0, 0)]
    spread = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    x = call(graph, node, aten.reshape.default, (x, [batch, channels, *split]))
    x = call(graph, node, aten.constant_pad_nd.default, (x, gaps, 0.0))
    x = call(graph, node, aten.reshape.default, (x, [batch, channels, *spread]))
    pads: list[int] = []
    for axis, size, stride, kernel, dilation, padding, more in zip(
        dims, spread, strides, weight.meta["val"].shape[2:],
        given["dilation"], given["padding"], given["output_padding"], strict=True,
    ):  # fmt: skip
        low = dilation * (kernel - 1) - padding
        high = low + more - (stride - 1)
        x = call(graph, node, aten.slice.Tensor, (x, axis, max(-low, 0), size + min(high, 0)))
        pads = [max(low, 0), max(high, 0), *pads]
    x = call(graph, node, aten.constant_pad_nd.default, (x, pads, 0.0))
    flipped = call(graph, node, aten.flip.default, (weight, list(dims)))
    ones, zeros = [1] * len(dims), [0] * len(dims)
    node.args = (
        x, flipped, given["bias"], ones, zeros, given["dilation"], False, zeros, given["groups"]
    )  # fmt: skip
    node.kwargs = {}
