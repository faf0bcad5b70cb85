"""Tests modeled cycles against cycles that were measured on the RTL of Ara with two lanes and VLEN 256."""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from dataclasses import dataclass, replace

from products import matmul

from bmc.cores import core as cores
from bmc.kernels.schedule import gemm
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.tree import cycles
from bmc.kernels.tree.tree import Repeat

_ARA = cores.find("ara")
_ITERATIONS = 16


@dataclass(frozen=True)
class _Loop:
    """Measured cycles of a step, and the loop: its vtype, its lines, and steps of an iteration."""

    cycles: float
    sew: int
    lmul: int
    lines: Sequence[str]
    steps: int = 1

    def modeled(self, core: cores.Core) -> float:
        """The cycles of a step after the first iterations, with full groups."""
        pipeline = cycles.Pipeline(core)
        pipeline.run(
            [f"li x17, {core.vlen}", f"vsetvli zero, x17, e{self.sew}, m{self.lmul}, ta, ma"]
        )
        times = []
        for _ in range(_ITERATIONS):
            pipeline.run(self.lines)
            times.append(pipeline.time)
        half = _ITERATIONS // 2
        return (times[-1] - times[half - 1]) / (half * self.steps)


def _steps(bits: int, lmul: int, rows: int, groups: Sequence[int], first: int = 8) -> list[str]:
    """Steps that each load a group, and multiply it by a number for each of several rows."""
    scalar, multiply, wide = {
        32: ("flw f{}, {}(x13)", "vfmacc.vf v{}, f{}, v{}", lmul),
        16: ("lh x{}, {}(x13)", "vwmacc.vx v{}, x{}, v{}", 2 * lmul),
    }[bits]
    lines = []
    for group in groups:
        lines.append(f"vle{bits}.v v{group}, (x11)")
        for row in range(rows):
            lines.append(scalar.format(row % 6, bits // 8 * row))
            lines.append(multiply.format(first + wide * row, row % 6, group))
    return lines


def _bytes(lmul: int, rows: int, groups: Sequence[tuple[int, int]]) -> list[str]:
    """As _steps(), for bytes that are loaded into the second group of each pair and extended into the first."""
    lines = []
    for wide, narrow in groups:
        lines += [f"vle8.v v{narrow}, (x11)", f"vsext.vf2 v{wide}, v{narrow}"]
        for row in range(rows):
            lines.append(f"lb x{row % 6}, {row}(x13)")
            lines.append(f"vwmacc.vx v{8 + 2 * lmul * row}, x{row % 6}, v{wide}")
    return lines


def _alone(name: str, firsts: Sequence[int], read: str = "x18, v0") -> list[str]:
    return [f"{name} v{first}, {read}" for first in firsts]


def _loads_last(lines: list[str], length: int) -> list[str]:
    """Steps of `length` lines, whose load comes behind the products: it fills the group for the next iteration."""
    steps = [lines[start : start + length] for start in range(0, len(lines), length)]
    return [line for step in steps for line in (*step[1:], step[0])]


_FOURS, _SIXES = range(8, 32, 4), range(8, 32, 8)
# From the same measurements as compiler/bmc/cores/ara.toml.
_LOOPS = {
    "f32 m8 x3, one group": _Loop(86.56, 32, 8, _steps(32, 8, 3, [0])),
    "f32 m8 x2, two groups": _Loop(40.96, 32, 8, _steps(32, 8, 2, [0, 8], 16), 2),
    "f32 m4 x6, one group": _Loop(79.0, 32, 4, _steps(32, 4, 6, [0])),
    "f32 m4 x6, two groups": _Loop(53.0, 32, 4, _steps(32, 4, 6, [0, 4]), 2),
    "f32 m4 x6, loads last": _Loop(68.5, 32, 4, _loads_last(_steps(32, 4, 6, [0, 4]), 13), 2),
    "f32 m4 x5, three groups": _Loop(45.0, 32, 4, _steps(32, 4, 5, [0, 4, 8], 12), 3),
    "f32 m2 x12, two groups": _Loop(65.5, 32, 2, _steps(32, 2, 12, [0, 2]), 2),
    "f32 m2 x12, four groups": _Loop(65.5, 32, 2, _steps(32, 2, 12, [0, 2, 4, 6]), 4),
    "i16 m4 x3, one group": _Loop(82.62, 16, 4, _steps(16, 4, 3, [0])),
    "i16 m4 x3, two groups": _Loop(56.96, 16, 4, _steps(16, 4, 3, [0, 4]), 2),
    "i16 m2 x6, one group": _Loop(77.0, 16, 2, _steps(16, 2, 6, [0])),
    "i16 m2 x6, two groups": _Loop(56.0, 16, 2, _steps(16, 2, 6, [0, 2]), 2),
    "i16 m2 x6, four groups": _Loop(56.0, 16, 2, _steps(16, 2, 6, [0, 2, 4, 6]), 4),
    "i8 m4 x3": _Loop(57.0, 16, 4, _bytes(4, 3, [(0, 4)])),
    "i8 m4 x3, two sources": _Loop(57.0, 16, 4, _bytes(4, 3, [(0, 4), (0, 6)]), 2),
    "i8 m2 x6": _Loop(55.0, 16, 2, _bytes(2, 6, [(0, 4)])),
    "i8 m2 x6, two of each": _Loop(55.5, 16, 2, _bytes(2, 6, [(0, 4), (2, 5)]), 2),
    "vwmacc.vx e16 m4": _Loop(56.96, 16, 4, _alone("vwmacc.vx", _SIXES)),
    "vwmacc.vx e16 m2": _Loop(54.0, 16, 2, _alone("vwmacc.vx", _FOURS)),
    "vmacc.vx e32 m8": _Loop(47.96, 32, 8, _alone("vmacc.vx", _SIXES)),
    "vwmacc.vx e16 m2, each": _Loop(9.5, 16, 2, _alone("vwmacc.vx", (8, 12, 16, 20)), 4),
    "vmacc.vx e16 m8": _Loop(47.96, 16, 8, _alone("vmacc.vx", _SIXES)),
    "vmacc.vx e16 m4": _Loop(48.0, 16, 4, _alone("vmacc.vx", _FOURS)),
    "vwmacc.vx e8 m2": _Loop(54.0, 8, 2, _alone("vwmacc.vx", _FOURS)),
    "vwmacc.vv e16 m2": _Loop(63.0, 16, 2, _alone("vwmacc.vv", _FOURS, "v0, v4")),
    "vfmacc.vv e32 m4": _Loop(80.0, 32, 4, _alone("vfmacc.vv", _FOURS, "v0, v4")),
    "vfmacc.vv e32 m2": _Loop(40.0, 32, 2, _alone("vfmacc.vv", _FOURS, "v0, v4")),
}


class CyclesTest(unittest.TestCase):
    def test_loops_take_what_was_measured(self) -> None:
        errors = {name: loop.modeled(_ARA) / loop.cycles - 1 for name, loop in _LOOPS.items()}
        self.assertEqual(len(errors), 27)
        self.assertLess(max(map(abs, errors.values())), 0.2, errors)
        self.assertLess(sum(map(abs, errors.values())) / len(errors), 0.06, errors)

    def test_loads_wait_for_readers(self) -> None:
        """A core without that rule does not explain what one group for all loads costs."""
        free = replace(_ARA, waits_for_readers=False)
        loop = _LOOPS["f32 m8 x3, one group"]
        self.assertLess(loop.modeled(free), 0.85 * loop.cycles)

    def test_kernels_take_what_was_measured(self) -> None:
        """Layers of 128 outputs from 640 and 128 inputs, with registers in turn; cycles of the RTL."""
        for inputs, measured in ((640, 43_300), (128, 9_130)):
            product = matmul(1, 128, inputs, "f32")
            kernel = gemm.write(product, 256, Choice(loads=2))
            modeled = cycles.of_kernel(kernel.nodes, _ARA)
            self.assertLess(abs(modeled / measured - 1), 0.15, (inputs, modeled))

    def test_a_loop_is_all_its_iterations(self) -> None:
        """A long loop is not simulated to its end."""
        body = list(_LOOPS["i16 m4 x3, two groups"].lines)
        vtype = ["li x17, 64", "vsetvli zero, x17, e16, m4, ta, ma"]
        short, long = (
            cycles.of_kernel([*vtype, Repeat(count, "x14", 1, list(body))], _ARA)
            for count in (100, 1100)
        )
        self.assertAlmostEqual((long - short) / 1000, 2 * 56.96, delta=10)

    def test_cores_differ(self) -> None:
        kernel = gemm.write(matmul(64, 64, 64, "f32"), 256)
        found = {name: cycles.of_kernel(kernel.nodes, cores.find(name)) for name in cores.names()}
        self.assertLess(found["x60"], found["ara"])
        self.assertLess(cycles.of_kernel(kernel.nodes, cores.find("ax45mpv")), found["c908"])


if __name__ == "__main__":
    unittest.main()
