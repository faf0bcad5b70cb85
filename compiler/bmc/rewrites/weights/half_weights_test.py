"""Tests which weights are stored as f16, with which bytes, and which models and targets are refused."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import support

from bmc import target
from bmc.compile import CompileOptions, Lowered, lower
from bmc.kernels.read import reduction
from bmc.kernels.schedule import gemm
from bmc.kernels.unsupported import Unsupported

_ISA = "rv64gcv_zfh_zvfh_zvl256b"
_RNG = np.random.default_rng(3)
_HALVES = _RNG.standard_normal((32, 64)).astype(np.float16)
# In other places than f16 has digits, if it is read as f32.
_FLOATS = _RNG.standard_normal((64, 64)).astype(np.float32)
_MODEL = f"""func.func @main(%x: tensor<12x32xf32>) -> tensor<12x64xf32> {{
  %w = stablehlo.constant dense<"0x{_HALVES.tobytes().hex()}"> : tensor<32x64xf16>
  %f = stablehlo.convert %w : (tensor<32x64xf16>) -> tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %f, contracting_dims = [1] x [0]
    : (tensor<12x32xf32>, tensor<32x64xf32>) -> tensor<12x64xf32>
  %v = stablehlo.constant dense<"0x{_FLOATS.tobytes().hex()}"> : tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0]
    : (tensor<12x64xf32>, tensor<64x64xf32>) -> tensor<12x64xf32>
  return %1 : tensor<12x64xf32>
}}
"""
# The same, but rounded, so that nothing is left that f16 holds exactly.
_NONE = (
    _MODEL.replace(_HALVES.tobytes().hex(), (_HALVES * 0 + 1).tobytes().hex())
    .replace("%f, contracting", "%g, contracting")
    .replace(
        "  %0 = ",
        "  %c = stablehlo.constant dense<0.1> : tensor<32x64xf32>\n"
        "  %g = stablehlo.multiply %f, %c : tensor<32x64xf32>\n  %0 = ",
        1,
    )
)


class HalfWeightsTest(support.FolderTest):
    def lowered(self, text: str, isa: str = _ISA, stored: str = "f16") -> Lowered:
        model = support.import_text(text, self.folder / "imported")
        options = CompileOptions("m", target.find(isa), self.folder, stored_weights=stored)
        return lower(model, options, Path(tempfile.mkdtemp(dir=self.folder)))

    def stored(self, lowered: Lowered) -> dict[str, Any]:
        """Returns the bytes of the weights by type."""
        packed = lowered.weights
        return {
            weight.dtype: packed.data[weight.offset : weight.offset + weight.length]
            for weight in packed.table.values()
        }

    def test_those_that_f16_holds_exactly(self) -> None:
        lowered = self.lowered(_MODEL)
        self.assertEqual(self.stored(lowered), {"f16": _HALVES.tobytes(), "f32": _FLOATS.tobytes()})
        self.assertTrue(all(config.own for config in lowered.configs))
        plain = self.lowered(_MODEL, stored="")
        self.assertEqual(
            plain.weights.distinct_bytes, lowered.weights.distinct_bytes + 2 * _HALVES.size
        )

    def test_without_a_kernel_of_our_own_they_stay(self) -> None:
        chosen = gemm.chosen

        def refuse(product: Any, *arguments: Any) -> Any:
            if product.scheme.extends_a or product.scheme.extends_floats:
                raise Unsupported("f16 as f32")
            return chosen(product, *arguments)

        others = mock.patch.object(reduction, "read", side_effect=Unsupported("any"))
        with mock.patch.object(gemm, "chosen", side_effect=refuse), others:
            self.refuses(
                "no-f16-weights", "can be stored as f16", call=lambda: self.lowered(_MODEL)
            )

    def test_where_there_are_none(self) -> None:
        self.refuses(
            "no-f16-weights",
            "f16 must hold each of its numbers exactly",
            call=lambda: self.lowered(_NONE),
        )

    def test_harts_without_f16(self) -> None:
        for isa in ("rv64gc", "rv64gcv_zvl256b", "rv32imac"):
            self.refuses(
                "no-f16",
                f"the model is to store weights in f16, and {isa} has no instructions for that",
                "build it for rv64gcv_zfh_zvfh_zvl128b, ",
                "or leave out stored_weights",
                call=lambda isa=isa: self.lowered(_MODEL, isa),
            )


if __name__ == "__main__":
    unittest.main()
