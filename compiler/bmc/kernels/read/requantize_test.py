"""Tests which results are limited by instructions that saturate."""

from __future__ import annotations

import itertools
import unittest
from dataclasses import replace

import numpy as np
import products

from bmc.kernels.problem.product import RESULT, Node
from bmc.kernels.read.requantize import with_requantize

_LIMITS = (
    ("maxsi", -300),
    ("maxsi", -128),
    ("maxsi", 10),
    ("minsi", 127),
    ("minsi", 99),
    ("minsi", 300),
)


def _nodes(*limits: tuple[str, int], zero: int = -7, source: str = "fixed_multiply") -> list[Node]:
    """A sum that is scaled, rounded, moved and limited, in this order."""
    nodes = [
        Node("sum", "i32"),
        Node("constant", "i32", value=2**30 + 12345),
        Node(source, "i32", (0, 1)),
        Node("constant", "i32", value=3),
        Node("rounding_shift", "i32", (2, 3)),
        Node("constant", "i32", value=zero),
        Node("addi", "i32", (4, 5)),
    ]
    for op, limit in limits:
        nodes.append(Node("constant", "i32", value=limit))
        nodes.append(Node(op, "i32", (len(nodes) - 2, len(nodes) - 1)))
    return [*nodes, Node("trunci", "i8", (len(nodes) - 1,))]


class ClipsTest(unittest.TestCase):
    def test_limits_in_any_order(self) -> None:
        sums = np.arange(-5000, 5000, 7, dtype=np.int32)
        found = 0
        for limits in itertools.permutations(_LIMITS, 3):
            nodes = _nodes(*limits)
            result = with_requantize(nodes)
            found += result[-1].op == "requantize"
            with self.subTest(limits=limits):
                right, got = (
                    products.evaluated(tuple(each), sums, lambda _: sums)[RESULT]
                    for each in (nodes, result)
                )
                np.testing.assert_array_equal(got, right)
        self.assertGreater(found, 20)

    def test_what_may_wrap_around_is_left_alone(self) -> None:
        both = (("maxsi", -128), ("minsi", 127))
        self.assertEqual(with_requantize(_nodes(*both))[-1].op, "requantize")
        for nodes in (
            _nodes(),
            _nodes(both[0]),
            _nodes(both[1]),
            _nodes(("maxsi", -129), both[1]),
            _nodes(both[0], ("minsi", 128)),
            _nodes(*both, zero=2**15),
            _nodes(*both, source="muli"),
        ):
            self.assertEqual(with_requantize(nodes), nodes)

    def test_only_a_sign_leaves_a_value_small(self) -> None:
        """With half of the sum added, the zero point makes some values wrap around."""
        sums = np.arange(-(2**31), -(2**31) + 30_000, dtype=np.int32)
        first = _nodes(("maxsi", -128), ("minsi", 127))
        for shift in (1, 30, 31):
            # The scaled sum, the shifted one, and what follows, without rounding.
            nodes = [
                *first[:3],
                Node("constant", "i32", value=shift),
                Node("shrsi", "i32", (0, 3)),
                Node("addi", "i32", (2, 4)),
                Node("constant", "i32", value=0),
                Node("rounding_shift", "i32", (5, 6)),
                *(replace(node, args=tuple(arg + 3 for arg in node.args)) for node in first[5:]),
            ]
            result = with_requantize(nodes)
            with self.subTest(shift=shift), np.errstate(all="ignore"):
                right, got = (
                    products.evaluated(tuple(each), sums, lambda _: sums)[RESULT]
                    for each in (nodes, result)
                )
                np.testing.assert_array_equal(got, right)
                self.assertEqual(result[-1].op == "requantize", shift == 31)


if __name__ == "__main__":
    unittest.main()
