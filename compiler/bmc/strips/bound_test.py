"""Tests the bytes of tensors of which every row is computed apart."""

from __future__ import annotations

import unittest

from outlines import network

from bmc.strips.bound import bytes_by_rows
from bmc.strips.outline import Kind, Op, Outline
from bmc.strips.segment import Window

_INPUT = Op(Kind.INPUT, 4, 1, (), False, True)
_PADDED = Window(1, 3, -1)


def _sum(source: int, window: Window | None = _PADDED) -> Op:
    return Op(Kind.SUM, 4, 10, ((source, window),), True, True)


class BoundTest(unittest.TestCase):
    def test_two_windows_of_three_rows(self) -> None:
        """When the third row of the result is computed, three rows of the first sum are alive, and no input."""
        ops = [_INPUT, _sum(0), _sum(1), Op(Kind.OTHER, 0, 0, ((2, None),), False, True)]
        self.assertEqual(bytes_by_rows(Outline(ops)), 60)

    def test_a_tensor_that_is_read_whole_is_alive_whole(self) -> None:
        """Until the last row of the result, which is alive whole too; the input is gone."""
        ops = [_INPUT, _sum(0), _sum(1, None), Op(Kind.OTHER, 0, 0, ((2, None),), False, True)]
        self.assertEqual(bytes_by_rows(Outline(ops)), 80)

    def test_a_tensor_that_is_read_again_later(self) -> None:
        """The first sum is also added to the result of a second one, row by row."""
        added = Op(Kind.ELEMENTWISE, 4, 10, ((1, Window()), (2, Window())), True, True)
        end = Op(Kind.SUM, 1, 1, ((3, None),), True, True)
        result = Op(Kind.OTHER, 0, 0, ((4, None),), False, True)
        both = bytes_by_rows(Outline([_INPUT, _sum(0), _sum(1), added, end, result]))
        alone = Op(Kind.ELEMENTWISE, 4, 10, ((2, Window()),), True, True)
        self.assertGreaterEqual(
            both, bytes_by_rows(Outline([_INPUT, _sum(0), _sum(1), alone, end, result]))
        )

    def test_less_than_strips_and_than_whole_tensors(self) -> None:
        outline = network(16, 64, 8)
        stages = outline.stages
        bound = bytes_by_rows(outline)
        whole = max(outline.bytes_alive(n) for n in range(len(stages)))
        strips = outline.bytes_in_strips(stages[0] + 1, stages[-2], 1)
        self.assertLess(bound, whole)
        self.assertLessEqual(bound, strips)
        self.assertGreaterEqual(bound, 32 * 32 * 8)


if __name__ == "__main__":
    unittest.main()
