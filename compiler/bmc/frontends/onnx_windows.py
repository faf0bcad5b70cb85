"""Writes ops whose windows IREE's importer lacks, or gets wrong, with others.

- It knows neither Col2Im nor MaxUnpool. Places of a MaxPool it counts in each channel, and not by columns.
- Where a MaxPool is padded unevenly, it pads floats with the least f64, which IREE cannot compile beside other f64, and
  quantized numbers with zeros, and counts places in the padded image. It finds no places of integers, and takes
  unsigned bytes for signed ones.
- It has no LpPool with dilations or `auto_pad`, and no ConvTranspose with `auto_pad`.
- IREE cannot compile a ConvTranspose with groups.
- It leaves out the last windows of a MaxPool that `ceil_mode` adds, if there is one without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, Maker, attributes, set_attributes

_PADS_KNOWN = (b"NOTSET", b"VALID")


def rewrite(graph: Graph, node: Any) -> bool:
    """Replaces such an op of known sizes, or changes its attributes; returns whether it did the former."""
    makers: dict[str, Maker] = {
        "Col2Im": _image,
        "ConvTranspose": _transposed,
        "LpPool": _norms,
        "MaxPool": _maxima,
        "MaxUnpool": _unpooled,
    }
    return graph.replaced(node, makers)


def _pads(graph: Graph, node: Any, shape: tuple[int, ...]) -> list[int] | None:
    """Returns the pads of a pool with which its windows need no rounding; those behind may cut. None if not known."""
    given, made = attributes(node), graph.shape(node.output[0])
    if made is None:
        return None
    kernel = given["kernel_shape"]
    dims, how = len(kernel), given.get("auto_pad", b"NOTSET")
    strides, dilations = (given.get(key, [1] * dims) for key in ("strides", "dilations"))
    before = list(given.get("pads", [0] * dims)[:dims])
    after = []
    for axis in range(dims):
        covered = (kernel[axis] - 1) * dilations[axis] + 1
        total = (made[2 + axis] - 1) * strides[axis] + covered - shape[2 + axis]
        if how not in _PADS_KNOWN:
            before[axis] = (max(total, 0) + (how == b"SAME_LOWER")) // 2
        after.append(total - before[axis])
    return before + after


def _maxima(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    """Pads for the windows that `ceil_mode` or `auto_pad` add. Returns the maxima where the importer is wrong."""
    from onnx import TensorProto

    given = attributes(node)
    same = given.get("auto_pad", b"NOTSET") not in _PADS_KNOWN
    if (same or given.get("ceil_mode")) and (pads := _pads(graph, node, shape)) is not None:
        set_attributes(node, pads=[max(pad, 0) for pad in pads], ceil_mode=0, auto_pad="NOTSET")
    kept, dims = attributes(node), len(shape) - 2
    pads, image, element = kept.get("pads", []), node.input[0], graph.element(node.input[0])
    is_uneven, finds = pads[:dims] != pads[dims:], len(node.output) > 1
    is_float = graph.dtype(image).kind == "f"
    is_wide = not is_float and (finds or element == TensorProto.UINT8)
    if not (is_uneven or finds or is_wide):
        return ""
    if is_wide:
        image = graph.add("Cast", (image,), node, to=TensorProto.FLOAT)
    if is_uneven:
        behind = np.array([0, 0, *kept.pop("pads")[:dims], 0, 0, *pads[dims:]])
        number = -np.inf if is_float or is_wide else np.iinfo(graph.dtype(image)).min
        least = np.array(number).astype(np.float32 if is_wide else graph.dtype(image))
        image = graph.add("Pad", (image, behind, least), node)
    by_columns = kept.pop("storage_order", 0) and len(shape) == 4
    maxima = graph.add("MaxPool", (image,), node, **kept)
    pool = graph.nodes[-1]
    if is_wide:
        # The importer's own bytes of floats end at 127.
        whole = graph.add("Cast", (maxima,), node, to=TensorProto.INT32)
        maxima = graph.add("Cast", (whole,), node, to=element)
    if not finds:
        return maxima
    place = graph.new(node)
    pool.output.append(place)
    if is_uneven:
        place = _unpadded(graph, node, place, shape[2:], pads)
    if by_columns:
        height, width = (np.array(size) for size in shape[2:])
        row, column = (graph.add(kind, (place, width), node) for kind in ("Div", "Mod"))
        place = graph.add("Add", (row, graph.add("Mul", (column, height), node)), node)
    # The importer counts from the start of each channel.
    channels = np.arange(shape[0] * shape[1]) * int(np.prod(shape[2:]))
    starts = channels.reshape(*shape[:2], *[1] * (len(shape) - 2))
    graph.rename(graph.add("Add", (place, starts), node), node.output[1])
    return graph.add("Identity", (maxima,), node)


def _unpadded(graph: Graph, node: Any, place: str, sizes: tuple[int, ...], pads: list[int]) -> str:
    """Returns places of a padded image, counted in each channel, as those of the image."""
    dims, made = len(sizes), ""
    for axis in reversed(range(dims)):
        padded = np.array(sizes[axis] + pads[axis] + pads[dims + axis])
        number = graph.add("Mod", (place, padded), node)
        place = graph.add("Div", (place, padded), node)
        number = graph.add("Sub", (number, np.array(pads[axis])), node)
        number = graph.add("Mul", (number, np.array(int(np.prod(sizes[axis + 1 :])))), node)
        made = graph.add("Add", (made, number), node) if made else number
    return made


def _norms(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    """Adds up powers of the elements of each window."""
    given, pads = attributes(node), _pads(graph, node, shape)
    kernel = given["kernel_shape"]
    dims = len(kernel)
    dilations, order = given.get("dilations", [1] * dims), given.get("p", 2)
    usual = given.get("auto_pad", b"NOTSET") in _PADS_KNOWN and not given.get("ceil_mode")
    if pads is None or (usual and set(dilations) == {1}):
        return ""
    dtype = graph.dtype(node.input[0])
    x = node.input[0]
    if min(pads) < 0:
        ends = np.array(shape[2:]) + np.minimum(pads[dims:], 0)
        x = graph.add("Slice", (x, np.zeros(dims, np.int64), ends, np.arange(2, dims + 2)), node)
    powers = graph.add("Mul", (x, x), node)
    if order != 2:
        powers = graph.add("Pow", (graph.add("Abs", (x,), node), np.array(order, dtype)), node)
    ones = np.ones((shape[1], 1, *kernel), dtype)
    settings = {"strides": given.get("strides", [1] * dims), "dilations": dilations}
    inner = [max(pad, 0) for pad in pads]
    total = graph.add("Conv", (powers, ones), node, group=shape[1], pads=inner, **settings)
    if order == 2:
        return graph.add("Sqrt", (total,), node)
    return graph.add("Pow", (total, np.array(1 / order, dtype)), node)


def _transposed(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    given, made = attributes(node), graph.shape(node.output[0])
    weight = graph.shape(node.input[1])
    if made is None or weight is None:
        return ""
    kernel, dims, group = weight[2:], len(shape) - 2, given.get("group", 1)
    strides, dilations = (given.get(key, [1] * dims) for key in ("strides", "dilations"))
    more = given.get("output_padding", [0] * dims)
    how = given.get("auto_pad", b"NOTSET")
    if (how in _PADS_KNOWN and "output_shape" not in given) and group == 1:
        return ""
    before = list(given.get("pads", [0] * dims)[:dims])
    covered = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    for axis in range(dims):
        whole = (shape[2 + axis] - 1) * strides[axis] + covered[axis] + more[axis]
        total = whole - made[2 + axis]
        if total < 0:
            return ""
        if how not in _PADS_KNOWN or "output_shape" in given:
            before[axis] = total // 2 if how == b"SAME_UPPER" else total - total // 2
    if group == 1:
        kept = {"strides": strides, "dilations": dilations, "output_padding": more}
        result = graph.add("ConvTranspose", node.input, node, **kept)
    else:
        result = _grouped(graph, node, shape, (strides, covered, more, group))
    ends = np.array(before) + np.array(made[2:])
    return graph.add("Slice", (result, np.array(before), ends, np.arange(2, dims + 2)), node)


def _grouped(
    graph: Graph,
    node: Any,
    shape: tuple[int, ...],
    sizes: tuple[list[int], list[int], list[int], int],
) -> str:
    """Returns a transposed convolution without pads: one with the turned filters, of an image with zeros between."""
    strides, covered, more, group = sizes
    dims = len(strides)
    weight = graph.shape(node.input[1]) or ()
    x, image = node.input[0], list(shape)
    if max(strides) > 1:
        apart = [number for size in shape[2:] for number in (size, 1)]
        x = graph.add("Reshape", (x, np.array([*shape[:2], *apart])), node)
        zeros = [number for stride in strides for number in (0, stride - 1)]
        behind = np.concatenate([np.zeros(4 + len(zeros), np.int64), zeros])
        x = graph.add("Pad", (x, behind), node)
        image = [*shape[:2], *(size * s for size, s in zip(shape[2:], strides, strict=True))]
        x = graph.add("Reshape", (x, np.array(image)), node)
    parts = (group, weight[0] // group, *weight[1:])
    filters = graph.add("Reshape", (node.input[1], np.array(parts)), node)
    order = [0, 2, 1, *range(3, 3 + dims)]
    filters = graph.add("Transpose", (filters,), node, perm=order)
    turned = (group * weight[1], weight[0] // group, *weight[2:])
    filters = graph.add("Reshape", (filters, np.array(turned)), node)
    for axis in range(2, 2 + dims):
        backwards = np.arange(weight[axis])[::-1].copy()
        filters = graph.add("Gather", (filters, backwards), node, axis=axis)
    edges = [each - 1 for each in covered]
    # There are already zeros behind the last element.
    after = [e + m - (s - 1) for e, m, s in zip(edges, more, strides, strict=True)]
    if min(after) < 0:
        ends = np.array(image[2:]) + np.minimum(after, 0)
        x = graph.add("Slice", (x, np.zeros(dims, np.int64), ends, np.arange(2, dims + 2)), node)
    pads = edges + [max(each, 0) for each in after]
    dilations = attributes(node).get("dilations", [1] * dims)
    inputs = (x, filters, *node.input[2:])
    return graph.add("Conv", inputs, node, group=group, pads=pads, dilations=dilations)


def _unpooled(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    """Scatters maxima to their places among zeros; a larger output is padded behind them."""
    given = attributes(node)
    dims = len(shape) - 2
    strides = given.get("strides", [1] * dims)
    pads = given.get("pads", [0] * 2 * dims)
    sizes = [
        (size - 1) * stride + kernel - low - high
        for size, stride, kernel, low, high in zip(
            shape[2:], strides, given["kernel_shape"], pads[:dims], pads[dims:], strict=True
        )
    ]
    image = (*shape[:2], *sizes)
    made = image
    if len(node.input) > 2:
        wanted = graph.constant(node.input[2])
        if wanted is None:
            return ""
        made = tuple(wanted.tolist())
    flat = np.array([-1])
    zeros = np.zeros(int(np.prod(image)), graph.dtype(node.input[0]))
    maxima, places = (graph.add("Reshape", (name, flat), node) for name in node.input[:2])
    result = graph.add("ScatterElements", (zeros, places, maxima), node, axis=0)
    result = graph.add("Reshape", (result, np.array(image)), node)
    if made != image:
        behind = [0] * len(image) + [m - i for m, i in zip(made, image, strict=True)]
        result = graph.add("Pad", (result, np.array(behind)), node)
    return result


def _image(graph: Graph, node: Any, shape: tuple[int, ...]) -> str:
    """Adds up overlapping blocks by a transposed convolution that copies each element of a block to its place."""
    sizes, block = (graph.constant(name) for name in node.input[1:])
    if sizes is None or block is None:
        return ""
    given, dims = attributes(node), len(block)
    strides, dilations = (given.get(key, [1] * dims) for key in ("strides", "dilations"))
    pads = given.get("pads", [0] * 2 * dims)
    count = int(block.prod())
    covered = (block - 1) * np.array(dilations) + 1
    padded = sizes + np.array(pads[:dims]) + np.array(pads[dims:])
    blocks = (padded - covered) // np.array(strides) + 1
    batch, channels = shape[0], shape[1] // count
    x = graph.add("Reshape", (node.input[0], np.array([batch * channels, count, *blocks])), node)
    copies = np.eye(count, dtype=graph.dtype(node.input[0])).reshape(count, 1, *block)
    whole = graph.add("ConvTranspose", (x, copies), node, strides=strides, dilations=dilations)
    made = (blocks - 1) * np.array(strides) + covered
    behind = np.maximum(np.array(pads[:dims]) + sizes - made, 0)
    if behind.any():  # elements that no block has
        zeros = np.concatenate([np.zeros(dims + 4, np.int64), behind])
        whole = graph.add("Pad", (whole, zeros), node)
    bounds = np.array(pads[:dims]), np.array(pads[:dims]) + sizes, np.arange(2, dims + 2)
    image = graph.add("Slice", (whole, *bounds), node)
    return graph.add("Reshape", (image, np.array([batch, channels, *sizes])), node)
