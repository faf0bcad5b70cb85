"""Contractions are recognized in a few lines of IR."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import TypeVar

from iree.compiler import ir

from bmc.ir import contraction, ir_util
from bmc.ir.contraction import Axis, Contraction

T = TypeVar("T")

_MULTIPLY_ADD = """%p = arith.mulf %a, %b : f32
  %s = arith.addf %o, %p : f32"""


def _of(text: str, ask: Callable[[ir_util.Op], T]) -> T:
    """Asks about the only linalg operation of a module."""
    with ir.Context():
        module = ir.Module.parse(text)
        (op,) = [op for op in ir_util.walk(module.operation) if op.name.startswith("linalg.")][:1]
        return ask(op)


def _generic(
    image: str, body: str = _MULTIPLY_ADD, weight: str = "i, c, n", result: str = "y, x, n"
) -> str:
    """result[y, x, n] = sum over i, c of image * weight, with other maps or another body."""
    dims = "(y, x, n, i, c)"
    maps = ", ".join(f"affine_map<{dims} -> ({m})>" for m in (image, weight, result))
    a = "x".join("?" for _ in image.split(","))
    b = "x".join("?" for _ in weight.split(","))
    r = "x".join("?" for _ in result.split(","))
    return f"""func.func @f(%a: tensor<{a}xf32>, %b: tensor<{b}xf32>, %o: tensor<{r}xf32>) {{
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types =
      ["parallel", "parallel", "parallel", "reduction", "reduction"]}}
      ins(%a, %b : tensor<{a}xf32>, tensor<{b}xf32>) outs(%o : tensor<{r}xf32>) {{
  ^bb0(%a0: f32, %b0: f32, %o0: f32):
  {body.replace("%a,", "%a0,").replace("%b ", "%b0 ").replace("%o,", "%o0,")}
    linalg.yield %s : f32
  }} -> tensor<{r}xf32>
  return
}}
"""


def _read(text: str) -> Contraction | None:
    return _of(text, contraction.read)


def _accumulator(text: str) -> str:
    return _of(text, contraction.accumulator)


class ReadTest(unittest.TestCase):
    def test_window_stride_and_dilation(self) -> None:
        for index, axis in (
            ("y + i", Axis(0, 1, 3, 1)),
            ("y * 2 + i", Axis(0, 2, 3, 1)),
            ("y + i * 3", Axis(0, 1, 3, 3)),
            ("i * 3 + y * 2", Axis(0, 2, 3, 3)),
        ):
            found = _read(_generic(f"{index}, x, c"))
            self.assertEqual(found, Contraction((axis, Axis(1), Axis(4)), (3, 4, 2), (0, 1, 2)))
            assert found is not None
            self.assertEqual(found.windows, (axis,))
            self.assertTrue(found.counts_up)

    def test_named_products_with_casts(self) -> None:
        found = _read(
            """func.func @f(%a: tensor<2x3xi8>, %b: tensor<3x4xi8>, %o: tensor<2x4xi32>) {
  %0 = linalg.matmul ins(%a, %b : tensor<2x3xi8>, tensor<3x4xi8>) outs(%o : tensor<2x4xi32>)
    -> tensor<2x4xi32>
  return
}
"""
        )
        self.assertEqual(found, Contraction((Axis(0), Axis(2)), (2, 1), (0, 1)))

    def test_what_does_more_than_to_multiply_and_add_is_none(self) -> None:
        plain = "y + i, x, c"
        self.assertIsNotNone(_read(_generic(plain)))
        for body in (
            # Reordered loops would change what this counts.
            "%n = linalg.index 0 : index\n" + _MULTIPLY_ADD,
            "%s = arith.addf %o, %a0 : f32",
            "%p = arith.mulf %a, %a0 : f32\n%s = arith.addf %o, %p : f32",
            "%p = arith.addf %a, %b : f32\n%s = arith.addf %o, %p : f32",
            "%p = arith.mulf %a, %b : f32\n%s = arith.maximumf %o, %p : f32",
        ):
            self.assertIsNone(_read(_generic(plain, body)), body)

    def test_what_is_read_in_another_way_is_none(self) -> None:
        for image in ("y floordiv 2, x, c", "y + i + 1, x, c", "i + c, x, y", "y + x + i, c"):
            self.assertIsNone(_read(_generic(image)), image)
        self.assertIsNone(_read(_generic("y, x, c", weight="i + c, n, i, c")))


class AccumulatorTest(unittest.TestCase):
    def test_products_of_two_inputs(self) -> None:
        self.assertEqual(_accumulator(_generic("y + i, x, c")), "f32")
        shifted = "%d = arith.subf %a, %o0 : f32\n%p = arith.mulf %d, %b0 : f32\n%s = arith.addf %o, %p : f32"
        self.assertEqual(_accumulator(_generic("y + i, x, c", shifted)), "f32")
        self.assertIsNone(_read(_generic("y + i, x, c", shifted)))

    def test_a_variance_is_none(self) -> None:
        square = "%d = arith.subf %a, %b0 : f32\n%p = arith.mulf %d, %d : f32\n%s = arith.addf %o, %p : f32"
        self.assertEqual(_accumulator(_generic("i, c, x", square, weight="y, x, n")), "")

    def test_bodies_that_read_each_value_twice(self) -> None:
        # Each way to the input on its own would be 2^60 ways.
        squares = "\n".join(f"%p{i} = arith.mulf %p{i - 1}, %p{i - 1} : f32" for i in range(1, 61))
        body = f"%p0 = arith.addf %a, %a0 : f32\n{squares}\n%s = arith.addf %o, %p60 : f32"
        self.assertEqual(_accumulator(_generic("y + i, x, c", body)), "")


class WindowsTest(unittest.TestCase):
    def test_any_operation(self) -> None:
        sums = "%s = arith.addf %o, %a0 : f32"
        for image, wanted in (("y + i * 2, x, c", True), ("y * 2, x, c", False)):
            self.assertIs(_of(_generic(image, sums), contraction.reads_windows), wanted)


if __name__ == "__main__":
    unittest.main()
