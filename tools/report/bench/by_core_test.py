"""Modeled cycles on cores: of kernels that are made up here, and of a model in the build."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

from bmc.cores import core as cores
from bmc.kernels.tree.assembly import Kernel
from tools.report.bench import by_core
from tools.report.bench.by_core import Compiled, Own
from tools.report.bench.core_cycles import ModelCycles
from tools.report.files import load


def kernel(lmul: int, count: int) -> Kernel:
    """Returns a kernel that is `count` loads of groups of so many registers."""
    lines = [f"vle32.v v{8 * (n % 4)}, (x11)" for n in range(count)]
    nodes = ("li x17, 512", f"vsetvli zero, x17, e32, m{lmul}, ta, ma", *lines)
    return Kernel("", (), (), 0, len(nodes), nodes=nodes)


def compiled(vlen: int, count: int) -> Compiled:
    wide, narrow, other = kernel(8, count), kernel(1, count), kernel(1, 8)
    return Compiled(vlen, (Own(wide, (wide, narrow), 3), Own(other, (other,), 1)), 2)


class ByCoreTest(unittest.TestCase):
    def test_every_core_as_it_is_and_as_it_may_be(self) -> None:
        found = by_core.modeled("m", {128: compiled(128, 64), 512: compiled(512, 640)})
        self.assertEqual((found.name, found.own, found.dispatches), ("m", 4, 6))
        real = [name for name in cores.names() if name != "generic"]
        self.assertEqual([each.core for each in found.cores if not each.other], real)
        by_name = {(each.core, each.other): each for each in found.cores}
        self.assertIn(("x60", "no waits"), by_name)
        # All of Ara was measured.
        self.assertEqual([other for core, other in by_name if core == "ara"], [""])
        for each in found.cores:
            self.assertGreater(each.default, 1.4 * each.chosen, each)
        # Of C908's loads nobody knows; X60's were measured.
        c908, x60 = (
            by_name[name, "halved"].default / by_name[name, ""].default for name in ("c908", "x60")
        )
        self.assertAlmostEqual(c908, 2, delta=0.05)
        self.assertAlmostEqual(x60, 1, delta=0.05)
        # With kernels for registers of 512 bits, which are ten times as long here.
        self.assertGreater(by_name["x280", ""].default, 5 * by_name["x60", ""].default)

    def test_a_model_of_the_build(self) -> None:
        (model,) = load(Path(os.environ["CORES"]), tuple[ModelCycles, ...])
        self.assertEqual((model.name, model.own), ("fixture", model.dispatches))
        self.assertEqual({each.core for each in model.cores}, set(cores.names()) - {"generic"})
        for each in model.cores:
            self.assertGreater(each.chosen, 0)
            self.assertLessEqual(each.chosen, each.default, each)


if __name__ == "__main__":
    unittest.main()
