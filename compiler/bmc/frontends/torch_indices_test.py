"""Imports models that index tensors; made-up inputs tell what torch-mlir makes of negative indices."""

from __future__ import annotations

import unittest
from unittest import mock

import support
import torch

from bmc.frontends import torch_indices

_MODEL = (
    support.TORCH_FUNCTIONS
    + """_X = np.arange(24, dtype=np.float32).reshape(6, 4)


def _written(x, i):
    y = x.clone()
    y[i] = 5.0
    return (y,)


# No case has a negative index.
def reads():
    return _spec(lambda x, i: (x[i], x[:, i], x[i, i]), _X, np.array([1, 2]))


def writes():
    return _spec(_written, _X, np.array([3, 1]))


def two_with_the_same():
    def function(x, y, i):
        return x.index_put((i,), y), y.index_put((i,), x)

    return _spec(function, np.arange(6), 2 * np.arange(6), np.arange(6)[::-1].copy())


def linalg():
    # StableHLO has no top_k, so the model becomes linalg.
    return _spec(lambda x, i: (x[i], *_written(x, i), torch.topk(x, 2).values), _X, np.array([1, 2]))


class _Fixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("places", torch.tensor([1, 0, 3, 5, 2, 4]))

    def forward(self, x):
        zeros = torch.zeros(6, 4)
        y = x[self.places]
        return y, x[:, self.places % 4], zeros.index_add(0, self.places, x), zeros.index_put((self.places,), y)


def buffers():
    return _spec(_Fixed(), _X)


def from_the_front():
    def along(x, i):
        rows = i[:, None].expand(2, 4)
        return torch.gather(x, 0, rows), torch.index_select(x, 1, i)

    return _spec(along, _X, np.array([1, 2]))
"""
)
_FROM_END = "indices that count from the end"


class _Known(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x.clone()
        y[i.clamp(0, 5)] = 1.0
        return x[torch.tensor([0, 3])], x[torch.arange(4)], y


class IndicesTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        for factory in ("reads", "writes", "two_with_the_same", "linalg"):
            with self.subTest(factory):
                self.assertIn(_FROM_END, self.load(factory).made_up)

    def test_what_pytorch_refuses_is_not_compared(self) -> None:
        self.assertNotIn(_FROM_END, self.load("from_the_front").made_up)

    def test_without_it_made_up_inputs_refuse_the_model(self) -> None:
        for factory in ("reads", "writes"):
            with self.subTest(factory), mock.patch.object(torch_indices, "apply"):
                call = lambda name=factory: self.load(name)  # noqa: E731
                self.refuses("import-disagrees", f"made-up {_FROM_END}", call=call)

    def test_buffers_are_indices(self) -> None:
        self.load("buffers")
        # If this fails, torch-mlir has mended it, and the copy of an index can go.
        with mock.patch.object(torch_indices, "apply"):
            self.refuses("op-rejected", "Heterogeneous lists", call=lambda: self.load("buffers"))

    def test_indices_that_are_known_stay_as_they_are(self) -> None:
        example = (torch.zeros(6, 4), torch.tensor([1, 2]))
        program = torch.export.export(_Known(), example).run_decompositions({})
        before = str(program.graph)
        torch_indices.apply(program)
        self.assertEqual(str(program.graph), before)


if __name__ == "__main__":
    unittest.main()
