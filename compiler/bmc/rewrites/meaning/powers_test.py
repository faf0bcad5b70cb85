"""Tests that powers and angles are those of C at their special points, by what IREE computes."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.meaning import powers

# Exponents whose powers IREE computes rightly as they are.
_RIGHT = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
_ROOTS = (-0.5, 0.5)
_INF, _NAN = float("inf"), float("nan")
_BASES = (-_INF, -7.5, -3, -2, -1, -0.5, -0.0, 0, 0.5, 1, 2, 3, _INF, _NAN)
_EXPONENTS = (
    *(-_INF, -1e30, -33554430, -3, -2.5, -2, -1, -1 / 3, -0.0, 0, 1 / 3, 0.5, 1, 2),
    *(3, 4, 8.5, 31, 16777217, 33554430, 1e30, _INF, _NAN),
)
_INVERSE = """%o = stablehlo.constant dense<1.0> : tensor<f32>
  %d = stablehlo.divide %o, %s : tensor<f32>
  %c = stablehlo.broadcast_in_dim %d"""
_SUM = """%t = stablehlo.constant dense<2.0> : T
  %w = stablehlo.power %x, %t : T
  %i = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%w init: %i) applies stablehlo.add across dimensions = [0]
    : (T, tensor<f32>) -> tensor<f32>
  %q = stablehlo.broadcast_in_dim %sum, dims = [] : (tensor<f32>) -> T
  %n ="""
_NORM = """#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
func.func @main(%x: T) -> tensor<f32> {
  %half = arith.constant 0.5 : f32
  %start = arith.constant START : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%start : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.generic {indexing_maps = [#id, #one], iterator_types = ["reduction"]}
      ins(%x : T) outs(%f : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %p = arith.mulf %a, %a : f32
      %q = arith.addf %p, %o : f32
      linalg.yield %q : f32
  } -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%e : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %p = math.powf %a, %half : f32
      linalg.yield %p : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
"""
_SIDES = (-_INF, -1e30, -2.5, -1, -1e-30, -0.0, 0, 1e-30, 1, 2.5, 1e30, _INF, _NAN)


class PowersTest(support.FolderTest):
    def computed(self, text: str, *inputs: Array) -> Array:
        """Runs a function of tensors of one shape, T in its text."""
        kind = f"tensor<{'x'.join(map(str, inputs[0].shape))}xf32>"
        (result,) = self.on_host(text.replace("T", kind), *inputs)
        return result

    def same(self, got: Array, wanted: Array, *inputs: Array) -> None:
        for numbers in zip(got.flat, wanted.flat, *(x.flat for x in inputs), strict=True):
            result, expected = numbers[:2]
            # IREE's own exp and log are not exact.
            np.testing.assert_allclose(result, expected, 1e-5, err_msg=str(numbers))
            if not np.isnan(expected):
                self.assertEqual(np.signbit(result), np.signbit(expected), numbers)

    def test_powers_of_all_kinds(self) -> None:
        bases, exponents = _pairs(_BASES, _EXPONENTS)
        wanted = _power(bases, exponents)
        for text in (_of_tensors("power"), _of_scalars("powf")):
            self.same(self.computed(text, bases, exponents), wanted, bases, exponents)

    def test_powers_of_negative_numbers_are_nan_in_iree(self) -> None:
        # If this fails, IREE does it itself, and the rewrite can go.
        bases, exponents = _pairs((-2, -1, 0), (0, 3, 4))
        with mock.patch.object(powers, "apply"):
            for text in (_of_tensors("power"), _of_scalars("powf")):
                got = self.computed(text, bases, exponents)
                self.assertTrue(np.isnan(got).any())

    def test_constant_exponents(self) -> None:
        bases = np.array(_BASES, np.float32)
        for exponent in (4.0, 5.0, -3.0, 1.5, -1.5, 0.25, 31.0, *_RIGHT, *_ROOTS):
            wanted = _power(bases, np.full_like(bases, exponent))
            for text in (_raised(exponent), _raised_in_body(exponent)):
                self.same(self.computed(text, bases), wanted, bases)

    def test_what_is_right_stays(self) -> None:
        for exponent in _RIGHT:
            for text in (_raised(exponent), _raised_in_body(exponent)):
                self.assertNotIn("absf", _rewritten(text))
        # The root that PyTorch takes of a norm's sum, and of a number that may be negative.
        norm = _raised(2.0).replace("%c = stablehlo.broadcast_in_dim %s", _INVERSE)
        self.assertIn("absf", _rewritten(norm))
        self.assertNotIn(
            "absf", _rewritten(norm.replace("power %x", "power %q").replace("%n =", _SUM))
        )
        # A sum that starts from a negative number may be one.
        started = _SUM.replace("dense<0.0>", "dense<-1.0>")
        self.assertIn(
            "absf", _rewritten(norm.replace("power %x", "power %q").replace("%n =", started))
        )
        for start, found in ((0.0, self.assertNotIn), (-1.0, self.assertIn)):
            found("absf %in", _rewritten(_NORM.replace("START", str(start))))
        base = _raised(10000.0).replace("%x, %c", "%c, %x")
        self.assertNotIn("absf", _rewritten(base))
        self.assertNotIn("absf", _rewritten(_of_tensors("power").replace("T", "tensor<4xi32>")))

    def test_each_number_is_looked_at_once(self) -> None:
        # There are 2 ** 40 ways from the power to the input.
        sums = [f"%n{i + 1} = stablehlo.add %n{i}, %n{i} : T" for i in range(40)]
        text = _raised(0.5).replace("power %x", "power %n40")
        first = "%n0 = stablehlo.exponential %x : T"
        text = text.replace("{\n", "\n".join(["{", first, *sums, ""]), 1)
        self.assertNotIn("absf", _rewritten(text))

    def test_tosa(self) -> None:
        bases, exponents = _pairs(_BASES, _EXPONENTS)
        text = _of_tensors("power").replace(
            "stablehlo.power %x, %y : T", "tosa.pow %x, %y : (T, T) -> T"
        )
        wanted = _power(bases, exponents)
        self.same(self.computed(text, bases, exponents), wanted, bases, exponents)

    def test_tosa_repeats_smaller_operands(self) -> None:
        columns = np.array(_EXPONENTS, np.float32)[np.newaxis]
        rows = np.array(_BASES, np.float32)[:, np.newaxis]
        bases, exponents = np.broadcast_arrays(rows, columns)
        wanted = _power(bases, exponents)
        for first, second in ((rows, columns), (bases, columns), (rows, exponents)):
            shapes = [f"tensor<{x.shape[0]}x{x.shape[1]}xf32>" for x in (first, second, wanted)]
            text = """func.func @main(%x: A, %y: B) -> R {
  %r = tosa.pow %x, %y : (A, B) -> R
  return %r : R
}"""
            for letter, kind in zip("ABR", shapes, strict=True):
                text = text.replace(f" {letter}", f" {kind}").replace(f"({letter}", f"({kind}")
            (got,) = self.on_host(text, first, second)
            self.same(got, wanted, bases, exponents)

    def test_even_exponents_cost_little(self) -> None:
        text = _rewritten(_raised(4.0))
        self.assertIn("math.absf", text)
        self.assertNotIn("arith.select", text)

    def test_cube_roots(self) -> None:
        bases = np.array(_BASES, np.float32)
        text = _raised(2.0).replace("power %x, %c", "cbrt %x")
        self.same(self.computed(text, bases), np.cbrt(bases), bases)
        with mock.patch.object(powers, "apply"):
            # If this fails, IREE does it itself, and _cube_root() can go.
            self.assertTrue(np.isnan(self.computed(text, np.full_like(bases, _INF))).all())

    def test_angles(self) -> None:
        y, x = _pairs(_SIDES, _SIDES)
        wanted = np.arctan2(y, x)
        for text in (_of_tensors("atan2"), _of_scalars("atan2")):
            self.same(self.computed(text, y, x), wanted, y, x)

    def test_halves(self) -> None:
        text = """func.func @main(%x: T, %y: T) -> T {
  %a = stablehlo.convert %x : (T) -> tensor<4xf16>
  %b = stablehlo.convert %y : (T) -> tensor<4xf16>
  %z = stablehlo.NAME %a, %b : tensor<4xf16>
  %r = stablehlo.convert %z : (tensor<4xf16>) -> T
  return %r : T
}
"""
        for name, x, y, wanted in (
            ("atan2", (0, -0.0, _INF, -0.0), (0, 1, _INF, -1), (0, -0.0, np.pi / 4, -np.pi)),
            ("power", (-2, 0, 1, -3), (3, 0, _INF, -1), (-8, 1, 1, -1 / 3)),
        ):
            inputs = np.array(x, np.float32), np.array(y, np.float32)
            got = self.computed(text.replace("NAME", name), *inputs)
            np.testing.assert_array_equal(got, np.array(wanted, np.float16).astype(np.float32))
            with mock.patch.object(powers, "apply"):
                got = self.computed(text.replace("NAME", name), *inputs)
                self.assertTrue(np.isnan(got).any(), name)

    def test_doubles(self) -> None:
        text = _of_tensors("power").replace("T", "tensor<6xf64>")
        x, y = np.array([-2, 0, -3, -0.0, -_INF, 2]), np.array([3, 0, 2, 3, 3, -1.0])
        (got,) = self.on_host(text, x, y)
        self.same(got, np.power(x, y), x, y)
        with mock.patch.object(powers, "apply"):
            (got,) = self.on_host(text, x, y)
            self.assertTrue(np.isnan(got).any())

    def test_angles_of_zeros_are_nan_in_iree(self) -> None:
        # If this fails, IREE does it itself, and _angle() can go.
        zeros = np.zeros(4, np.float32)
        with mock.patch.object(powers, "apply"):
            for text in (_of_tensors("atan2"), _of_scalars("atan2")):
                self.assertTrue(np.isnan(self.computed(text, zeros, zeros)).all())


def _pairs(first: tuple[float, ...], second: tuple[float, ...]) -> tuple[Array, Array]:
    """Returns all pairs of two numbers."""
    return (
        np.repeat(np.array(first, np.float32), len(second)),
        np.tile(np.array(second, np.float32), len(first)),
    )


def _power(bases: Array, exponents: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.power(bases, exponents)


def _rewritten(text: str) -> str:
    return support.rewritten(text.replace("T", "tensor<4xf32>"), powers.apply)


def _of_tensors(name: str) -> str:
    return f"""func.func @main(%x: T, %y: T) -> T {{
  %z = stablehlo.{name} %x, %y : T
  return %z : T
}}
"""


def _of_scalars(name: str) -> str:
    return f"""#id = affine_map<(d0) -> (d0)>
func.func @main(%x: T, %y: T) -> T {{
  %e = tensor.empty() : T
  %z = linalg.generic {{indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}}
      ins(%x, %y : T, T) outs(%e : T) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = math.{name} %a, %b : f32
      linalg.yield %r : f32
  }} -> T
  return %z : T
}}
"""


def _raised(exponent: float) -> str:
    """As PyTorch's exporter writes it."""
    return f"""func.func @main(%x: T) -> T {{
  %n = arith.constant dense<{exponent}> : tensor<1xf64>
  %f = stablehlo.convert %n : (tensor<1xf64>) -> tensor<1xf32>
  %s = stablehlo.reshape %f : (tensor<1xf32>) -> tensor<f32>
  %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> T
  %z = stablehlo.power %x, %c : T
  return %z : T
}}
"""


def _raised_in_body(exponent: float) -> str:
    return f"""#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>
func.func @main(%x: T) -> T {{
  %c = arith.constant dense<{exponent}> : tensor<f32>
  %e = tensor.empty() : T
  %z = linalg.generic {{indexing_maps = [#id, #one, #id], iterator_types = ["parallel"]}}
      ins(%x, %c : T, tensor<f32>) outs(%e : T) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = math.powf %a, %b : f32
      linalg.yield %r : f32
  }} -> T
  return %z : T
}}
"""


if __name__ == "__main__":
    unittest.main()
