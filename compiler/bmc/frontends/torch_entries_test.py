"""Ops of models with entry points know the user's lines and layers."""

from __future__ import annotations

import unittest

import support
from iree.compiler import ir

from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.ir import ir_util

_MODEL = """
import numpy as np
import torch
from bmc.spec import Call, ModelSpec, Tolerance

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.model(x).tanh()  # in a block

class Entries(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def step(self, x):
        return self.block(x).sin()  # in an entry

    def forward(self, x):
        return x.abs()  # in forward

class Views(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(6.0))
        self.register_buffer("b", self.a[2:5])

    def forward(self, x):
        y = x * self.b
        self.a[:3] += 1
        return y

def view(module=None):
    calls = (Call("forward", (np.ones(3, np.float32),)),)
    return ModelSpec(module or Views(), (), (Tolerance(1e-5, 1e-5),), calls=calls)

def beside():
    module = Views()
    module.a, module.b = torch.arange(6.0).split(3)
    return view(module)

def entries():
    x = np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)
    close = Tolerance(1e-2, 1e-2)
    calls = (Call("step", (x,)), Call("forward", (x,)))
    return ModelSpec(Entries(), (), (close, close), calls=calls)
"""


def _line(comment: str) -> str:
    return support.place(_MODEL, comment).removeprefix("(at ").removesuffix(")")


class TorchEntriesTest(support.FactoryTest):
    MODEL = _MODEL

    def places(self, quantize: str) -> dict[str, tuple[str, str]]:
        """Imports the model; returns layer and place of the last op of each name."""
        source = f"{self.write('model.py', _MODEL)}:entries"
        model = import_model(source, ImportOptions(quantize=quantize), self.folder / "out")
        with ir.Context():
            module = ir_util.read(model.mlir)
            ops = ir_util.walk(module.operation)
            return {op.name: (ir_util.layer(op), ir_util.place([op])) for op in ops}

    def test_views_of_a_state_are_refused(self) -> None:
        part = "changes its buffer 'a', of which 'b' is a view"
        self.refuses("stateful-model", part, call=lambda: self.load("view"))
        self.assertIn(support.AGREES, self.load("beside").second_reference)

    def test_layers_and_lines_are_the_users(self) -> None:
        for quantize, product, tanh, sin, absolute in (
            ("", "stablehlo.dot_general", "stablehlo.tanh", "stablehlo.sine", "stablehlo.abs"),
            ("int8", "linalg.matmul", "math.tanh", "math.sin", "math.absf"),
        ):
            with self.subTest(quantize):
                found = self.places(quantize)
                self.assertEqual(found[product], ("block.model (Linear)", _line("in a block")))
                self.assertEqual(found[tanh], ("block (Block)", _line("in a block")))
                self.assertEqual(found[sin], ("", _line("in an entry")))
                self.assertEqual(found[absolute], ("", _line("in forward")))


if __name__ == "__main__":
    unittest.main()
