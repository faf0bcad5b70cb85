"""Runs kernels of bmc's own on a model of a hart, and compares their results with numpy's."""

from __future__ import annotations

import collections
import contextlib
import itertools
import random
import re
import unittest
from dataclasses import replace
from typing import Any

import numpy as np
import products
import riscv

from bmc.kernels import nest
from bmc.kernels.assembly import TooManyRegisters
from bmc.kernels.product import RESULT, Loop, Node, Product, Unsupported

_WIDTHS = {"f32": 4, "i32": 4, "i8": 1}
_FLOAT_SUM = Node("sum", "f32")
_SUM = Node("sum", "i32")
_NAN = float("nan")
Array = np.ndarray[Any, Any]


def _strides(*elements: int, dtypes: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(n * _WIDTHS[dtype] for n, dtype in zip(elements, dtypes, strict=True))


def matmul(
    rows: int,
    lanes: int,
    sums: int,
    dtype: str = "f32",
    epilogue: tuple[Node, ...] = (),
    extra: tuple[str, ...] = (),
) -> Product:
    """The operands in `extra` are i32 or f32 per lane, or "residual TYPE" for one of the result's shape."""
    epilogue = epilogue or (_FLOAT_SUM if dtype == "f32" else _SUM,)
    dtypes = (dtype, dtype, epilogue[-1].dtype, *(each.split()[-1] for each in extra))
    moves = [lanes * each.startswith("residual") for each in extra]
    return Product(
        dtypes,
        (),
        (Loop(rows, _strides(sums, 0, lanes, *moves, dtypes=dtypes)),),
        Loop(lanes, _strides(0, 1, 1, *[1] * len(extra), dtypes=dtypes)),
        (Loop(sums, _strides(1, lanes, 0, *[0] * len(extra), dtypes=dtypes)),),
        None,
        epilogue,
    )


def convolution(
    size: int,
    lanes: int,
    channels: int,
    dtype: str = "f32",
    stride: int = 1,
    dilation: int = 1,
    depthwise: bool = False,
) -> Product:
    """A window of 3x3 over an image [h, w, c], with a weight [3, 3, c, lanes], or [3, 3, lanes]."""
    node = _FLOAT_SUM if dtype == "f32" else _SUM
    dtypes = (dtype, dtype, node.dtype)
    depth = lanes if depthwise else channels
    width = (size - 1) * stride + 2 * dilation + 1

    def loop(extent: int, *elements: int) -> Loop:
        return Loop(extent, _strides(*elements, dtypes=dtypes))

    inner = 1 if depthwise else channels
    sums = [
        loop(3, dilation * width * depth, 3 * inner * lanes, 0),
        loop(3, dilation * depth, inner * lanes, 0),
    ]
    if not depthwise:
        sums.append(loop(channels, 1, lanes, 0))
    return Product(
        dtypes,
        (),
        (
            loop(size, stride * width * depth, 0, size * lanes),
            loop(size, stride * depth, 0, lanes),
        ),
        loop(lanes, int(depthwise), 1, 1),
        tuple(sums),
        None,
        (node,),
    )


def quantized() -> tuple[Node, ...]:
    """A rescale as TFLite makes it: a bias, a multiplier per lane, a shift, a zero point and limits."""
    return (
        _SUM,
        Node("constant", "i32", value=6),
        Node("shli", "i32", (0, 1)),
        Node("load", "i32", operand=3),
        Node("addi", "i32", (2, 3)),
        Node("load", "i32", operand=4),
        Node("mulhi", "i32", (4, 5)),
        Node("constant", "i32", value=3),
        Node("shrsi", "i32", (6, 7)),
        Node("constant", "i32", value=-10),
        Node("addi", "i32", (8, 9)),
        Node("constant", "i32", value=-128),
        Node("maxsi", "i32", (10, 11)),
        Node("constant", "i32", value=127),
        Node("minsi", "i32", (12, 13)),
        Node("trunci", "i8", (14,)),
    )


class NestTest(unittest.TestCase):
    def run_kernel(
        self, kernel: nest.Kernel, data: list[Array], vlen: int
    ) -> tuple[Array, riscv.Machine]:
        data = [array.copy() for array in data]
        machine = riscv.Machine(vlen, data)
        machine.run(kernel.text, kernel.arguments)
        self.assertLessEqual(machine.written, set(kernel.clobbered))
        return data[RESULT], machine

    def agrees(self, product: Product, vlens: tuple[tuple[int, int], ...] = ()) -> None:
        """Asserts the result of kernels for a VLEN on harts of a VLEN."""
        data = products.operands(product)
        with np.errstate(all="ignore"):
            right = products.expected(product, data)
        for vlen, hart in vlens or ((128, 128), (256, 256), (128, 512)):
            kernel = nest.write(product, vlen)
            with self.subTest(vlen=vlen, hart=hart):
                result, _ = self.run_kernel(kernel, data, hart)
                np.testing.assert_array_equal(result, right)

    def test_rows_and_lanes(self) -> None:
        lanes = (8, 16, 24, 40, 64, 80, 100)
        for number, (rows, each) in enumerate(itertools.product((1, 2, 5, 7, 13), lanes)):
            hart = ((128, 128), (256, 256), (128, 512))[number % 3]
            for dtype in ("f32", "i8"):
                with self.subTest(rows=rows, lanes=each, dtype=dtype):
                    self.agrees(matmul(rows, each, 3 + number % 4, dtype), (hart,))

    def test_long_sums(self) -> None:
        for dtype in ("f32", "i8"):
            for sums in (1, 31, 64, 1200):
                with self.subTest(dtype=dtype, sums=sums):
                    self.agrees(matmul(5, 24, sums, dtype), ((128, 128),))
        # Steps in `b`, and rows of `a`, that fit into no instruction.
        self.agrees(matmul(3, 600, 5), ((256, 256),))
        self.agrees(matmul(3, 2100, 5, "i8"), ((256, 256),))

    def test_windows(self) -> None:
        for dtype in ("f32", "i8"):
            for stride, dilation in ((1, 1), (2, 1), (1, 2), (2, 3)):
                for depthwise in (False, True):
                    with self.subTest(
                        dtype=dtype, stride=stride, dilation=dilation, depthwise=depthwise
                    ):
                        product = convolution(5, 24, 3, dtype, stride, dilation, depthwise)
                        self.agrees(product)
        self.agrees(convolution(3, 40, 200), ((128, 128),))
        self.agrees(convolution(7, 100, 1, "i8", depthwise=True), ((128, 128),))

    def test_outer_loops_and_a_sum_for_all_rows(self) -> None:
        for dtype in ("f32", "i8"):
            inner = matmul(3, 16, 5, dtype)
            width = _WIDTHS[dtype]
            outer = (
                Loop(2, (3 * 15 * width, 3 * 80 * width, 3 * 48 * 4)),
                Loop(3, (15 * width, 80 * width, 48 * 4)),
            )
            self.agrees(replace(inner, outer=outer))
            # Without rows or sums: an outer product.
            self.agrees(replace(inner, outer=outer, rows=(), sums=()))

    def test_initial_values(self) -> None:
        for dtype, initial in (("f32", "f32"), ("i8", "i32")):
            product = matmul(5, 40, 6, dtype, extra=(initial,))
            self.agrees(replace(product, initial=3))

    def test_rescales(self) -> None:
        for rows, lanes in ((1, 8), (5, 24), (13, 100)):
            product = matmul(rows, lanes, 9, "i8", quantized(), ("i32", "i32"))
            self.agrees(product)
            data = products.operands(product)
            # Otherwise the test would say nothing.
            self.assertGreater(len(set(products.expected(product, data).tolist())), 5)

    def test_residuals_and_limits(self) -> None:
        floats = (
            _FLOAT_SUM,
            Node("load", "f32", operand=3),
            Node("addf", "f32", (0, 1)),
            Node("load", "f32", operand=4),
            Node("addf", "f32", (2, 3)),
            Node("constant", "f32", value=-20.0),
            Node("maximumf", "f32", (4, 5)),
            Node("constant", "f32", value=60.0),
            Node("minimumf", "f32", (6, 7)),
        )
        self.agrees(matmul(7, 40, 6, "f32", floats, ("f32", "residual f32")))
        residual = (
            _SUM,
            Node("load", "i8", operand=3),
            Node("extsi", "i32", (1,)),
            Node("constant", "i32", value=5000),
            Node("muli", "i32", (2, 3)),
            Node("addi", "i32", (0, 4)),
            Node("constant", "i32", value=12),
            Node("shrsi", "i32", (5, 6)),
            Node("trunci", "i8", (7,)),
        )
        self.agrees(matmul(7, 40, 6, "i8", residual, ("residual i8",)))

    def test_every_operation(self) -> None:
        """Each with constants on both sides, small and large, and with another vector."""
        integers = ("addi", "subi", "muli", "mulhi", "maxsi", "minsi", "andi", "ori", "xori")
        tested = set()
        for op in (
            *integers,
            "shli",
            "shrsi",
            "shrui",
            "addf",
            "subf",
            "mulf",
            "divf",
            "maximumf",
            "minimumf",
        ):
            is_float = op.endswith("f")
            dtype = "f32" if is_float else "i32"
            base = _FLOAT_SUM if is_float else _SUM
            for value, args in itertools.product((0, 7, 31, -3, 70_000), ((0, 1), (1, 0))):
                if op.startswith("sh") and not 0 <= value < 32:
                    continue
                nodes = (base, Node("constant", dtype, value=value), Node(op, dtype, args))
                try:
                    self.agrees(matmul(2, 8, 3, "f32" if is_float else "i8", nodes), ((128, 128),))
                    tested.add((op, args))
                except Unsupported:
                    continue
            self.assertIn((op, (0, 1)), tested)
            if op not in ("maximumf", "minimumf") and not op.startswith("sh"):
                nodes = (base, Node("load", dtype, operand=3), Node(op, dtype, (1, 0)))
                product = matmul(3, 24, 3, "f32" if is_float else "i8", nodes, (dtype,))
                self.agrees(product, ((128, 128),))
        casts = (
            _SUM,
            Node("sitofp", "f32", (0,)),
            Node("constant", "f32", value=0.37),
            Node("mulf", "f32", (1, 2)),
            Node("negf", "f32", (3,)),
            Node("fptosi", "i32", (4,)),
        )
        self.agrees(matmul(3, 24, 3, "i8", casts))

    def test_random_epilogues(self) -> None:
        """Values that live long, in any order, with every register in use."""
        generator = random.Random(3)
        written = 0
        for number in range(60):
            product = _random(generator)
            try:
                nest.write(product, 128)
            except (Unsupported, TooManyRegisters):
                continue
            written += 1
            with self.subTest(number=number, nodes=product.epilogue):
                self.agrees(product, ((128, 128),))
        self.assertGreater(written, 40)

    def test_nan_stays_nan(self) -> None:
        for op in ("maximumf", "minimumf"):
            nodes = (_FLOAT_SUM, Node("constant", "f32", value=0.0), Node(op, "f32", (0, 1)))
            product = matmul(2, 16, 4, "f32", nodes)
            data = products.operands(product)
            data[1][3] = _NAN
            result, _ = self.run_kernel(nest.write(product, 128), data, 128)
            right = products.expected(product, data)
            self.assertEqual(int(np.isnan(right).sum()), 2)
            np.testing.assert_array_equal(result, right)

    def test_a_wrong_kernel_is_noticed(self) -> None:
        """Changes one number of the text at a time."""
        for product in (
            matmul(5, 24, 9, "i8", quantized(), ("i32", "i32")),
            convolution(4, 24, 3, stride=2),
            convolution(4, 24, 3, "i8", depthwise=True),
        ):
            kernel = nest.write(product, 128)
            data = products.operands(product)
            right = products.expected(product, data)
            lines = kernel.text.splitlines()
            changes: dict[str, int] = collections.Counter()
            unnoticed: dict[str, int] = collections.Counter()
            for place, line in enumerate(lines):
                name = line.split()[0]
                changed = re.sub(r"(-?\d+)(?=\(|$)", lambda m: str(int(m[1]) + 1), line)
                if name not in ("addi", "li", "flw", "lb"):
                    continue
                changes[name] += 1
                text = "\n".join([*lines[:place], changed, *lines[place + 1 :]])
                with contextlib.suppress(riscv.Trap):
                    result, _ = self.run_kernel(replace(kernel, text=text), data, 128)
                    unnoticed[name] += np.array_equal(result, right)
            # Addresses also move at the end, when nothing follows that uses them.
            moves = unnoticed.pop("addi", 0)
            self.assertLess(moves, changes["addi"] / 2)
            self.assertEqual(sum(unnoticed.values()), 0, unnoticed)
            self.assertGreater(min(changes.values()), 1)


def _random(generator: random.Random) -> Product:
    """A product whose epilogue is a random graph of loads and operations, all of which the last one reads."""
    is_float = generator.random() < 0.6
    dtype = "f32" if is_float else "i32"
    loads = generator.randint(1, 4)
    nodes = [_FLOAT_SUM if is_float else _SUM]
    unread = [0]
    extra = []
    for number in range(loads):
        narrow = not is_float and generator.random() < 0.5
        extra.append(f"residual {'i8' if narrow else dtype}")
        nodes.append(Node("load", extra[-1].split()[1], operand=3 + number))
        if narrow:
            nodes.append(Node("extsi", "i32", (len(nodes) - 1,)))
        unread.append(len(nodes) - 1)
    while len(unread) > 1 or len(nodes) < 2 * loads + 6:
        op = generator.choice(
            ("maximumf", "addf", "subf") if is_float else ("maxsi", "addi", "muli")
        )
        first = generator.choice(unread)
        if op.startswith("max"):
            nodes.append(Node("constant", dtype, value=generator.randint(-9, 9)))
            args = (first, len(nodes) - 1)
        else:
            others = unread if generator.random() < 0.6 else range(len(nodes))
            second = generator.choice(
                [n for n in others if nodes[n].dtype == dtype and nodes[n].op != "constant"]
            )
            args = (first, second)
        nodes.append(Node(op, dtype, args))
        unread = [n for n in unread if n not in args] + [len(nodes) - 1]
    rows = generator.choice((1, 2, 7))
    lanes = generator.choice((8, 16, 40, 64))
    return matmul(rows, lanes, 2, "f32" if is_float else "i8", tuple(nodes), tuple(extra))


if __name__ == "__main__":
    unittest.main()
