"""Tests the text of loops and branches, and how many instructions of it run."""

from __future__ import annotations

import unittest

import numpy as np
import riscv

from bmc.kernels.tree.assembly import Assembly


def _branch(out: Assembly, index: str, extent: str) -> None:
    """Emits two instructions within an image, and one elsewhere."""
    out.within(index, extent, lambda: out.set("x31", 5000), lambda: out.set("x31", 2))


def _ran(out: Assembly, start_offsets: tuple[int, ...] = ()) -> int:
    """Returns how many instructions run on a hart; arguments are `start_offsets`."""
    machine = riscv.Machine(128, [np.zeros(4, np.uint8)], writable=set())
    machine.run(out.text(), ["x10", *out.arguments], firsts=start_offsets)
    return machine.executed


class TreeTest(unittest.TestCase):
    def test_loops(self) -> None:
        out = Assembly(0)
        for value, instructions in (
            (0, 1),
            (-2048, 1),
            (2047, 1),
            (2048, 2),
            (-2049, 2),
            (8192, 1),
        ):
            before = out.kernel().executed
            out.set("x31", value)
            self.assertEqual(out.kernel().executed - before, instructions, value)
        out.repeat(3, lambda: out.repeat(5000, lambda: out.emit("li x31, 1")))
        self.assertEqual(out.kernel().executed, 8 + 1 + 3 * (2 + 5000 * 3 + 2))
        self.assertEqual(out.kernel().executed, _ran(out))

    def test_branches_ask_for_places(self) -> None:
        """Of 7 places, 4 are in the image; the loop around makes no difference."""
        out = Assembly(0)
        with out.registers(4) as (index, extent, step, far):
            out.set(extent, 4)
            out.set(step, 1)

            def line() -> None:
                out.set(index, -2)
                out.repeat(7, place)

            def place() -> None:
                _branch(out, index, extent)
                out.emit(f"mv {far}, {index}")
                out.emit(f"add {far}, {far}, {step}")
                out.emit(f"mv {index}, {far}")

            out.repeat(3, line)
        # The last one is the jump over what is behind.
        lines = 1 + 1 + 7 * (1 + 3 + 2) + 4 * 2 + 3 * 2 + 2
        self.assertEqual(out.kernel().executed, 2 + 1 + 3 * lines + 1)
        self.assertEqual(out.kernel().executed, _ran(out))

    def test_what_is_not_in_the_text_counts_as_the_most(self) -> None:
        out = Assembly(0)
        out.register()
        index = out.argument()
        with out.registers(1) as (extent,):
            out.set(extent, 4)
            _branch(out, index, extent)
            # Neither way of the first branch says what this one asks.
            out.emit(f"addi {index}, {index}, 4")
            _branch(out, index, extent)
        self.assertEqual(out.kernel().executed, 1 + 3 + 1 + 3 + 1)
        for first, instructions in ((-8, 9), (0, 9), (-4, 9), (9, 9)):
            self.assertLessEqual(_ran(out, (first,)), instructions)

    def test_branches_in_branches(self) -> None:
        for place in (-1, 0, 1, 2):
            out = Assembly(0)
            with out.registers(3) as (index, one, two):
                out.set(index, place)
                out.set(one, 1)
                out.set(two, 2)
                inner = lambda: _branch(out, index, one)  # noqa: B023, E731
                out.within(index, two, inner, inner)
            self.assertEqual(out.kernel().executed, _ran(out), place)


if __name__ == "__main__":
    unittest.main()
