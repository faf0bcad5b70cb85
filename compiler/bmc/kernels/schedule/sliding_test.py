"""Runs kernels whose lanes are the pixels of a line, and tests which products they are for."""

from __future__ import annotations

import contextlib
import re
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
import riscv_scalars
from kernel_case import KernelCase
from products import matmul, padded_planes

from bmc.cores import core as cores
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.product import RESULT, Loop, Node, Product
from bmc.kernels.schedule import fastest, gemm, sliding
from bmc.kernels.schedule.choice import Choice
from bmc.kernels.tree import cycles
from bmc.kernels.unsupported import Unsupported


def _depthwise(size: tuple[int, int], channels: int, dtype: str = "f32", **more: Any) -> Product:
    return padded_planes(size, channels, 1, dtype, depthwise=True, **more)


def _with_operands(product: Product) -> Product:
    """Adds a number for each channel, and one of the result's shape; the sums start from the former."""
    (channels, *rest), width = product.outer, WIDTHS[product.dtypes[RESULT]]

    def each(loop: Loop, step: int) -> Loop:
        return replace(loop, strides=(*loop.strides, step, loop.strides[RESULT]))

    add, kind = "addf" if product.scheme.is_float else "addi", product.dtypes[RESULT]
    nodes = (
        Node("sum", kind),
        Node("scalar", kind, operand=3),
        Node(add, kind, (0, 1)),
        Node("load", kind, operand=4),
        Node(add, kind, (2, 3)),
    )
    return replace(
        product,
        dtypes=(*product.dtypes, kind, kind),
        outer=(each(channels, width), *(each(loop, 0) for loop in rest)),
        lanes=each(product.lanes, 0),
        grid=tuple(each(loop, 0) for loop in product.grid),
        summed=tuple(replace(loop, strides=(*loop.strides, 0, 0)) for loop in product.summed),
        initial=3,
        epilogue=nodes,
    )


class LinesTest(KernelCase):
    def test_windows_and_strides(self) -> None:
        for dtype, value in (("f16", 0), ("f32", 0), ("i8", 0), ("i8", -7)):
            for size, more in (
                ((9, 16), {}),
                ((12, 20), {"stride": 2, "low": (0, 0)}),
                ((11, 20), {"stride": 2, "high": (0, 0)}),
                ((8, 24), {"window": (4, 2), "low": (2, 0), "high": (1, 1)}),
                ((10, 18), {"window": (5, 5), "low": (2, 2), "high": (2, 2)}),
                ((6, 27), {"window": (2, 3), "low": (0, 0), "stride": 3}),
            ):
                if dtype == "i8" and more.get("window") == (5, 5):
                    continue
                with self.subTest(dtype=dtype, value=value, size=size, **more):
                    self.agrees(
                        _depthwise(size, 3, dtype, value=value, **more), write=sliding.write
                    )

    def test_weights_that_are_far_apart(self) -> None:
        """No instruction reaches from one to the next."""
        product = _depthwise((9, 16), 3)
        spread = [
            replace(loop, strides=(600 * loop.strides[0], *loop.strides[1:]))
            for loop in product.summed
        ]
        self.agrees(replace(product, summed=tuple(spread)), write=sliding.write)

    def test_one_line_without_a_loop_over_lines(self) -> None:
        product = _depthwise((3, 16), 3, low=(0, 1), high=(0, 1))
        self.assertEqual([loop.extent for loop in product.grid], [16])
        self.agrees(product, write=sliding.write)

    def test_panels_read_the_pixels_between_them(self) -> None:
        """Lines of 40 and 90 pixels, in up to three panels at VLEN 128."""
        for dtype in ("f16", "f32", "i8"):
            for width, more in ((40, {}), (90, {}), (80, {"stride": 2, "low": (0, 0)})):
                with self.subTest(dtype=dtype, width=width):
                    product = _depthwise((5, width), 2, dtype, **more)
                    self.agrees(product, ((128, 128), (128, 512)), sliding.write)

    def test_operands_behind_the_sums(self) -> None:
        for dtype in ("f16", "f32", "i8"):
            for size, more in (((7, 40), {}), ((8, 32), {"stride": 2})):
                with self.subTest(dtype=dtype, size=size):
                    product = _with_operands(_depthwise(size, 3, dtype, **more))
                    self.agrees(product, write=sliding.write)

    def test_the_cost_is_about_what_is_executed(self) -> None:
        for dtype in ("f16", "f32", "i8"):
            for size, stride in (((24, 24), 1), ((48, 48), 1), ((48, 48), 2)):
                product = _depthwise(size, 8, dtype, stride=stride, low=(0, 0))
                kernel = sliding.write(product, 256)
                _, machine = self.run_kernel(kernel, products.operands(product), 256)
                self.assertAlmostEqual(
                    sliding.cost(product, 256, 0) / machine.executed, 1, delta=0.2
                )

    def test_they_are_written_where_they_are_faster(self) -> None:
        wide, small = _depthwise((24, 24), 8), _depthwise((8, 8), 8)
        self.assertEqual(fastest.write(wide, 256), sliding.write(wide, 256))
        core = cores.find("generic")
        for product in (wide, small):
            kernels = [write(product, 256) for write in (sliding.write, gemm.write)]
            found, fewest = fastest.write(product, 256), min(each.executed for each in kernels)
            self.assertLessEqual(found.executed, 1.15 * fewest)
            taken, *others = (
                cycles.of_kernel(each.nodes, core)
                for each in (found, *kernels)
                if each.executed <= 1.15 * fewest
            )
            self.assertLessEqual(taken, min(others))
        # What is chosen is about loops.
        rows = Choice(rows=1)
        self.assertEqual(fastest.write(wide, 256, rows), gemm.write(wide, 256, rows))
        dense = matmul(4, 16, 8)
        self.assertEqual(fastest.write(dense, 256), gemm.write(dense, 256))

    def test_a_wrong_kernel_is_noticed(self) -> None:
        """Changes the moves, the weights and the pixels between panels, one at a time."""
        product = _depthwise((6, 40), 2, "i8", value=5)
        kernel = sliding.write(product, 128)
        data = products.operands(product)
        right = products.expected(product, data)
        text = kernel.text.splitlines()
        changes = 0
        for place, line in enumerate(text):
            name = line.split()[0]
            other = {"vslide1up.vx": "vslide1down.vx", "vslide1down.vx": "vslide1up.vx"}
            changed = line
            if name in other:
                changed = line.replace(name, other[name])
            elif name == "lb":
                changed = re.sub(r"(-?\d+)(?=\(|$)", lambda m: str(int(m[1]) + 1), line)
            if changed == line:
                continue
            changes += 1
            with contextlib.suppress(riscv_scalars.Trap):
                wrong = "\n".join([*text[:place], changed, *text[place + 1 :]])
                result, _ = self.run_kernel(replace(kernel, text=wrong), data, 128)
                self.assertFalse(np.array_equal(result, right), line)
        self.assertGreater(changes, 20)

    def test_anything_else(self) -> None:
        product = _depthwise((9, 16), 3)
        for reason, other in (
            ("without padding", replace(product, padding=None)),
            ("not depthwise", padded_planes((9, 16), 3, 2)),
            ("floats other", _depthwise((9, 16), 3, value=1)),
            ("with gaps", _depthwise((9, 16), 3, dilation=2)),
            ("too many taps", _depthwise((9, 16), 3, "i8", window=(5, 5))),
            ("are not read", _depthwise((9, 24), 3, window=(3, 2), low=(1, 0), stride=3)),
            ("outside the image", _depthwise((9, 17), 3, stride=2)),
            ("too long", _depthwise((9, 400), 3)),
        ):
            with self.subTest(reason=reason), self.assertRaisesRegex(Unsupported, reason):
                sliding.write(other, 128)


if __name__ == "__main__":
    unittest.main()
