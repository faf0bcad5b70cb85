"""RFFT2D, which IREE makes of TOSA's with operations that bmc does not read, as MLIR."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bmc.dtype import Array
from bmc.frontends.tflite_fixed_point import Body
from bmc.frontends.tflite_own_text import Operation, Tensor, Text
from bmc.frontends.tflite_signal_lines import Value


def spectrum(shape: Sequence[int], made: Sequence[int]) -> str:
    """Returns a function that makes the real and the imaginary parts of images [batch, rows, columns].

    Args:
      shape: that of the images.
      made: that of the parts, of which the last dimension is about half as long.
    """
    given = Tensor(tuple(shape), "float32", np.float32(0), 0, None)
    text = Text(Operation("RFFT2D", (given,), (), None, 1, frozenset()))
    (x,), (batch, rows, columns), count = text.inputs, shape, made[-1]

    def waves(function: Callable[..., Array], size: int, many: int) -> Value:
        places = np.outer(np.arange(many), np.arange(size)) % size
        return text.constant(function(2 * np.pi * places / size).astype(np.float32))

    def along(value: Value, wave: Value, dims: Sequence[int], sign: str) -> Value:
        """Adds up the elements of a value, [batch, m, n], times those of waves, along m or n."""

        def add(b: Body, number: str, factor: str, old: str) -> str:
            product = b.op("mulf", number, factor, kind="f32")
            return b.op(sign, old, product, kind="f32")

        size = (batch, rows, count)
        operands = [(value, dims), (wave, (2 if dims[1] == 1 else 1, 3))]
        return text.loop(operands, size, "f32", add, dims=range(3), start="0.0")

    def both(a: Value, b: Value, name: str) -> Value:
        own = range(3)
        size = (batch, rows, count)
        return text.loop(
            [(a, own), (b, own)], size, "f32", lambda body, x, y, _: body.op(name, x, y, kind="f32")
        )

    by_columns, by_rows = (0, 1, 3), (0, 3, 2)
    real = along(x, waves(np.cos, columns, count), by_columns, "addf")
    imaginary = along(x, waves(np.sin, columns, count), by_columns, "subf")
    cosines, sines = waves(np.cos, rows, rows), waves(np.sin, rows, rows)
    return text.function(
        both(
            along(real, cosines, by_rows, "addf"), along(imaginary, sines, by_rows, "addf"), "addf"
        ),
        both(
            along(imaginary, cosines, by_rows, "addf"), along(real, sines, by_rows, "addf"), "subf"
        ),
    )
