"""Imports PyTorch models with loops; one that torch-mlir would make endless is refused."""

from __future__ import annotations

import unittest

import support

from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_MODEL = """
import numpy as np
import torch
from bmc import spec

_X = np.arange(16, dtype=np.float32).reshape(4, 4)


class Loop(torch.nn.Module):
    def __init__(self, goes_on):
        super().__init__()
        self.goes_on = goes_on

    def forward(self, x):
        def body(step, value):
            return step + 1, value * 2

        first = torch.zeros((), dtype=torch.int64)
        return torch.ops.higher_order.while_loop(self.goes_on, body, (first, x), ())


def _spec(goes_on):
    return spec.ModelSpec(Loop(goes_on), ((_X,), (_X + 30,)), (spec.Exact(), spec.Exact()))


def until_large():
    return _spec(lambda step, value: (step < 3) & (value.sum() < 300))


class Entries(torch.nn.Module):
    def sums(self, x):
        def body(step, value):
            return step + 1, value * 2

        first = torch.zeros((), dtype=torch.int64)
        def goes_on(step, value):
            return (step < 3) & (value.sum() < 300)

        steps, value = torch.ops.higher_order.while_loop(goes_on, body, (first, x), ())
        return torch.cumsum(value, 0)

    def relu(self, x):
        return torch.relu(x)


def entries():
    calls = (spec.Call("sums", (_X,)), spec.Call("relu", (_X - 5,)))
    return spec.ModelSpec(Entries(), (), spec.Tolerance(1e-4, 1e-6), calls=calls)


class Transposed(torch.nn.Module):
    def forward(self, x):
        def body(step, value):
            return step + 1, torch.roll(value, 1, 0)

        def goes_on(step, value):
            return step < value[0, 0]

        first = torch.zeros((), dtype=torch.int64)
        return torch.ops.higher_order.while_loop(goes_on, body, (first, x.T), ())[1]


def transposed():
    return spec.ModelSpec(Transposed(), ((_X,),), spec.Exact())


def counted():
    return _spec(lambda step, value: step < 3)
"""
_LINE = next(i for i, text in enumerate(_MODEL.splitlines(), 1) if "while_loop" in text)


class LoopTest(support.FolderTest):
    def load(self, factory: str) -> ImportedModel:
        path = self.write("model.py", _MODEL)
        return import_model(f"{path}:{factory}", ImportOptions(), self.folder / "out")

    def test_the_number_of_steps_depends_on_the_input(self) -> None:
        model = self.load("until_large")
        self.assertEqual([int(steps) for steps, _ in model.golden.outputs], [2, 0])
        self.assertIn(support.AGREES, model.second_reference)

    def test_sums_after_a_loop_beside_another_entry_point(self) -> None:
        # The first is linalg with torch-mlir's own scan, the other is StableHLO: iree-compile takes no such mixture.
        self.assertIn(support.AGREES, self.load("entries").second_reference)

    def test_a_body_that_changes_a_layout(self) -> None:
        self.refuses("export-rejected", "layouts", call=lambda: self.load("transposed"))

    def test_a_first_test_that_is_always_true(self) -> None:
        # If this model can be imported, torch-mlir has mended what docs/upstream/torch-mlir-while-loop.md reports.
        parts = ("loses the test of a 'while_loop'", f"model.py:{_LINE}")
        self.refuses("op-rejected", *parts, call=lambda: self.load("counted"))


if __name__ == "__main__":
    unittest.main()
