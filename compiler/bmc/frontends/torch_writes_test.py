"""Imports models that write to a part of a tensor; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import unittest
from unittest import mock

import support
import torch

from bmc.frontends import torch_writes

_MODEL = """
import numpy as np
import torch
from bmc import spec

_X = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)


class All(torch.nn.Module):
    def forward(self, x):
        ends, middle, one, wide, steps, more = (x.clone() for _ in range(6))
        ends[:, 1:] = ends[:, :-1].clone()
        middle[:-1, -3:-1] = 2 * x[:-1, 2:4]
        one[1] = one[0] + one[2]
        one[:, 0] = 5
        wide[:] = wide.flip(0)
        wide[:, 4:2] = 7
        steps[:, 1::2] = x[:, :3]
        more[1:] += x[:2]
        return ends, middle, one, wide, steps, more, *Masks()(x)


class Masks(torch.nn.Module):
    def forward(self, x):
        y, rows = x.clone(), x.clone()
        y[y > 1.5] = -1
        rows[x.sum(1) > 0] = x[0, 0]
        return y, rows, x.masked_fill(x < 0, 3)


def all_of_them():
    return spec.ModelSpec(All().eval(), ((_X,), (-_X[::-1],)), spec.Exact())


def masks():
    return spec.ModelSpec(Masks().eval(), ((_X,),), spec.Exact())
"""


class _Scattered(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y, z = x.clone(), x.clone()
        y[torch.tensor([0, 2])] = 1.0
        z.index_put_((x > 0,), torch.tensor(2.0), accumulate=True)
        return y, z


class WritesTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        self.assertIn(support.AGREES, self.load("all_of_them").second_reference)

    def test_without_it_masks_are_refused(self) -> None:
        with mock.patch.object(torch_writes, "apply"):
            self.refuses("op-rejected", call=lambda: self.load("masks"))

    def test_others_stay_as_they_are(self) -> None:
        program = torch.export.export(_Scattered(), (torch.zeros(3, 4),)).run_decompositions({})
        before = str(program.graph)
        torch_writes.apply(program)
        self.assertEqual(str(program.graph), before)


if __name__ == "__main__":
    unittest.main()
