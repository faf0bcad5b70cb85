"""Tests that a dispatch reads the same numbers from a padded copy as through the padding."""

from __future__ import annotations

import itertools
import unittest
from dataclasses import replace

import numpy as np

from bmc.libraries import Dispatch, Edge, Loop, Operand, PaddedCopy, Padding, padded_copy

# Windows of 3 x 3, two pixels apart, over 5 x 7 pixels of 4 channels, with a border of 1 and of 2 pixels.
_LINES, _COLUMNS, _CHANNELS, _STRIDE = 5, 7, 4, 2
_EXTENTS = (3, 5, 6, 3, 3, _CHANNELS)
_Y, _X = (_STRIDE, 0, 0, 1, 0, 0), (0, _STRIDE, 0, 0, 1, 0)
_INNER = (0, 0, 0, 0, 0, 1)
_VALUE = -7


def _dispatch(pixel: int = _CHANNELS, pitch: int = _COLUMNS * _CHANNELS) -> Dispatch:
    steps = tuple(y * pitch + x * pixel + rest for y, x, rest in zip(_Y, _X, _INNER, strict=True))
    image = Operand("i8", steps, binding=0)
    weight = Operand("i8", (0, 0, 1, 72, 24, 6), binding=1)
    result = Operand("i32", (30, 6, 1, 0, 0, 0), binding=2)
    padding = Padding(image, _VALUE, (Edge(1, _LINES, _Y), Edge(2, _COLUMNS, _X)))
    loops = tuple(Loop(extent, number > 2) for number, extent in enumerate(_EXTENTS))
    return Dispatch("f", "rv64gc", 0, loops, (image, weight, result), None, (), (), padding)


def _made(copy: PaddedCopy, image: np.ndarray) -> np.ndarray:
    """The copy as its fields describe it."""
    lines = (_EXTENTS[0] - 1) * _STRIDE + 3
    made = np.full((lines, copy.line), copy.value, np.int8)
    for line in range(lines):
        source = line - copy.lines_before
        if 0 <= source < copy.lines:
            start = source * copy.pitch
            inside = image[start : start + copy.inside]
            made[line, copy.before : copy.before + copy.inside] = inside
    return made.reshape(-1)


class PaddedTest(unittest.TestCase):
    def test_every_window_reads_what_it_read_through_the_padding(self) -> None:
        dispatch = _dispatch(pitch=40)
        copy = padded_copy(dispatch)
        assert copy is not None
        self.assertIsNone(copy.dispatch.padding)
        image = np.arange(_LINES * 40, dtype=np.int8)
        made = _made(copy, image)
        borders = 0
        for index in itertools.product(*map(range, _EXTENTS)):
            y = sum(i * step for i, step in zip(index, _Y, strict=True)) - 1
            x = sum(i * step for i, step in zip(index, _X, strict=True)) - 2
            is_inside = 0 <= y < _LINES and 0 <= x < _COLUMNS
            borders += not is_inside
            wanted = image[y * 40 + x * _CHANNELS + index[5]] if is_inside else _VALUE
            at = sum(i * step for i, step in zip(index, copy.dispatch.a.steps, strict=True))
            self.assertEqual(made[at], wanted)
        self.assertGreater(borders, 100)

    def test_what_has_no_such_copy(self) -> None:
        dispatch = _dispatch()
        assert dispatch.padding is not None
        self.assertIsNotNone(padded_copy(dispatch))
        self.assertIsNone(padded_copy(replace(dispatch, padding=None)))
        one = replace(dispatch.padding, edges=dispatch.padding.edges[:1])
        self.assertIsNone(padded_copy(replace(dispatch, padding=one)))
        other = replace(dispatch.padding, image=dispatch.b)
        self.assertIsNone(padded_copy(replace(dispatch, padding=other)))
        # Pixels with gaps, and images as planes.
        self.assertIsNone(padded_copy(_dispatch(pixel=8, pitch=80)))
        self.assertIsNone(padded_copy(_dispatch(pixel=1, pitch=_COLUMNS)))


if __name__ == "__main__":
    unittest.main()
