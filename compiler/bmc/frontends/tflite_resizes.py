"""Resizes of images that the converter to TOSA computes otherwise than LiteRT.

RESIZE_NEAREST_NEIGHBOR in the form of TensorFlow 1 takes pixel floor(i * old / new), the newer one
floor((i + 1/2) * old / new), as which the converter computes both. They are the same where the new size is a multiple
of the old one.

RESIZE_BILINEAR of integers counts places in 1/1024 of a pixel. LiteRT rounds the distance of two results to that; the
converter, whose sums of int16 IREE computes wrongly, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import tflite_interpolations, tflite_schema
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Text, element, index

_NEAREST = "RESIZE_NEAREST_NEIGHBOR"
# Parts of a pixel between two pixels, as bits.
_BITS = 10


def centered(data: bytes, name: str) -> bytes:
    """Returns a file in which resizes to the nearest pixel have the newer form.

    Args:
      data: the file, with static shapes and with what bmc writes itself.
      name: its name.

    Raises:
      BmcError: the two forms differ for an op of a type that bmc does not write.
    """
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    changed = False
    for graph in model.subgraphs:
        for op in graph.operators:
            options = op.builtinOptions
            if tflite_schema.op_kind(model, op) != _NEAREST or options.alignCorners:
                continue
            image, result = (graph.tensors[index] for index in (op.inputs[0], op.outputs[0]))
            if options.halfPixelCenters:
                continue
            if not _is_multiple(image.shape, result.shape):
                raise BmcError(
                    "op-rejected",
                    f"the converter to TOSA gets op '{_NEAREST}' of {tflite_schema.weight_type(result)} wrong"
                    " without half_pixel_centers",
                    where=f"{tflite_schema.text(result.name)} in {name}",
                    hint="resize to a multiple of the size, or convert tf.image.resize of TensorFlow 2",
                )
            options.halfPixelCenters = changed = True
    return tflite_schema.pack(model, len(data)) if changed else data


def _is_multiple(old: Sequence[int], new: Sequence[int]) -> bool:
    """Whether both sizes of a result are multiples of those of the image."""
    return not any(after % before for before, after in _sizes(old, new))


def _sizes(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, int]]:
    return list(zip(map(int, old[1:3]), map(int, new[1:3]), strict=True))


def _nearest(op: Operation) -> str:
    text, made = Text(op), op.outputs[0]
    image = text.inputs[0]
    is_newer = op.options.alignCorners or op.options.halfPixelCenters
    if is_newer or _is_multiple(image.shape, made.shape):
        return ""
    tables = []
    for before, after in _sizes(image.shape, made.shape):
        scale = np.float32(before) / np.float32(after)
        nearest = np.floor(np.arange(after, dtype=np.float32) * scale).astype(np.int32)
        tables.append(text.constant(np.minimum(nearest, before - 1)))

    def body(b: Body, row: str, column: str, _: str) -> str:
        return element(b, image, [index(b, 0), row, column, index(b, 3)])

    operands = [(table, [place]) for place, table in enumerate(tables, 1)]
    return text.function(text.loop(operands, made.shape, made.element, body))


def _bilinear(op: Operation) -> str:
    text, made = Text(op), op.outputs[0]
    image = text.inputs[0]
    if made.is_float:
        return tflite_interpolations.interpolated(op)
    if made.dtype not in ("int8", "int16"):
        return ""
    sides = [_places(op, *sizes) for sizes in _sizes(image.shape, made.shape)]
    # The converter computes int8 rightly if no distance is rounded.
    if made.dtype == "int8" and all(is_exact for _, is_exact in sides):
        return ""
    tables = [text.constant(table) for side, _ in sides for table in side]
    wide = "i32" if made.dtype == "int8" else "i64"

    def widened(b: Body, x: str, kind: str) -> str:
        return x if kind == wide else b.cast("extsi", x, (kind, wide))

    def body(b: Body, *values: str) -> str:
        rows, columns = values[:3], values[3:6]
        total = b.number(0, wide)
        for row in (0, 1):
            for column in (0, 1):
                at = [index(b, 0), rows[row], columns[column], index(b, 3)]
                pixel = widened(b, element(b, image, at), made.element)
                for place, part in ((row, rows[2]), (column, columns[2])):
                    share = part if place else b.minus(1 << _BITS, part)
                    pixel = b.op("muli", pixel, widened(b, share, "i32"), kind=wide)
                total = b.op("addi", total, pixel, kind=wide)
        half, zero = b.number(1 << (2 * _BITS - 1), wide), b.number(0, wide)
        is_positive = b.line(f"arith.cmpi sgt, {total}, {zero} : {wide}")
        low = b.op("subi", zero, half, kind=wide)
        up = b.line(f"arith.select {is_positive}, {half}, {low} : {wide}")
        whole = b.op("addi", total, up, kind=wide)
        result = b.op("divsi", whole, b.number(1 << (2 * _BITS), wide), kind=wide)
        return b.cast("trunci", result, (wide, made.element))

    operands = [(table, [1 + number // 3]) for number, table in enumerate(tables)]
    return text.function(text.loop(operands, made.shape, made.element, body))


def _places(op: Operation, before: int, after: int) -> tuple[list[Array], bool]:
    """Returns the pixels on both sides of each result and the part from the first one on; whether these are exact."""
    one = 1 << _BITS
    old, new = before, after
    if op.options.alignCorners and after > 1:
        old, new = before - 1, after - 1
    scale = (one * old + new // 2) // new
    place = np.arange(after, dtype=np.int64) * scale
    if op.options.halfPixelCenters:
        place += scale // 2 - one // 2
    # Both round towards zero.
    first = np.maximum(np.trunc(place / one).astype(np.int64), 0)
    second = np.minimum(np.trunc((place + one - 1) / one).astype(np.int64), before - 1)
    tables = [each.astype(np.int32) for each in (first, second, place - first * one)]
    return tables, scale * new == one * old


KINDS: dict[str, Callable[[Operation], str]] = {
    _NEAREST: _nearest,
    "RESIZE_BILINEAR": _bilinear,
}
