"""An import leaves a torch.nn.Module as its author made it."""

from __future__ import annotations

import unittest

import numpy as np
import support
import torch

from bmc import spec
from bmc.errors import BmcError
from bmc.frontends import torch as frontend
from bmc.frontends.options import ImportOptions


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.head = torch.nn.Linear(4, 4).eval()
        self.register_buffer("offset", torch.ones(4), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(x)) + self.offset


class ModuleTest(support.FolderTest):
    def export(self, module: torch.nn.Module) -> bytes:
        source = f"{self.write('model.py', '')}:make"
        cases = ((np.ones((2, 4), np.float32),),)
        given = spec.ModelSpec(module, cases, spec.Tolerance(1e-5, 1e-5))
        model = frontend.import_spec(given, source, ImportOptions(), self.folder)
        return model.mlir.read_bytes()

    def test_modes_and_buffers(self) -> None:
        module = Model()
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        first = self.export(module)
        modes = {name: part.training for name, part in module.named_modules()}
        self.assertEqual(modes, {"": True, "norm": True, "head": False})
        # Non-persistent buffers are not included.
        self.assertEqual(module.state_dict().keys(), before.keys())
        self.assertNotIn("offset", before)
        for name, tensor in module.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertEqual(self.export(module), first)

    def test_after_an_error(self) -> None:
        module = Model()
        module.head = torch.nn.Linear(5, 4)
        with self.assertRaisesRegex(BmcError, "mat1 and mat2"):
            self.export(module)
        self.assertTrue(all(part.training for part in module.modules()))


if __name__ == "__main__":
    unittest.main()
