"""Imports buffers of booleans and of unsigned bytes; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from unittest import mock

import support

from bmc.artifacts import Signature, TensorInfo
from bmc.dtype import DType
from bmc.errors import BmcError
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.reference import HostModel

_REPORT = Path("docs/upstream/iree-unsigned-resources.md")
_MODEL = """
import numpy as np
import torch
from bmc import spec

_SCORES = np.random.default_rng(1).standard_normal((2, 5, 5)).astype(np.float32)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("causal", torch.tril(torch.ones(1, 8, 8, dtype=torch.bool)))
        self.register_buffer("levels", (torch.arange(25) * 11 % 256).reshape(5, 5).to(torch.uint8))

    def forward(self, scores):
        masked = torch.where(self.causal[:, :5, :5], scores, torch.full([], -1e9))
        return torch.softmax(masked, -1), scores + self.levels, scores * (self.levels > 100)


def attention():
    return spec.ModelSpec(Attention(), ((_SCORES,),), spec.Tolerance(1e-5, 1e-5))
"""


class UnsignedTest(support.FolderTest):
    def test_they_are_right(self) -> None:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:attention", ImportOptions(), self.folder / "out")
        self.assertIn(support.AGREES, model.second_reference)

    def test_without_it_they_are_refused(self) -> None:
        path = self.write("model.py", _MODEL)
        with mock.patch("bmc.frontends.torch_unsigned.hold"), self.assertRaises(BmcError) as caught:
            import_model(f"{path}:attention", ImportOptions(), self.folder / "out")
        self.assertEqual(caught.exception.kind, "op-rejected")

    def test_the_report_is_still_true(self) -> None:
        report = _REPORT.read_text(encoding="utf-8")
        (module,) = re.findall(r"^```mlir\n(.*?)^```", report, re.M | re.S)
        two = (TensorInfo("x", DType.F32, (2,)),)
        signatures = (Signature("main", two, two),)

        def compile_(text: str) -> HostModel:
            path = self.write("mask.mlir", text)
            return HostModel.compile(path, signatures, self.folder / "reproducer")

        self.refuses("op-rejected", "arith.constant", call=lambda: compile_(module))
        compile_(module.replace("dense_resource<mask>", "dense<[1, 5]>"))


if __name__ == "__main__":
    unittest.main()
