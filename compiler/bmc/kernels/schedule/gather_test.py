"""Runs what computes the offsets of lanes."""

from __future__ import annotations

import itertools
import unittest

import numpy as np
import riscv

from bmc.kernels.problem.grid import as_one
from bmc.kernels.problem.product import Loop
from bmc.kernels.schedule import gather
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.vectors import Lanes
from bmc.kernels.unsupported import Unsupported

_GRID = (Loop(5, (0, 0, 48, 700, 0, 4)), Loop(3, (0, 0, 16, 0, 80, 4)), Loop(4, (0, 0, 4, 8, 4, 4)))


class PlacesTest(unittest.TestCase):
    def test_operands_that_have_offsets(self) -> None:
        self.assertEqual(as_one(_GRID), Loop(60, (0, 0, 4, 0, 0, 0)))
        with self.assertRaisesRegex(Unsupported, "too many lanes"):
            as_one((Loop(2**9, (4,)), Loop(2**8, (4,))))

    def test_places_of_some_lanes(self) -> None:
        for operand, start in itertools.product((3, 4, 5), (0, 1, 37)):
            out = Assembly(1)
            (address,) = out.arguments
            count = 60 - start if start else 16
            with out.registers(2) as (length, first):
                out.set(length, count)
                out.set(first, start)
                lanes = Lanes(count, 4, length)
                out.use(lanes, 32)
                gather.write(out, _GRID, {operand: out.vectors.take(4)}, lanes, first)
                out.emit(f"vse32.v v28, ({address})")
            # Lanes are divided by 12 and by 4.
            self.assertEqual(out.text().count("vmulhu"), 2)
            found = np.zeros(count, np.int32)
            riscv.Machine(512, [found], writable={0}).run(out.text(), out.arguments)
            indices = itertools.product(*(range(loop.extent) for loop in _GRID))
            want = [
                sum(n * loop.strides[operand] for n, loop in zip(each, _GRID, strict=True))
                for each in indices
            ]
            with self.subTest(operand=operand, start=start):
                np.testing.assert_array_equal(found, want[start : start + count])


if __name__ == "__main__":
    unittest.main()
