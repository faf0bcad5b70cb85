"""Weights of four bits: how far off they are, which layers get them, and that kernels unpack them."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import numpy as np
import support
import torch

from bmc import target
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, Lowered, lower
from bmc.errors import BmcError
from bmc.frontends import import_model, packed_linear, torch_int4
from bmc.frontends.options import INT4, INT4_INT8, ImportOptions

_MODELS = """
import numpy as np
import torch
from torch import nn
from bmc.spec import ModelSpec, Tolerance


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(96, 64)
        self.up = nn.Linear(64, 128)
        self.down = nn.Linear(128, 64, bias=False)
        self.head = nn.Linear(64, 96, bias=False)
        self.head.weight = self.table.weight
        self.few = nn.Linear(96, 3)

    def forward(self, tokens):
        x = self.table(tokens)
        x = x + self.down(torch.relu(self.up(x)))
        return self.few(self.head(x))


def tied():
    torch.manual_seed(0)
    cases = tuple((np.array(each, np.int64),) for each in ([5, 95, 0], [1, 1, 2]))
    return ModelSpec(Tied().eval(), cases, Tolerance(1e-4, 1e-5))


def narrow():
    torch.manual_seed(0)
    cases = ((np.ones((1, 24), np.float32),),)
    return ModelSpec(nn.Sequential(nn.Linear(24, 64), nn.Linear(64, 4)).eval(), cases, Tolerance(1e-4, 1e-5))


def function():
    return ModelSpec(lambda x: x + 1, ((np.ones((2, 2), np.float32),),), Tolerance(1e-4, 1e-5))
"""
_WEIGHTS = {"table": (96, 64), "up": (128, 64), "down": (64, 128)}


class Int4Test(support.FolderTest):
    def load(self, factory: str, quantize: str) -> ImportedModel:
        path = self.write("model.py", _MODELS)
        options = ImportOptions(quantize=quantize)
        return import_model(f"{path}:{factory}", options, self.folder / "out")

    def lowered(self, model: ImportedModel) -> Lowered:
        options = CompileOptions("m", target.find(support.ISA), self.folder)
        return lower(model, options, Path(tempfile.mkdtemp(dir=self.folder)))

    def test_weights_are_less_off_than_with_even_steps(self) -> None:
        weight = torch.randn(64, 64, generator=torch.Generator().manual_seed(1))
        weight[2, :32] = 0.25
        table = torch_int4.quantized(weight)
        got = packed_linear.unpack("q4_1", table.codes, table.scales, table.mins, None)
        blocks = weight.unflatten(-1, (-1, 32))
        least = blocks.amin(-1, keepdim=True)
        steps = (blocks.amax(-1, keepdim=True) - least).clamp(min=1e-9) / 15
        even = (torch.round((blocks - least) / steps) * steps + least).flatten(-2)
        off, even_off = ((each - weight).square().mean() for each in (got, even))
        self.assertLess(off, 0.9 * even_off)
        self.assertGreater(off, 0.5 * even_off)
        np.testing.assert_array_equal(got[2, :32], 0.25)

    def test_layers_have_packed_weights_and_tied_ones_are_one_table(self) -> None:
        for quantize, bytes_type in ((INT4, "f32"), (INT4_INT8, "i8")):
            with self.subTest(quantize):
                lowered = self.lowered(self.load("tied", quantize))
                sizes = sum(rows * columns * 5 // 8 for rows, columns in _WEIGHTS.values())
                others = 4 * (128 + 96 * 3)
                self.assertLess(len(lowered.weights.data) - sizes - others, 64 * 8)
                products = [
                    each for each in lowered.configs if "reduction" in each.op and "i16" in each.op
                ]
                self.assertEqual(len(products), 3)
                for config in products:
                    self.assertIn(f"x2x16_{bytes_type}xi8xi16xi16", config.op)
                    self.assertTrue(config.own, config.refusal)

    def test_bytes_change_the_outputs_a_little(self) -> None:
        exact, rounded = (
            np.concatenate([np.ravel(call[0]) for call in self.load("tied", each).golden.outputs])
            for each in (INT4, INT4_INT8)
        )
        self.assertGreater(np.abs(exact - rounded).max(), 1e-4)
        self.assertLess(np.abs(exact - rounded).max(), 0.05 * np.abs(exact).max())

    def test_models_without_such_layers_are_refused(self) -> None:
        for factory, parts in (("narrow", "no layer"), ("function", "no model.py of a PyTorch")):
            with self.assertRaisesRegex(BmcError, parts):
                self.load(factory, INT4)

    def test_the_module_stays_as_it_is(self) -> None:
        module = torch.nn.Sequential(torch.nn.Linear(32, 32))
        weight = module[0].weight.clone()
        made = torch_int4.packed(module, rounds=False)
        self.assertIsInstance(made[0], packed_linear.PackedLinear)
        torch.testing.assert_close(module[0].weight, weight, rtol=0, atol=0)


if __name__ == "__main__":
    unittest.main()
