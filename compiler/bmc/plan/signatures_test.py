"""Tests that a plan has the tensors that the import declares."""

from __future__ import annotations

import unittest
from pathlib import Path

import support

from bmc import artifacts, target
from bmc.artifacts import ImportedModel, Signature, TensorInfo
from bmc.dtype import DType
from bmc.host.program import HostFunction, HostProgram, Span, Storage, StorageKind, View
from bmc.plan import build, signatures
from bmc.plan.weights import PackedWeights

_X, _Y = TensorInfo("x", DType.F32, (2, 8)), TensorInfo("y", DType.U8, (16,))


def _check(x: tuple[DType, tuple[int, ...]], *results: tuple[DType, tuple[int, ...]]) -> None:
    span = Span(Storage(StorageKind.INPUT, 0, 64), 0, 64)
    compiled = HostFunction(
        "main", (View(span, *x),), tuple(View(span, *y) for y in results), (), ()
    )
    signatures.check(Signature("main", (_X,), (_Y,)), compiled)


class SignaturesTest(support.FolderTest):
    def test_unsigned_integers_may_lose_their_sign(self) -> None:
        _check((DType.F32, (2, 8)), (DType.U8, (16,)))
        _check((DType.F32, (2, 8)), (DType.I8, (16,)))

    def test_other_tensors_are_refused(self) -> None:
        x, y = (DType.F32, (2, 8)), (DType.I8, (16,))
        for found, text in (
            (((DType.F32, (8, 2)), y), "compiled to (8x2xf32)"),
            (((DType.I32, (2, 8)), y), "compiled to (2x8xi32)"),
            (((DType.F16, (2, 8)), y), "compiled to (2x8xf16)"),
            ((x, (DType.I16, (16,))), "compiled to (16xi16)"),
            ((x, (DType.I8, (15,))), "compiled to (15xi8)"),
            ((x, y, y), "compiled to (16xi8, 16xi8)"),
        ):
            with self.subTest(text):
                self.refuses(
                    "bad-signature", "main declares", text, call=lambda found=found: _check(*found)
                )

    def test_no_plan_has_others(self) -> None:
        golden = artifacts.Golden((), (), (), None, 0, artifacts.GOLDEN_IREE_HOST)
        declared = (Signature("main", (_X,), ()),)
        model = ImportedModel(Path(), "", "mlir", {}, declared, golden, ())
        program = HostProgram(b"", (), (), (), (HostFunction("main", (), (), (), ()),))
        weights, isa = PackedWeights(b"", {}), target.find(support.ISA)
        self.refuses(
            "bad-signature",
            call=lambda: build.plan("m", isa, model, program, None, weights, {}, {}),
        )


if __name__ == "__main__":
    unittest.main()
