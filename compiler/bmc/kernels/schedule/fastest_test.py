"""Tests which kernel of a product is chosen: by cycles of a core."""

from __future__ import annotations

import unittest
from dataclasses import replace
from functools import partial

from kernel_case import KernelCase
from products import matmul, padded_planes, planes

from bmc.cores import core as cores
from bmc.kernels.schedule import fastest, gemm
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.tree import cycles

_VLEN = 256
_ARA, _GENERIC = cores.find("ara"), cores.find("generic")


class FastestTest(KernelCase):
    def test_a_blend_of_cores_decides_among_kernels_with_few_instructions(self) -> None:
        product = matmul(125, 64, 64, "f32")
        fewest, found = gemm.write(product, _VLEN), fastest.write(product, _VLEN)
        self.assertLessEqual(found.executed, 1.15 * fewest.executed)
        gain = cycles.of_kernel(fewest.nodes, _GENERIC) / cycles.of_kernel(found.nodes, _GENERIC)
        self.assertGreater(gain, 1.2)

    def test_a_core_decides_alone(self) -> None:
        """On Ara, smaller groups are faster, though they take many more instructions."""
        product = matmul(125, 64, 64, "f32")
        default, found = fastest.write(product, _VLEN), fastest.write(product, _VLEN, core=_ARA)
        self.assertGreater(found.executed, 1.4 * default.executed)
        taken = [cycles.of_kernel(kernel.nodes, _ARA) for kernel in (default, found)]
        self.assertLess(taken[1], taken[0])

    def test_masked_loads_need_not_wait(self) -> None:
        """One register holds masks, and others are left for two loads in turn."""
        product = padded_planes((32, 32), 8, 16, "i8")
        one, two = (gemm.write(product, _VLEN, Choice(loads=loads)) for loads in (None, 2))
        gain = cycles.of_kernel(one.nodes, _ARA) / cycles.of_kernel(two.nodes, _ARA)
        self.assertGreater(gain, 1.2)
        # Not because there is less to do.
        free = replace(_ARA, waits_for_readers=False)
        self.assertLess(cycles.of_kernel(one.nodes, free) / cycles.of_kernel(two.nodes, free), 1.05)

    def test_the_best_of_several(self) -> None:
        """Fewer cycles with a few more instructions are better, and with many more only on a core that is named."""
        product = matmul(125, 64, 64, "f32")
        fewest, short, long = (
            gemm.write(product, _VLEN, choice)
            for choice in (Choice(), Choice(loads=2), Choice(loads=2, lmul=4))
        )
        self.assertLess(short.executed, 1.15 * fewest.executed)
        self.assertGreater(long.executed, 1.15 * fewest.executed)
        self.assertIs(fastest.best((fewest, short), _VLEN, None), short)
        self.assertIs(fastest.best((fewest, long), _VLEN, None), fewest)
        self.assertIs(fastest.best((fewest, long), _VLEN, _ARA), long)
        self.assertIs(fastest.best((short, replace(short)), _VLEN, _ARA), short)

    def test_every_core_gets_right_results(self) -> None:
        for product in (matmul(13, 70, 40, "f32"), matmul(30, 70, 40, "i8"), planes(9, 20, 16)):
            for core in (_ARA, cores.find("ax45mpv")):
                with self.subTest(core=core.name, product=product.dtypes):
                    self.agrees(product, ((256, 256),), partial(fastest.write, core=core))


if __name__ == "__main__":
    unittest.main()
