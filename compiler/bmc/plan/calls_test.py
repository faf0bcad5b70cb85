"""Tests what the plan of a model has where a kernel library computes a dispatch."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from pathlib import Path

import numpy as np
import support

from bmc.emit import plan_c
from bmc.libraries import Call, Dispatch, Packed, Scratch, Sums
from bmc.libraries.dispatch import Array
from bmc.libraries.library import Library
from bmc.plan.calls import Place
from bmc.plan.tables import Access, Region

_WEIGHT = np.frombuffer(bytes.fromhex(support.MATMUL.split('"0x')[1].split('"')[0]), np.float32)
# Both factors are inputs.
_INPUTS = """func.func @main(%x: tensor<4x32xf32>, %w: tensor<32x64xf32>) -> tensor<4x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}
"""


def _library(take: Callable[[Dispatch], Call | None]) -> Library:
    return Library("//k:vendor", "k/vendor.h", Path("take.py"), take)


def _doubled(array: Array) -> Array:
    return np.concatenate([array, array])


class CallsTest(support.FolderTest):
    def compiled(
        self, take: Callable[[Dispatch], Call | None], text: str = support.MATMUL
    ) -> support.Compiled:
        return support.lower_text(text, self.folder / "model", libraries=(_library(take),))

    def test_a_weight_is_packed_and_scratch_is_in_the_arena(self) -> None:
        def take(dispatch: Dispatch) -> Call:
            packed = Packed(dispatch.b, _doubled)
            return Call("f", (dispatch.a, packed, Scratch(100), dispatch.result), {"n": 3})

        found = self.compiled(take)
        (command,) = found.plan.commands
        (export,) = found.plan.exports
        call = export.call
        assert call is not None
        self.assertEqual(command.workgroups, (1, 1, 1))
        self.assertEqual(export.binding_count, len(command.bindings))
        at = {number: place for number, place in enumerate(call.arguments)}
        bindings = [
            command.bindings[place.binding] for place in at.values() if isinstance(place, Place)
        ]
        self.assertEqual([b.region for b in bindings], [0, Region.WEIGHTS, 0, 0])
        self.assertEqual([b.length for b in bindings], [512, 2 * 8192, 100, 1024])
        self.assertEqual(bindings[2].access, Access.WRITE)
        self.assertEqual(bindings[2].alignment, 64)
        # Only the packed weight is left. Its axes were those of the columns, and then those of the terms.
        (weight,) = found.lowered.weights.table.values()
        self.assertEqual((weight.dtype, weight.shape), ("f32", (128, 32)))
        want = _doubled(_WEIGHT.reshape(32, 64).T).tobytes()
        self.assertEqual(found.lowered.weights.data, want)
        # Nothing shares its place with the scratch.
        places = [(b.offset, b.offset + b.length) for b in bindings if b.region is Region.ARENA]
        places.sort()
        self.assertTrue(all(a[1] <= b[0] for a, b in zip(places, places[1:], strict=False)))

    def test_a_weight_beside_another_one(self) -> None:
        bias = np.arange(64, dtype=np.float32)
        text = support.MATMUL.replace(
            "  return %0",
            f'  %b = stablehlo.constant dense<"0x{bias.tobytes().hex()}"> : tensor<64xf32>\n'
            "  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<64xf32>) -> tensor<4x64xf32>\n"
            "  %2 = stablehlo.add %0, %1 : tensor<4x64xf32>\n  return %2",
        )

        def take(dispatch: Dispatch) -> Call:
            numbers = np.arange(3, dtype=np.int32)
            packed = Packed(dispatch.b, _doubled)
            return Call("f", (numbers, packed, dispatch.a, dispatch.result), finishes=True)

        before = {
            weight.name
            for weight in self.compiled(lambda _: None, text).lowered.weights.table.values()
        }
        found = self.compiled(take, text)
        call = found.plan.exports[0].call
        assert call is not None
        # The numbers are in the code.
        self.assertEqual([isinstance(each, Place) for each in call.arguments], [False, *[True] * 3])
        (weight,) = found.lowered.weights.table.values()
        want = _doubled(_WEIGHT.reshape(32, 64).T).tobytes()
        self.assertEqual(found.lowered.weights.data, want)
        self.assertIn(weight.name, before)

    def test_the_plan_names_the_function(self) -> None:
        found = self.compiled(lambda d: Call("f", (d.a, d.b, d.result), {"n": 3, "x": 0.5}))
        text = plan_c.source(found.plan, None)
        for part in (
            '#include "k/vendor.h"\n#include "runtime_bm/exec/call.h"\n',
            ".executable = BM_PLAN_LINKED, .ordinal = 0",
            "static const f_params_t call_0_params = {.n = 3, .x = 0x1.0000000000000p-1f};",
            ".function_count = 1",
            ".functions = k_functions",
            "static const void *k_table[1];",
        ):
            self.assertIn(part, text)

    def test_sums_are_in_the_result_if_it_can_hold_them(self) -> None:
        relu = support.MATMUL.replace(
            "  return %0",
            "  %c = stablehlo.constant dense<0.0> : tensor<4x64xf32>\n"
            "  %1 = stablehlo.maximum %0, %c : tensor<4x64xf32>\n  return %1",
        )
        found = self.compiled(lambda d: Call("f", (d.a, d.b, Sums())), relu)
        (command,) = found.plan.commands
        self.assertEqual(len(command.bindings), 3)
        text = plan_c.source(found.plan, None)
        self.assertIn("bm_call_max", text)
        self.assertIn("for (uint32_t i1 = 0; i1 != 64u; ++i1)", text)

    def test_what_no_library_wants_stays(self) -> None:
        found = self.compiled(lambda _: None)
        self.assertIsNone(found.plan.exports[0].call)
        self.assertNotIn("k_table[", plan_c.source(found.plan, None))

    def test_a_weight_that_is_no_constant_leaves_the_dispatch(self) -> None:
        def take(dispatch: Dispatch) -> Call:
            return Call("f", (dispatch.a, Packed(dispatch.b, _doubled), dispatch.result))

        self.assertIsNone(self.compiled(take, _INPUTS).plan.exports[0].call)

    def test_the_first_library_that_wants_a_dispatch_gets_it(self) -> None:
        def take(dispatch: Dispatch) -> Call:
            return Call("f", (dispatch.a, dispatch.b, dispatch.result))

        libraries = (_library(lambda _: None), _library(take), _library(lambda _: 1 / 0))  # type: ignore[arg-type, return-value]
        found = support.lower_text(support.MATMUL, self.folder / "model", libraries=libraries)
        call = found.plan.exports[0].call
        assert call is not None
        self.assertIs(call.taken.library, libraries[1])

    def test_what_packs_a_weight_may_fail(self) -> None:
        def packing(pack: Callable[[Array], Array]) -> Callable[[], object]:
            return lambda: self.compiled(lambda d: Call("f", (d.a, Packed(d.b, pack), d.result)))

        self.refuses(
            "bad-kernel-library", "raised ValueError", call=packing(lambda b: b.reshape(3))
        )
        self.refuses("bad-kernel-library", "into list", call=packing(lambda b: b.tolist()))
        wide = packing(lambda b: b.astype(np.float64))
        self.refuses("bad-kernel-library", "of 2048 float64", call=wide)


if __name__ == "__main__":
    unittest.main()
