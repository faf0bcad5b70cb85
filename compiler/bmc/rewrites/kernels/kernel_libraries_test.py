"""Tests who decides whether a kernel library computes a dispatch: its matcher, by cost, or tuning.json."""

from __future__ import annotations

import json
import math
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import support

from bmc.libraries import Call, Dispatch
from bmc.libraries.library import Library
from bmc.rewrites.layout import layouts

_OP = "matmul_4x64x32_f32"
# A matrix of long lines, which a kernel adds up that has no estimate.
_LINES = """func.func @main(%w: tensor<10x256xf32>, %x: tensor<256xf32>) -> tensor<10xf32> {
  %0 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0]
    : (tensor<10x256xf32>, tensor<256xf32>) -> tensor<10xf32>
  return %0 : tensor<10xf32>
}
"""
# Another product, of the first one's result.
_SECOND = """%v = stablehlo.constant dense<"0xVALUES"> : tensor<64x16xf32>
  %1 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0]
    : (tensor<4x64xf32>, tensor<64x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>""".replace(
    "VALUES", np.eye(64, 16, dtype=np.float32).tobytes().hex()
)
_SORT = """func.func @main(%x: tensor<8xi32>) -> tensor<8xi32> {
  %y = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<8xi32>) -> tensor<8xi32>
  return %y : tensor<8xi32>
}
"""
_SCALAR = "rv64gc"
_NONE: dict[str, Any] = {}


class KernelLibrariesTest(support.FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.costs: list[float] = []

    def library(self, function: str, costs: float) -> Library:
        """A library that takes what costs more."""

        def take(dispatch: Dispatch) -> Call | None:
            self.costs.append(dispatch.cost)
            operands = (dispatch.a, dispatch.b, dispatch.result)
            return Call(function, operands) if dispatch.cost > costs else None

        return Library(f"//k:{function}", "k.h", Path("take.py"), take)

    def called(
        self,
        *libraries: Library,
        entry: dict[str, Any] = _NONE,
        isa: str = support.ISA,
        text: str = support.MATMUL,
    ) -> str:
        """Returns the function that computes a product, "" if a kernel does."""
        tuning = self.write("tuning.json", json.dumps({isa: {_OP: entry} if entry else {}}))
        compiled = support.lower_text(text, self.folder / "m", isa, libraries, tuning=tuning)
        (export,) = compiled.plan.exports
        return export.call.taken.call.function if export.call else ""

    def test_matchers_compare_with_the_kernel_that_there_would_be(self) -> None:
        self.assertEqual(self.called(self.library("f", costs=0)), "f")
        (vectors,) = self.costs
        # A multiply-add for each row and term: all 64 columns are in a group of eight registers.
        self.assertTrue(4 * 32 <= vectors <= 4 * 4 * 32, vectors)
        self.assertEqual(self.called(self.library("f", costs=vectors)), "")
        self.assertEqual(self.called(self.library("f", costs=0), isa=_SCALAR), "f")
        self.assertEqual(self.costs[-1], 4 * 4 * 64 * 32)
        self.assertEqual(self.called(self.library("f", costs=0), text=_LINES), "f")
        # A group of eight registers has 64 of the 256 numbers of a line.
        self.assertTrue(10 * 4 * 2 <= self.costs[-1] <= 10 * 4 * 10, self.costs)
        few = _LINES.replace("256", "4").replace("<10", "<3")
        self.assertEqual(self.called(self.library("f", costs=0), text=few), "f")
        self.assertEqual(self.costs[-1], layouts.IREE * 3 * 4)
        self.assertNotIn(math.inf, self.costs)

    def test_an_entry_decides_for_the_matcher(self) -> None:
        cheap, dear = self.library("cheap", costs=0), self.library("dear", costs=1e9)
        self.assertEqual(self.called(dear), "")
        self.assertEqual(self.called(dear, entry={"library": "dear"}), "dear")
        self.assertEqual(self.called(cheap, dear), "cheap")
        self.assertEqual(self.called(cheap, dear, entry={"library": "dear"}), "dear")
        self.assertEqual(self.called(cheap, entry={"library": None}), "")

    def test_others_are_offered_behind_one_that_stays(self) -> None:
        text = support.MATMUL.replace("-> tensor<4x64xf32> {", "-> tensor<4x16xf32> {")
        text = text.replace("return %0 : tensor<4x64xf32>", _SECOND)
        tuning = self.write("tuning.json", json.dumps({support.ISA: {_OP: {"library": None}}}))
        library = self.library("f", costs=0)
        compiled = support.lower_text(text, self.folder / "m", libraries=(library,), tuning=tuning)
        calls = [export.call for export in compiled.plan.exports]
        self.assertEqual([call is not None for call in calls], [False, True])

    def test_a_kernel_stays_bmcs_own_without_a_library(self) -> None:
        """Without any libraries, the entry says nothing."""
        path = self.write("tuning.json", json.dumps({support.ISA: {_OP: {"library": None}}}))
        for has_libraries in (True, False):
            libraries = (self.library("f", costs=0),) if has_libraries else ()
            compiled = support.lower_text(
                support.MATMUL, self.folder / "m", libraries=libraries, tuning=path
            )
            (config,) = compiled.lowered.configs
            self.assertEqual((config.own, config.tuned), (True, has_libraries))

    def test_a_function_that_no_library_uses_is_an_error(self) -> None:
        library = self.library("f", costs=0)
        self.refuses(
            "bad-tuning",
            _OP,
            "'g'",
            "would use f",
            call=lambda: self.called(library, entry={"library": "g"}),
        )
        never = self.library("f", costs=math.inf)
        self.refuses(
            "bad-tuning",
            "none of them takes it",
            call=lambda: self.called(never, entry={"library": "f"}),
        )
        # A sort is not offered to them.
        name = "elementwise"
        tuning = self.write("tuning.json", json.dumps({support.ISA: {name: {"library": "f"}}}))
        self.refuses(
            "bad-tuning",
            name,
            "it is not offered to them",
            call=lambda: support.lower_text(
                _SORT, self.folder / "m", libraries=(library,), tuning=tuning
            ),
        )


if __name__ == "__main__":
    unittest.main()
