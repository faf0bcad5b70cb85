"""Tests the places that max pools find, by what PyTorch finds."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.frontends import import_model, torch_pools
from bmc.frontends.options import ImportOptions

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
"""
)


class TorchPoolsTest(support.FolderTest):
    def load(self, output_type: str) -> str:
        path = self.write("model.py", _MODEL)
        options = ImportOptions(output_type=output_type)
        return import_model(f"{path}:pools", options, self.folder / "out").second_reference

    def test_places(self) -> None:
        for output_type in ("stablehlo", "linalg"):
            with self.subTest(output_type):
                self.assertIn(support.AGREES, self.load(output_type))
                # If this fails, torch-mlir does it itself, and its part can go.
                with mock.patch.object(torch_pools, "apply"):
                    self.refuses("import-disagrees", call=lambda kind=output_type: self.load(kind))


if __name__ == "__main__":
    unittest.main()
