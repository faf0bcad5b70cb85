"""Imports windows that torch-mlir or IREE would get wrong; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import functools
import unittest
from unittest import mock

import support
import torch
from torch.nn import functional

from bmc.frontends import import_model, torch_windows
from bmc.frontends.options import ImportOptions

_MODEL = """
import numpy as np
import torch
import torch.nn.functional as F
from bmc import spec

_IMAGE = np.random.default_rng(1).standard_normal((2, 3, 4, 9)).astype(np.float32)
_SMALL = _IMAGE[:, :, :3, :4].copy()
_LINE = _IMAGE[:, :, 0].copy()


_KERNEL = torch.from_numpy(_IMAGE[:, :, :2, :2].copy())


class Pools(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", _KERNEL)

    def forward(self, image, small, line):
        return (
            # The last window ends behind the padding.
            F.max_pool2d(image, (1, 4), (1, 3), (0, 1), ceil_mode=True),
            F.max_pool1d(line, 4, 3, 1, ceil_mode=True),
            F.max_pool2d((image * 10).int(), (1, 4), (1, 3), (0, 1), ceil_mode=True),
            # A single window leaves elements over.
            F.max_pool2d(small, 3, (1, 3), (0, 1)),
            F.max_pool2d(small, 2, 5),
            F.avg_pool2d(small, 2, 3),
            F.avg_pool2d(small, 3, 3, 1),
            F.avg_pool2d(small, 3, 3, 1, count_include_pad=False),
            F.conv2d(small, self.kernel, None, 2),
            F.conv2d(small, self.kernel, None, 3, 1),
            F.conv1d(line, self.kernel[:, :, 0], None, (8,)),
            # A single window covers everything.
            F.avg_pool2d(small, (3, 4), 1, 0, False, False),
            F.avg_pool1d(line, 9, 1, 0, False, False),
            F.avg_pool2d(small, (4, 2), (3, 2), (1, 0), True, False),
            # Neither, but padded.
            F.avg_pool2d(small, 3, 2, 1, True, False),
            F.avg_pool2d(small, 2, 2, 0, True, True),
        )


def pools():
    exact = (spec.Exact(),) * 5
    return spec.ModelSpec(
        Pools(), ((_IMAGE, _SMALL, _LINE),), (*exact, *(spec.Tolerance(1e-5, 1e-5),) * 11)
    )
"""


class _Pool(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            functional.max_pool2d(x, 3, 2, 1),
            functional.avg_pool2d(x, 2),
            functional.conv2d(x, torch.ones(1, 1, 3, 3), stride=2, padding=1),
            *functional.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        )


class WindowsTest(support.FolderTest):
    def test_they_are_right(self) -> None:
        path = self.write("model.py", _MODEL)
        model = import_model(f"{path}:pools", ImportOptions(), self.folder / "out")
        self.assertIn(support.AGREES, model.second_reference)

    def test_without_it_they_are_refused(self) -> None:
        # If this model can be imported, torch-mlir and IREE have mended all of them.
        path = self.write("model.py", _MODEL)
        windows = mock.patch("bmc.frontends.torch_windows.apply")
        # It cuts what pools read of linalg's operands.
        with windows, mock.patch("bmc.frontends.torch_pools.apply"):
            load = functools.partial(import_model, f"{path}:pools", ImportOptions())
            self.refuses("op-rejected", call=lambda: load(self.folder / "out"))

    def test_others_stay_as_they_are(self) -> None:
        program = torch.export.export(_Pool(), (torch.zeros(1, 1, 8, 8),)).run_decompositions({})
        before = str(program.graph)
        torch_windows.apply(program)
        self.assertNotIn("pad_nd", str(program.graph))
        self.assertEqual(before, str(program.graph))


if __name__ == "__main__":
    unittest.main()
