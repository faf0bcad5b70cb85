"""An import takes a torch.nn.Module as its author made it, and leaves it so."""

from __future__ import annotations

import unittest

import numpy as np
import support
import torch

from bmc import spec, verify
from bmc.artifacts import ImportedModel
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


class Double(torch.nn.Module):  # type: ignore[misc]
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return 2 * weight


class Called(torch.nn.Module):  # type: ignore[misc]
    """Everything that calling a module does beside forward(): 2 * x becomes 30 * x + 8."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4, bias=False)
        self.layer.weight.data = torch.eye(4)
        torch.nn.utils.parametrize.register_parametrization(self.layer, "weight", Double())
        self.layer.register_forward_pre_hook(lambda module, given: (5 * given[0],))
        self.register_forward_hook(lambda module, given, result: result + 4)
        self.register_buffer("calls", torch.zeros(()))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(3 * x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)

    def count(self, x: torch.Tensor) -> torch.Tensor:
        self.calls: torch.Tensor = self.calls + 1
        return x + self.calls


class Otherwise(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if torch.compiler.is_exporting() else x


class ModuleTest(support.FolderTest):
    def load(self, module: torch.nn.Module, *calls: spec.Call) -> ImportedModel:
        source = f"{self.write('model.py', '')}:make"
        cases = () if calls else ((np.ones((2, 4), np.float32),),)
        given = spec.ModelSpec(module, cases, spec.Tolerance(1e-5, 1e-5), calls=calls)
        return frontend.import_spec(given, source, ImportOptions(), self.folder)

    def export(self, module: torch.nn.Module) -> bytes:
        return self.load(module).mlir.read_bytes()

    def test_model_is_what_calling_the_module_does(self) -> None:
        module = torch.compile(Called())
        module.register_forward_hook(lambda module, given, result: 2 * result)
        x = np.ones((2, 4), np.float32)
        counts = (spec.Call("count", (x,), reset=True), spec.Call("count", (x,)))
        for calls, *wanted in (
            ((), 68 * x),
            ((*counts, spec.Call("forward", (x,))), 2 * x, 3 * x, 68 * x),
        ):
            model = self.load(module, *calls)
            verify.require(model, verify.run(model, self.folder))
            for (got,), want in zip(model.golden.outputs, wanted, strict=True):
                np.testing.assert_array_equal(got, want)
        self.assertEqual(module.calls.item(), 0)

    def test_module_that_is_another_one_when_exported(self) -> None:
        model = self.load(Otherwise())
        with self.assertRaisesRegex(BmcError, "disagrees with PyTorch: .* is off by 1, 8 elements"):
            verify.require(model, verify.run(model, self.folder))

    def test_exported_program(self) -> None:
        program = torch.export.export(Called(), (torch.ones(2, 4),))
        model = self.load(program.module())
        self.assertEqual(model.notes, ())
        np.testing.assert_array_equal(model.golden.outputs[0][0], np.full((2, 4), 34, np.float32))

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
