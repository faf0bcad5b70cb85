"""Tests that small unsigned integers of constant expressions are divided and shifted as everywhere else."""

from __future__ import annotations

import re
import unittest
from pathlib import Path

import numpy as np
import support

from bmc.rewrites.iree import constant_bytes

_REPORT = Path("docs/upstream/iree-vm-unsigned-bytes.md")
_A = np.array([0, 1, 100, 127, 128, 200, 255, 7], np.uint8)
_B = np.array([1, 2, 3, 100, 3, 200, 254, 255], np.uint8)

# Mixes what is constant with an input, because a result must not be a constant.
_STABLEHLO = """
func.func @main(%x: tensor<{n}x{t}>) -> tensor<{n}x{t}> {{
  %a = stablehlo.constant dense<"0x{a}"> : tensor<{n}x{t}>
  %b = stablehlo.constant dense<"0x{b}"> : tensor<{n}x{t}>
  %0 = stablehlo.{op} %a, %b : tensor<{n}x{t}>
  %1 = stablehlo.xor %x, %0 : tensor<{n}x{t}>
  return %1 : tensor<{n}x{t}>
}}
"""
_LINALG = """
#map = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<{n}x{t}>) -> tensor<{n}x{t}> {{
  %a = arith.constant dense<"0x{a}"> : tensor<{n}x{t}>
  %b = arith.constant dense<"0x{b}"> : tensor<{n}x{t}>
  %e = tensor.empty() : tensor<{n}x{t}>
  %0 = linalg.generic {{indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]}}
      ins(%a, %b : tensor<{n}x{t}>, tensor<{n}x{t}>) outs(%e : tensor<{n}x{t}>) {{
  ^bb0(%l: {t}, %r: {t}, %o: {t}):
    %c = arith.{op} %l, %r : {t}
    linalg.yield %c : {t}
  }} -> tensor<{n}x{t}>
  %1 = arith.xori %x, %0 : tensor<{n}x{t}>
  return %1 : tensor<{n}x{t}>
}}
"""


def _text(form: str, op: str, element: str, a: np.ndarray, b: np.ndarray) -> str:
    return form.format(op=op, t=element, n=a.size, a=a.tobytes().hex(), b=b.tobytes().hex())


class ConstantBytesTest(support.FolderTest):
    def weights(self, text: str) -> np.ndarray:
        support.compile_text(text, self.folder)
        return np.fromfile(self.folder / "out/weights.bin", np.uint8)

    def test_stored_integers_are_right(self) -> None:
        wide = _A.astype(np.uint16) * 257
        shifts = _B % 8
        for form, op, element, a, b, want in (
            (_STABLEHLO, "divide", "ui16", wide, _B.astype(np.uint16), wide // _B),
            (_STABLEHLO, "shift_right_logical", "i8", _A, shifts, _A >> shifts),
            (_LINALG, "remui", "i16", wide, _B.astype(np.uint16), wide % _B),
            (_LINALG, "shrui", "i8", _A, shifts, _A >> shifts),
        ):
            with self.subTest(op):
                found = self.weights(_text(form, op, element, a, b))[: want.nbytes]
                self.assertEqual(found.view(want.dtype).tolist(), want.tolist())

    def test_iree_alone_takes_them_for_signed_as_reported(self) -> None:
        (module,) = re.findall(r"^```mlir\n(.*?)^```", _REPORT.read_text(), re.M | re.S)
        with support.without("constant_bytes"):
            found = self.weights(module)[:8].tolist()
        fixed = "IREE has fixed this: drop rewrites/iree/constant_bytes.py"
        self.assertEqual(found, [0, 0, 50, 63, 192, 228, 255, 3], fixed)

    def test_only_constants_that_need_it_are_rewritten(self) -> None:
        for form, op, element, wide in (
            (_STABLEHLO, "divide", "ui8", "ui32"),
            (_LINALG, "divui", "i8", "i32"),
        ):
            text = _text(form, op, element, _A, _B)
            self.assertIn(wide, support.rewritten(text, constant_bytes.apply))
            of_input = text.replace(f"{op} %a", f"{op} %x").replace("ins(%a", "ins(%x")
            self.assertNotIn(wide, support.rewritten(of_input, constant_bytes.apply))
            signed = text.replace("divui", "divsi").replace("ui8", "i8")
            self.assertNotIn(wide, support.rewritten(signed, constant_bytes.apply))


if __name__ == "__main__":
    unittest.main()
