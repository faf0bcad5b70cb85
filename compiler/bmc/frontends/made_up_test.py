"""Tests which made-up inputs PyTorch models get, and that a wrong answer to one refuses the model."""

from __future__ import annotations

import unittest
from unittest import mock

import numpy as np
import support

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions
from bmc.rewrites.meaning import nan_order

_MODEL = (
    support.TORCH_FUNCTIONS
    + """_X = np.random.default_rng(1).permutation(24).astype(np.float32).reshape(6, 4)


def largest():
    function = lambda x: (x.argmax(1), x.argmin(), *x.max(0), *x.min(1))
    return spec.ModelSpec(Model(function), ((_X,),), ())


def sorted_():
    function = lambda x: torch.topk(x, 2)
    return spec.ModelSpec(Model(function), ((_X,),), ())


class Words(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.words = torch.nn.Embedding(50, 16)
        self.layers = torch.nn.Sequential(torch.nn.LayerNorm(16), torch.nn.Linear(16, 8), torch.nn.Softmax(-1))

    def forward(self, ids, mask):
        x = self.words(ids) * mask[:, :, None]
        return self.layers(x), self.layers(x).argmax(-1)


def words():
    case = (np.array([[1, 2, 3]]), np.array([[1, 1, 0]]))
    return spec.ModelSpec(Words(), (case,), (spec.Tolerance(1e-5, 1e-5), spec.Exact()))


# PyTorch has no answer for 2^31 - 1 + 1 that torch-mlir must know: the user's numbers are digits.
def digits():
    given = np.array([3, 1, 4, 1, 5, 9], np.int32)
    return spec.ModelSpec(Model(lambda x: 10 * x), ((given,),), (), ranges=((0, 9),))


class Parts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.ones(3, dtype=torch.int32))
        self.register_buffer("rows", torch.arange(20.0).reshape(5, 4))

    def largest(self, x):
        return x.argmax(1)

    def add(self, n):
        self.total += n
        return self.total.clone()

    def pick(self, i):
        return torch.sin(self.rows[i])


def parts():
    n, i = np.array([3, -1, 4], np.int32), np.array([2, 0])
    calls = (spec.Call("largest", (_X,)), spec.Call("add", (n,), True), spec.Call("add", (n,)), spec.Call("pick", (i,)))
    return spec.ModelSpec(Parts(), (), calls=calls, tolerance=(spec.Exact(), spec.Exact(), spec.Tolerance(1e-5, 1e-5)))
"""
)


class MadeUpTest(support.FolderTest):
    def load(self, factory: str, name: str = "out") -> ImportedModel:
        path = self.write("model.py", _MODEL)
        return import_model(f"{path}:{factory}", ImportOptions(), self.folder / name)

    def test_nan_is_where_pytorch_has_it(self) -> None:
        for factory in ("largest", "sorted_"):
            with self.subTest(factory):
                self.assertIn("floats with NaN and infinities", self.load(factory).made_up)

    def test_without_the_rewrite_nan_refuses_the_model(self) -> None:
        for factory in ("largest", "sorted_"):
            with self.subTest(factory), mock.patch.object(nan_order, "apply"):
                call = lambda name=factory: self.load(name)  # noqa: E731
                self.refuses(
                    "import-disagrees", "made-up floats with NaN and infinities", call=call
                )

    def test_a_model_that_rounds_only_gets_indices(self) -> None:
        model = self.load("words")
        self.assertEqual(model.made_up, ("indices that count from the front",))
        (((ids, mask), _),) = model.compared_only
        self.assertLess(ids.max(), 50)
        np.testing.assert_array_equal(mask, [[1, 1, 0]])

    def test_they_are_in_the_range_that_the_user_gives(self) -> None:
        model = self.load("digits")
        self.assertTrue(model.made_up)
        for (digits,), _ in model.compared_only:
            self.assertTrue(((digits >= 0) & (digits <= 9)).all())

    def test_each_entry_point_gets_its_own(self) -> None:
        model = self.load("parts")
        loaded = artifacts.load(self.folder / "out", compared=True)
        self.assertEqual(loaded.made_up_entries, model.made_up_entries)
        found: dict[str, set[str]] = {signature.name: set() for signature in model.signatures}
        for entry, kind in zip(loaded.made_up_entries, loaded.made_up, strict=True):
            found[model.signatures[entry].name].add(kind)
        self.assertIn("floats with NaN and infinities", found["largest"])
        self.assertIn("integers of the whole type", found["add"])
        self.assertEqual(
            found["pick"],
            {"indices that count from the front", "indices that count from the end"},
        )
        with mock.patch.object(nan_order, "apply"):
            self.refuses(
                "import-disagrees",
                "made-up floats with NaN and infinities for largest",
                call=lambda: self.load("parts"),
            )

    def test_they_are_the_same_each_time_and_are_saved(self) -> None:
        first, again = self.load("largest"), self.load("largest", "again")
        self.assertEqual(first.made_up, again.made_up)
        for name in (artifacts.CASES_FILE, artifacts.IMPORT_FILE):
            texts = [(self.folder / out / name).read_bytes() for out in ("out", "again")]
            self.assertEqual(*texts)
        loaded = artifacts.load(self.folder / "out", compared=True)
        self.assertEqual(loaded.made_up, first.made_up)


if __name__ == "__main__":
    unittest.main()
