"""Tests which weights stay packed, with which bytes, and that products of them are what they were."""

from __future__ import annotations

import unittest

import numpy as np
import support

from bmc.dtype import Array
from bmc.rewrites.weights import packed_weights

_CHANNELS, _GROUPS = 64, 3
_RNG = np.random.default_rng(7)
_NIBBLES = _RNG.integers(0, 256, (_CHANNELS, _GROUPS, 16)).astype(np.uint8)
_BYTES = _RNG.integers(-128, 128, (_CHANNELS, _GROUPS, 32)).astype(np.int8)
_SCALES = _RNG.uniform(-1, 1, (_CHANNELS, _GROUPS)).astype(np.float16)
_MINS = _RNG.uniform(-1, 1, (_CHANNELS, _GROUPS)).astype(np.float16)
_KIND = f"{_CHANNELS}x{_GROUPS}x32"


def _hex(array: Array) -> str:
    return f'dense<"0x{array.tobytes().hex()}">'


_UNPACK = f"""
  %n = stablehlo.constant {_hex(_NIBBLES)} : tensor<{_CHANNELS}x{_GROUPS}x16xui8>
  %15 = stablehlo.constant dense<15> : tensor<{_CHANNELS}x{_GROUPS}x16xi32>
  %4 = stablehlo.constant dense<4> : tensor<{_CHANNELS}x{_GROUPS}x16xi32>
  %8 = stablehlo.constant dense<ZERO> : tensor<{_KIND}xi32>
  %wide = stablehlo.convert %n : (tensor<{_CHANNELS}x{_GROUPS}x16xui8>) -> tensor<{_CHANNELS}x{_GROUPS}x16xi32>
  %low = stablehlo.and %wide, %15 : tensor<{_CHANNELS}x{_GROUPS}x16xi32>
  %up = stablehlo.shift_right_arithmetic %wide, %4 : tensor<{_CHANNELS}x{_GROUPS}x16xi32>
  %all = stablehlo.concatenate %low, %up, dim = 2
    : (tensor<{_CHANNELS}x{_GROUPS}x16xi32>, tensor<{_CHANNELS}x{_GROUPS}x16xi32>) -> tensor<{_KIND}xi32>
  %codes = stablehlo.subtract %all, %8 : tensor<{_KIND}xi32>
  %numbers = stablehlo.convert %codes : (tensor<{_KIND}xi32>) -> tensor<{_KIND}xf32>"""
_WHOLE = f"""
  %n = stablehlo.constant {_hex(_BYTES)} : tensor<{_KIND}xi8>
  %numbers = stablehlo.convert %n : (tensor<{_KIND}xi8>) -> tensor<{_KIND}xf32>"""


def _broadcast(name: str, array: Array) -> str:
    small = f"{_CHANNELS}x{_GROUPS}"
    return f"""
  %h{name} = stablehlo.constant {_hex(array)} : tensor<{small}xf16>
  %f{name} = stablehlo.convert %h{name} : (tensor<{small}xf16>) -> tensor<{small}xf32>
  %{name} = stablehlo.broadcast_in_dim %f{name}, dims = [0, 1] : (tensor<{small}xf32>) -> tensor<{_KIND}xf32>"""


def _text(codes: str, mins: bool = False, rows: int = 2, more: str = "", result: str = "%y") -> str:
    sums = _GROUPS * 32
    weights = _broadcast("mins", _MINS) + (
        f"\n  %w = stablehlo.add %scaled, %mins : tensor<{_KIND}xf32>" if mins else ""
    )
    last = "%w" if mins else "%scaled"
    return f"""func.func @main(%x: tensor<{rows}x{sums}xf32>, %i: tensor<2xi64>)
    -> tensor<{rows}x{_CHANNELS}xf32> {{
{codes}
{_broadcast("scales", _SCALES)}
  %scaled = stablehlo.multiply %numbers, %scales : tensor<{_KIND}xf32>
{weights}
  %flat = stablehlo.reshape {last} : (tensor<{_KIND}xf32>) -> tensor<{_CHANNELS}x{sums}xf32>
  %turned = stablehlo.transpose %flat, dims = [1, 0]
    : (tensor<{_CHANNELS}x{sums}xf32>) -> tensor<{sums}x{_CHANNELS}xf32>
  %y = stablehlo.dot_general %x, %turned, contracting_dims = [1] x [0]
    : (tensor<{rows}x{sums}xf32>, tensor<{sums}x{_CHANNELS}xf32>) -> tensor<{rows}x{_CHANNELS}xf32>{more}
  return {result} : tensor<{rows}x{_CHANNELS}xf32>
}}
"""


def _q4(zero: int, mins: bool = False, rows: int = 2) -> str:
    return _text(_UNPACK.replace("ZERO", str(zero)), mins, rows)


def _weights(codes: Array, mins: bool) -> Array:
    weights = codes.astype(np.float32) * _SCALES.astype(np.float32)[..., None]
    if mins:
        weights = weights + _MINS.astype(np.float32)[..., None]
    return weights.reshape(_CHANNELS, -1).T


_CODES = np.concatenate([_NIBBLES & 15, _NIBBLES >> 4], -1).astype(np.int32)
_FORMATS = {
    "q4_0": (_q4(8), _weights(_CODES - 8, False)),
    "q4_1": (_q4(0, mins=True), _weights(_CODES, True)),
    "asymmetric": (_q4(8, mins=True), _weights(_CODES - 8, True)),
    "q8_0": (_text(_WHOLE), _weights(_BYTES, False)),
}
_X = _RNG.standard_normal((2, _GROUPS * 32)).astype(np.float32)
_I = np.array([3, 63])


# Inputs that are rounded to bytes, with a factor for each group.
_BYTES_OF_X = f"""
  %blocks = stablehlo.reshape %x : (tensor<2x{_GROUPS * 32}xf32>) -> tensor<2x{_GROUPS}x32xf32>
  %least = stablehlo.constant dense<LEAST> : tensor<f32>
  %most = stablehlo.constant dense<127.0> : tensor<f32>
  %clamped = stablehlo.clamp %least, %blocks, %most
    : (tensor<f32>, tensor<2x{_GROUPS}x32xf32>, tensor<f32>) -> tensor<2x{_GROUPS}x32xf32>
  %bytes = stablehlo.convert %clamped : (tensor<2x{_GROUPS}x32xf32>) -> tensor<2x{_GROUPS}x32xi8>
  %whole = stablehlo.convert %bytes : (tensor<2x{_GROUPS}x32xi8>) -> tensor<2x{_GROUPS}x32xf32>
  %factor = stablehlo.constant dense<0.5> : tensor<2x{_GROUPS}x1xf32>
  %factors = stablehlo.broadcast_in_dim %factor, dims = [0, 1, 2]
    : (tensor<2x{_GROUPS}x1xf32>) -> tensor<2x{_GROUPS}x32xf32>
  %products = stablehlo.multiply %whole, %factors : tensor<2x{_GROUPS}x32xf32>
  %rounded = stablehlo.reshape %products : (tensor<2x{_GROUPS}x32xf32>) -> tensor<2x{_GROUPS * 32}xf32>
"""


def _of_bytes(text: str, least: str) -> str:
    """Returns a model whose product reads rounded inputs."""
    inputs = _BYTES_OF_X.replace("LEAST", least)
    return text.replace("  %y = ", f"{inputs}  %y = ", 1).replace(
        "dot_general %x", "dot_general %rounded"
    )


class PackedWeightsTest(support.FolderTest):
    def test_products_are_what_they_were(self) -> None:
        for name, (text, weights) in _FORMATS.items():
            with self.subTest(name):
                rewritten = support.rewritten(text, packed_weights.apply)
                self.assertNotIn("dot_general", rewritten)
                (result,) = self.on_host(rewritten, _X, _I)
                np.testing.assert_allclose(result, _X @ weights, rtol=1e-5, atol=1e-4)

    def test_weights_have_the_bytes_of_the_file(self) -> None:
        turned = np.moveaxis(_NIBBLES, 0, -1).tobytes()
        scales = _SCALES.T.tobytes()
        for name, expected in (
            ("q4_0", [turned, scales]),
            ("q4_1", [turned, scales, _MINS.T.tobytes()]),
            ("q8_0", [np.moveaxis(_BYTES, 0, -1).tobytes(), scales]),
        ):
            with self.subTest(name):
                lowered = support.lower_text(_FORMATS[name][0], self.folder).lowered
                packed = lowered.weights
                stored = [
                    packed.data[w.offset : w.offset + w.length] for w in packed.table.values()
                ]
                self.assertTrue(sorted(stored) == sorted(expected))
                (config,) = lowered.configs
                self.assertEqual((config.own, config.refusal), (True, ""))

    def test_on_a_hart_without_vectors_they_stay_packed_too(self) -> None:
        lowered = support.lower_text(_FORMATS["q4_0"][0], self.folder, isa="rv64gc").lowered
        self.assertEqual(len(lowered.weights.data), _NIBBLES.nbytes + _SCALES.nbytes)

    def test_rows_of_the_same_table_are_read_from_the_packed_one(self) -> None:
        gather = f"""
  %at = stablehlo.reshape %i : (tensor<2xi64>) -> tensor<2x1xi64>
  %rows = "stablehlo.gather"(%n, %at) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, {_GROUPS}, 32>}}> : (tensor<{_KIND}xi8>, tensor<2x1xi64>) -> tensor<2x{_GROUPS}x32xi8>
  %half = "stablehlo.gather"(%hscales, %at) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, {_GROUPS}>}}> : (tensor<{_CHANNELS}x{_GROUPS}xf16>, tensor<2x1xi64>)
    -> tensor<2x{_GROUPS}xf16>
  %wide = stablehlo.convert %rows : (tensor<2x{_GROUPS}x32xi8>) -> tensor<2x{_GROUPS}x32xf32>
  %float = stablehlo.convert %half : (tensor<2x{_GROUPS}xf16>) -> tensor<2x{_GROUPS}xf32>
  %each = stablehlo.broadcast_in_dim %float, dims = [0, 1] : (tensor<2x{_GROUPS}xf32>) -> tensor<2x{_GROUPS}x32xf32>
  %times = stablehlo.multiply %wide, %each : tensor<2x{_GROUPS}x32xf32>
  %line = stablehlo.reshape %times : (tensor<2x{_GROUPS}x32xf32>) -> tensor<2x{32 * _GROUPS}xf32>
  %part = stablehlo.slice %line [0:2, 0:{_CHANNELS}]
    : (tensor<2x{32 * _GROUPS}xf32>) -> tensor<2x{_CHANNELS}xf32>
  %z = stablehlo.add %y, %part : tensor<2x{_CHANNELS}xf32>"""
        text = _text(_WHOLE, more=gather, result="%z")
        weights = _FORMATS["q8_0"][1]
        (result,) = self.on_host(support.rewritten(text, packed_weights.apply), _X, _I)
        expected = _X @ weights + weights.T[_I][:, :_CHANNELS]
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)
        lowered = support.lower_text(text, self.folder).lowered
        self.assertEqual(len(lowered.weights.data), _BYTES.nbytes + _SCALES.nbytes)

    def test_bytes_stay_bytes_if_their_sums_fit(self) -> None:
        for name, least, kind in (
            ("q4_0", "-127.0", "i8"),
            ("q4_1", "-127.0", "i8"),
            ("q4_0", "-128.0", "f32"),  # 16 bits would not hold all sums
            ("q8_0", "-127.0", "f32"),
        ):
            with self.subTest(name, least=least):
                text, weights = _FORMATS[name]
                rewritten = support.rewritten(_of_bytes(text, least), packed_weights.apply)
                codes = "1x32" if name == "q8_0" else "2x16"
                self.assertRegex(
                    rewritten, rf"linalg.generic .* tensor<2x{_GROUPS}x{codes}x{kind}>"
                )
                whole = np.rint(40 * _X)
                (result,) = self.on_host(rewritten, whole, _I)
                x = np.clip(whole, -127, 127) / 2
                np.testing.assert_allclose(result, x @ weights, rtol=1e-5, atol=1e-2)

    def test_others_stay(self) -> None:
        text = _FORMATS["q4_0"][0]
        for changed in (
            text.replace("dense<8>", "dense<300>"),
            text.replace(_hex(_SCALES), _hex(_SCALES * np.float16(np.inf))),
            # Scales that f16 does not hold.
            text.replace(
                "%scales = stablehlo.broadcast_in_dim %fscales",
                f"%tenth = stablehlo.constant dense<0.1> : tensor<{_CHANNELS}x{_GROUPS}xf32>\n"
                "  %scales = stablehlo.broadcast_in_dim %tenth",
            ),
            text.replace("%x: tensor<2x96xf32>", "%x: tensor<96x2xf32>")
            .replace("[1] x [0]", "[0] x [0]")
            .replace(": (tensor<2x96xf32>, tensor<96x64", ": (tensor<96x2xf32>, tensor<96x64"),
        ):
            self.assertNotEqual(changed, text)
            self.assertIn("dot_general", support.rewritten(changed, packed_weights.apply))


if __name__ == "__main__":
    unittest.main()
