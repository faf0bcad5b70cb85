"""Transposed convolutions stop multiplying the zeros that stand between the pixels of their image.

All frameworks write a transposed convolution with stride s as a convolution of an image with s - 1 zeros between its
pixels. Only every s-th tap of a window meets a pixel, and the same taps do again s pixels further on. So each pixel of
the image itself gives s results, its phases, and each phase has taps of its own: the product of [y, x, channel] and
[taps, channel, phase, channel] is [y, phase, x, phase, channel], which lies in memory as the whole result does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.dtype import Array
from bmc.ir import build, constant_arrays, contraction, ir_util, names, pad, permute

_PARALLEL, _REDUCTION = (f"#linalg.iterator_type<{kind}>" for kind in ("parallel", "reduction"))


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of the image, along which the window slides.

    Attributes:
      dimension: its number in the image.
      loop, tap: loops of the convolution over the result and the window; no tap if the window has one column.
      pixels: pixels of the image.
      stride: distance of the pixels between zeros.
      low: zeros before the first pixel.
      window: taps of the window.
      length: pixels of the result.
    """

    dimension: int
    loop: int
    tap: int | None
    pixels: int
    stride: int
    low: int
    window: int
    length: int

    @property
    def lead(self) -> int:
        """Results that are computed before the first one, so that the phases share a window with the fewest taps."""
        return min(range(self.stride), key=self._taps)

    @property
    def taps(self) -> int:
        """Taps of a phase."""
        return self._taps(self.lead)

    @property
    def blocks(self) -> int:
        """Groups of one result of each phase."""
        return math.ceil((self.length + self.lead) / self.stride)

    @property
    def before(self) -> int:
        """Zeros that the image needs before its first pixel."""
        return (self.lead + self.low) // self.stride

    @property
    def behind(self) -> int:
        """Zeros that the image needs behind its last pixel."""
        return self.blocks + self.taps - 1 - self.before - self.pixels

    def old_tap(self, tap: int, phase: int) -> int:
        """The tap of the window that meets a pixel where a phase has its own; it may be outside of the window."""
        return self.lead + self.low - phase + self.stride * (tap - self.before)

    def _taps(self, lead: int) -> int:
        first = -((lead + self.low) // self.stride)
        return (self.window + self.stride - 2 - lead - self.low) // self.stride - first + 1


@dataclass(frozen=True)
class _Transposed:
    """A transposed convolution.

    Attributes:
      image: the tensor without zeros.
      zero: the scalar between its pixels.
      start: the scalar that the sums start from.
      axes: those along which the window slides, in the order of the result.
      inner: dimension of the image with its channels.
      channel: loop over the output channels.
      weight: the weights, whose axes are taps, input channels, output channels.
    """

    image: Any
    zero: Any
    start: Any
    axes: tuple[_Axis, ...]
    inner: int
    channel: int
    weight: Array


def apply(module: Any, _: object) -> None:
    """Rewrites convolutions of images with zeros between their pixels, whose weights are constant."""
    for op in ir_util.all_of(module, names.GENERIC):
        found = _read(op, module)
        if found is not None:
            _rewrite(op, found)


def _read(op: ir_util.Op, module: Any) -> _Transposed | None:
    product = contraction.read(op)
    spread = _spread(op.operands[0]) if product is not None else None
    if product is None or spread is None:
        return None
    start = ir_util.definition(op.operands[2])
    if start is None or start.name != names.FILL:
        return None
    image, zero, lows, strides = spread
    extents = contraction.extents(op)
    places: dict[int, _Axis] = {}
    inner = []
    for dimension, axis in enumerate(product.a):
        if axis.loop not in product.result and axis.is_plain:
            inner.append(dimension)
        elif (axis.stride, axis.dilation) == (1, 1) and axis.loop in product.result:
            places[axis.loop] = _Axis(
                dimension,
                axis.loop,
                axis.tap,
                image.type.shape[dimension],
                strides[dimension],
                lows[dimension],
                1 if axis.tap is None else extents[axis.tap],
                extents[axis.loop],
            )
    axes = tuple(places[loop] for loop in product.result if loop in places)
    channels = [loop for loop in product.result if loop not in places]
    taps = [axis.tap for axis in axes if axis.tap is not None]
    if len(inner) != 1 or len(channels) != 1 or len(axes) + 1 != len(product.a):
        return None
    order = [*taps, product.a[inner[0]].loop, *channels]
    weight = constant_arrays.numbers(op.operands[1], module)
    if weight is None or sorted(order) != sorted(product.b) or strides[inner[0]] > 1:
        return None
    weight = weight.transpose([product.b.index(loop) for loop in order])
    return _Transposed(image, zero, start.operands[0], axes, inner[0], channels[0], weight)


def _spread(value: Any) -> tuple[Any, Any, list[int], list[int]] | None:
    """Returns the tensor whose elements are spread among zeros, the zero, and the place and distance of the elements.

    Axes of one element may come and go on the way; the result has those of `value`.
    """
    maker = ir_util.definition(value)
    groups = [[axis] for axis in range(value.type.rank)]
    if maker is not None and maker.name == names.COLLAPSE_SHAPE:
        groups = [[int(axis) for axis in group] for group in maker.attributes["reassociation"]]
        maker = ir_util.definition(maker.operands[0])
    if maker is None or maker.name != names.INSERT_SLICE or len(maker.operands) != 2:
        return None
    image, target = maker.operands
    fill = ir_util.definition(target)
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(maker.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    # The axis of each group that is left.
    kept = [max(group, key=lambda axis: target.type.shape[axis]) for group in groups]
    gone = set(range(target.type.rank)) - set(kept)
    if (
        fill is None
        or fill.name != names.FILL
        or not _is_zero(fill.operands[0])
        or max(strides) == 1
        or any(target.type.shape[axis] != 1 for axis in gone)
        or math.prod(image.type.shape) != math.prod(sizes)
    ):
        return None
    shape = [sizes[axis] for axis in kept]
    if list(image.type.shape) != shape:
        if list(image.type.shape) != sizes:
            return None
        with ir.InsertionPoint(maker), maker.location:
            kind = ir.RankedTensorType.get(shape, image.type.element_type)
            image = tensor.collapse_shape(kind, image, groups)
    return (
        image,
        fill.operands[0],
        [offsets[axis] for axis in kept],
        [strides[axis] for axis in kept],
    )


def _is_zero(value: Any) -> bool:
    maker = ir_util.definition(value)
    if maker is None or maker.name != "arith.constant":
        return False
    number = maker.attributes["value"]
    return bool(
        (ir.FloatAttr if isinstance(number, ir.FloatAttr) else ir.IntegerAttr)(number).value == 0
    )


def _rewrite(op: ir_util.Op, found: _Transposed) -> None:
    axes, element = found.axes, op.results[0].type.element_type
    channels = found.weight.shape[-1]
    phases = [axis.stride for axis in axes]
    shape = [
        extent
        for axis in axes
        for extent in ((axis.blocks, axis.stride) if axis.stride > 1 else (axis.blocks,))
    ]
    with ir.InsertionPoint(op), op.location:
        image = permute.transposed(found.image, (*(axis.dimension for axis in axes), found.inner))
        low, high = ([getattr(axis, side) for axis in axes] for side in ("before", "behind"))
        if any((*low, *high)):
            image = pad.padded(image, [*low, 0], [*high, 0], found.zero)
        weight = build.array(_phased(found.weight, axes), op.operands[1].type.element_type)
        empty = tensor.empty([*shape, channels], element)
        start = linalg.fill(found.start, outs=[empty])
        product = build.again(op, [start.type], [image, weight, start])
        _index(product, axes)
        op.regions[0].blocks[0].append_to(product.regions[0])
        whole = [axis.blocks * axis.stride for axis in axes]
        value = tensor.collapse_shape(
            ir.RankedTensorType.get([*whole, channels], element),
            product.results[0],
            _groups(phases),
        )
        value = _cut(value, [axis.lead for axis in axes], [axis.length for axis in axes])
    spread = op.operands[0]
    loops = [axis.loop for axis in axes]
    written = [ir.AffineDimExpr(index).position for index in permute.maps(op)[2].results]
    permute.replace(op, value, tuple(written.index(loop) for loop in (*loops, found.channel)))
    _erase_unused(ir_util.definition(spread))


def _erase_unused(op: ir_util.Op | None) -> None:
    """Erases an operation that nothing reads, and what only it has read of its first operands."""
    while op is not None and not any(list(result.uses) for result in op.results):
        before = ir_util.definition(op.operands[0])
        op.erase()
        op = before


def _phased(weight: Array, axes: Sequence[_Axis]) -> Array:
    """Returns the weights of all phases: [taps, input channels, phases, output channels], without axes of length 1."""
    *_, inner, outer = weight.shape
    weight = weight.reshape(*(axis.window for axis in axes), inner, outer)
    taps, phases = [axis.taps for axis in axes], [axis.stride for axis in axes]
    result: Array = np.zeros((*taps, *phases, inner, outer), weight.dtype)
    for tap in itertools.product(*map(range, taps)):
        for phase in itertools.product(*map(range, phases)):
            old = tuple(axis.old_tap(t, p) for axis, t, p in zip(axes, tap, phase, strict=True))
            if all(0 <= t < axis.window for axis, t in zip(axes, old, strict=True)):
                result[(*tap, *phase)] = weight[old]
    result = np.moveaxis(result, -2, len(taps))
    return result.reshape(
        [*(n for n in taps if n > 1), inner, *(n for n in phases if n > 1), outer]
    )


def _index(product: ir_util.Op, axes: Sequence[_Axis]) -> None:
    """Sets the loops of a product: pixels, each with its phases, output channels, taps, and input channels."""
    parallel = sum(2 if axis.stride > 1 else 1 for axis in axes) + 1
    count = parallel + sum(axis.taps > 1 for axis in axes) + 1
    loops = [ir.AffineExpr.get_dim(number) for number in range(count)]
    outer, window = iter(loops), iter(loops[parallel:])
    image, taps, phases = [], [], []
    for axis in axes:
        pixel = next(outer)
        if axis.stride > 1:
            phases.append(next(outer))
        if axis.taps > 1:
            taps.append(next(window))
            pixel = pixel + taps[-1]
        image.append(pixel)
    channel, inner = next(outer), next(window)
    product.attributes["indexing_maps"] = build.maps(
        [
            ir.AffineMap.get(count, 0, indices)
            for indices in ([*image, inner], [*taps, inner, *phases, channel], loops[:parallel])
        ]
    )
    kinds = [_PARALLEL] * parallel + [_REDUCTION] * (count - parallel)
    product.attributes["iterator_types"] = ir.ArrayAttr.get([ir.Attribute.parse(k) for k in kinds])


def _groups(phases: Sequence[int]) -> list[list[int]]:
    """Which axes of a product make each axis of the whole result."""
    groups, count = [], 0
    for phase in (*phases, 1):
        length = 2 if phase > 1 else 1
        groups.append(list(range(count, count + length)))
        count += length
    return groups


def _cut(value: Any, offsets: list[int], lengths: list[int]) -> Any:
    """Returns the part of an image that begins at a pixel and has so many."""
    *whole, channels = value.type.shape
    if lengths == whole:
        return value
    return build.sliced(value, [*offsets, 0], [*lengths, channels], [1] * value.type.rank)
