"""Tests the places that max pools find, by what PyTorch finds."""

from __future__ import annotations

import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import support
from iree.compiler import ir

from bmc.frontends import import_model, torch_pools
from bmc.frontends.options import ImportOptions
from bmc.ir import ir_util

_REPORT = Path("docs/upstream/iree-one-window.md")
_MODEL = (
    support.TORCH_FUNCTIONS
    + """
F = torch.nn.functional


def pools():
    x = np.random.default_rng(0).standard_normal((1, 2, 7, 9)).astype(np.float32)
    some = x.copy()
    some[:, :, ::2, 1::2] = np.nan
    some[:, 0] = -np.inf
    some[:, 1, :3, :3] = -np.inf
    none = np.full_like(x, -np.inf)
    function = lambda x: (
        *F.max_pool2d(x, 2, 2, 1, return_indices=True),
        *F.max_pool2d(x, 3, 2, 0, return_indices=True),
        *F.max_pool2d(x, (2, 3), (2, 1), (0, 1), (1, 2), return_indices=True),
    )
    return spec.ModelSpec(Model(function), ((x,), (some,), (none,)), spec.Exact())


def integers():
    x = np.random.default_rng(0).permutation(60).reshape(1, 3, 4, 5) * (2**53 + 1)
    options = {"padding": (1, 1, 0), "dilation": (1, 1, 2), "ceil_mode": True}
    function = lambda x: (
        *(F.max_pool3d(x, 2), *F.max_pool3d(x, 2, (1, 2, 2), return_indices=True, **options)),
        *(F.max_pool2d(x, 2), *F.max_pool2d(x.int(), 2, return_indices=True)),
    )
    least = np.full_like(x, np.iinfo(np.int64).min)
    return spec.ModelSpec(Model(function), ((x,), (least,)), spec.Exact())


def large_integers():
    return _spec(lambda x: F.max_pool3d(x, 9), np.zeros((1, 9, 9, 9), np.int64))
"""
)


class TorchPoolsTest(support.FolderTest):
    def load(self, output_type: str, factory: str = "pools") -> str:
        path = self.write("model.py", _MODEL)
        options = ImportOptions(output_type=output_type)
        return import_model(f"{path}:{factory}", options, self.folder / "out").second_reference

    def test_places(self) -> None:
        for output_type in ("stablehlo", "linalg"):
            with self.subTest(output_type):
                self.assertIn(support.AGREES, self.load(output_type))
                # If this fails, torch-mlir does it itself, and its part can go.
                with mock.patch.object(torch_pools, "apply"):
                    self.refuses("import-disagrees", call=lambda kind=output_type: self.load(kind))

    def test_integers(self) -> None:
        self.assertIn(support.AGREES, self.load("linalg", "integers"))
        said = "windows of 729 elements"
        self.refuses("op-rejected", said, call=lambda: self.load("linalg", "large_integers"))

    def test_one_window(self) -> None:
        """What is behind it is cut off; the report is still true."""
        text = _REPORT.read_text(encoding="utf-8").partition("```mlir\n")[2].partition("```")[0]
        x = np.random.default_rng(0).standard_normal((1, 2, 5, 8)).astype(np.float32)
        self.refuses("op-rejected", call=lambda: self.on_host(text, x))
        path = self.write("pool.mlir", text)
        torch_pools.apply(path)
        with ir.Context():
            cut = str(ir_util.read(path))
        (got,) = self.on_host(cut, x)
        rows = x[:, :, :3].max(2)
        want = [rows[..., first : first + 5 : 2].max(-1) for first in (0, 2)]
        np.testing.assert_array_equal(got, np.stack(want, -1)[:, :, None])


if __name__ == "__main__":
    unittest.main()
