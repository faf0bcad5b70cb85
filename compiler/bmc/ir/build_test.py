"""Tests what is built, as the IR that it prints."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
from iree.compiler import ir
from iree.compiler.dialects import tensor

from bmc.ir import build, ir_util


def _built(arguments: str, make: Callable[..., Any]) -> list[str]:
    """Returns the operations that `make` adds to a function with these arguments, which it gets."""
    text = f"func.func @main({arguments}) {{\n  return\n}}"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        block = module.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            make(*block.arguments)
        module.operation.verify()
        return [str(op) for op in block.operations][:-1]


def _i(bits: int) -> Any:
    return ir.IntegerType.get_signless(bits)


class ConstantTest(unittest.TestCase):
    def test_numbers_of_all_kinds(self) -> None:
        for number, kind, printed in (
            (200, "i8", "-56 : i8"),
            (-3, "i32", "-3 : i32"),
            (2**63 - 1, "i64", "9223372036854775807 : i64"),
            (7, "index", "7 : index"),
            (-0.0, "f32", "-0.000000e+00 : f32"),
            (1.5, "vector<4xf32>", "dense<1.500000e+00> : vector<4xf32>"),
            (3, "tensor<2x2xi16>", "dense<3> : tensor<2x2xi16>"),
        ):

            def make(number: float = number, kind: str = kind) -> Any:
                return build.number(number, ir.Type.parse(kind))

            with self.subTest(kind=kind):
                (op,) = _built("", make)
                self.assertTrue(op.endswith(f"arith.constant {printed}"), op)

    def test_arrays_keep_their_elements(self) -> None:
        turned = np.arange(6, dtype=np.int8).reshape(2, 3).T
        (op,) = _built("", lambda: build.array(turned, _i(8)))
        self.assertIn("dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi8>", op)
        (op,) = _built("", lambda: build.array(np.array([1, -2], np.int32)))
        self.assertIn("dense<[1, -2]> : tensor<2xi32>", op)


class OperationTest(unittest.TestCase):
    def test_type_of_the_first_operand(self) -> None:
        (op,) = _built("%x: i32, %y: i32", lambda x, y: build.same("arith.addi", x, y))
        self.assertIn("arith.addi %arg0, %arg1 : i32", op)

    def test_again_keeps_what_does_not_change(self) -> None:
        def make(x: Any, y: Any) -> None:
            wrap = ir.Attribute.parse("#arith.overflow<nsw>")
            first = ir_util.definition(build.same("arith.addi", x, y, overflowFlags=wrap))
            assert first is not None
            build.again(first, [x.type], [y, x])
            none = ir.Attribute.parse("#arith.overflow<none>")
            build.again(first, [x.type], [y, x], overflowFlags=none)

        _, same, changed = _built("%x: i32, %y: i32", make)
        self.assertIn("arith.addi %arg1, %arg0 overflow<nsw> : i32", same)
        self.assertIn("arith.addi %arg1, %arg0 : i32", changed)

    def test_elementwise(self) -> None:
        def make(image: Any, channel: Any) -> Any:
            each = ir.AffineMap.get_identity(2)
            last = ir.AffineMap.get(2, 0, [ir.AffineExpr.get_dim(1)])
            empty = tensor.empty([2, 3], _i(32))
            return build.elementwise(
                [image, channel],
                empty,
                [each, last, each],
                lambda x, y: build.same("arith.addi", x, y),
            )

        _, generic = _built("%image: tensor<2x3xi32>, %channel: tensor<3xi32>", make)
        self.assertIn('iterator_types = ["parallel", "parallel"]', generic)
        self.assertIn("arith.addi %in, %in_0 : i32", generic)

    def test_slices(self) -> None:
        (op,) = _built("%x: tensor<9x4xi8>", lambda x: build.sliced(x, [1, 0], [4, 4], [2, 1]))
        self.assertIn("%arg0[1, 0] [4, 4] [2, 1] : tensor<9x4xi8> to tensor<4x4xi8>", op)


if __name__ == "__main__":
    unittest.main()
