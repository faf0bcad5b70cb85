"""RESIZE_BILINEAR of floats to a multiple of the size, one axis after the other.

The converter to TOSA computes four places for each number, which keeps bmc's kernels from it. Along one axis, a result
lies between two neighbors, at one of as many places as the size grows by; so all results at one place are a weighted
sum of the image and of the image moved by one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text
from bmc.frontends.tflite_signal_lines import Value

_AXES = (1, 2)


def interpolated(op: Operation) -> str:
    """Returns a function for a RESIZE_BILINEAR of f32 [batch, y, x, channels]; "" if the converter's has to do."""
    text, made = Text(op), op.outputs[0]
    image = text.inputs[0]
    sizes = [(image.shape[axis], made.shape[axis]) for axis in _AXES]
    if op.options.alignCorners or any(new % old for old, new in sizes):
        return ""
    is_centered = bool(op.options.halfPixelCenters)
    if is_centered and any(new // old > 1 and new // old % 2 for old, new in sizes):
        return ""
    for axis, (old, new) in zip(_AXES, sizes, strict=True):
        if new > old:
            image = _enlarged(text, image, axis, new // old, is_centered)
    return text.function(image)


def _enlarged(text: Text, image: Value, axis: int, factor: int, is_centered: bool) -> Value:
    """Enlarges an axis; centered results of the first half lie before their pixel, the others behind it."""
    count = image.shape[axis]
    halves = 1 + is_centered
    first, last = (_part(text, image, axis, place, 1) for place in (0, count - 1))
    padded = _joined(text, axis, (first, image, last) if is_centered else (image, last))
    near, far = (_part(text, padded, axis, place, count + halves - 1) for place in (0, 1))
    places = np.arange(factor, dtype=np.float32)
    share = ((places + 0.5) / factor + 0.5) % 1 if is_centered else places / factor
    tables = [
        text.constant(each.astype(np.float32).reshape(halves, -1)) for each in (1 - share, share)
    ]
    rank = len(image.shape)
    reads = [*range(axis), (axis, axis + 1), *range(axis + 3, rank + 2)]
    shape = [*image.shape[:axis], count, *tables[0].shape, *image.shape[axis + 1 :]]

    def body(b: Body, one: str, other: str, of_one: str, of_other: str, _: str) -> str:
        parts = (b.op("mulf", *pair, kind="f32") for pair in ((one, of_one), (other, of_other)))
        return b.op("addf", *parts, kind="f32")

    operands = [(near, reads), (far, reads), *((table, (axis + 1, axis + 2)) for table in tables)]
    made = text.loop(operands, shape, image.element, body)
    groups = [[n] for n in range(axis)] + [[axis, axis + 1, axis + 2]]
    groups += [[n] for n in range(axis + 3, rank + 2)]
    whole = [*image.shape[:axis], count * factor, *image.shape[axis + 1 :]]
    lines = f"tensor.collapse_shape %{made.name} {groups} : {made.type} into"
    return text.operation(lines, whole, image.element)


def _part(text: Text, value: Value, axis: int, start: int, size: int) -> Value:
    starts = [start if n == axis else 0 for n in range(len(value.shape))]
    shape = [size if n == axis else extent for n, extent in enumerate(value.shape)]
    steps = [1] * len(shape)
    lines = f"tensor.extract_slice %{value.name}{starts} {shape} {steps} : {value.type} to"
    return text.operation(lines, shape, value.element)


def _joined(text: Text, axis: int, values: Sequence[Value]) -> Value:
    shape = list(values[0].shape)
    shape[axis] = sum(value.shape[axis] for value in values)
    names = ", ".join(f"%{value.name}" for value in values)
    kinds = ", ".join(value.type for value in values)
    lines = f"tensor.concat dim({axis}) {names} : ({kinds}) ->"
    return text.operation(lines, shape, values[0].element)
