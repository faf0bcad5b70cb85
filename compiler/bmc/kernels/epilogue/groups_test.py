"""Tests the choice of register groups."""

from __future__ import annotations

import unittest

from bmc.kernels.epilogue.groups import Groups
from bmc.kernels.problem.product import Unsupported


class GroupsTest(unittest.TestCase):
    def test_the_highest_comes_first(self) -> None:
        groups = Groups([0, 1, 2])
        self.assertEqual([groups.take(), groups.take()], [2, 1])
        groups.give(2)
        self.assertEqual(groups.take(), 2)
        self.assertEqual(groups.peak, 2)
        # v0 counts as long as it holds a mask.
        groups.use_mask()
        self.assertEqual(groups.peak, 3)

    def test_none_is_left(self) -> None:
        groups = Groups([0])
        groups.take()
        for call in (groups.take, groups.use_mask):
            self.assertRaises(Unsupported, call)


if __name__ == "__main__":
    unittest.main()
