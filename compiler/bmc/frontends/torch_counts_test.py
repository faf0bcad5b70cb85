"""Tests outputs of PyTorch models that have no fixed size, by what PyTorch finds."""

from __future__ import annotations

import functools
import unittest

import numpy as np
import support

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_X = np.round(np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32) * 2)
_CASES = (_X,), (np.zeros_like(_X),), (np.abs(_X) + 1,)


def _made(function, cases=_CASES, tolerance=None):
    return spec.ModelSpec(Model(function), cases, tolerance)


def _found(x):
    is_large = x > 0
    values, places, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return {
        "places": torch.nonzero(is_large), "columns": torch.where(is_large)[1].float() * 2, "values": values,
        "numbers": places, "counts": counts, "rows": x[x[:, 0] > 0][:, 1:3] - 1, "sum": x.sum(),
        "chosen": x[torch.nonzero(x[:, 1] > 0).squeeze(1)], "selected": torch.masked_select(x, is_large).exp(),
        "steps": torch.unique_consecutive(x), "where": torch.argwhere(x)[:, 1],
    }


def found():
    names = tuple(_found(torch.tensor(_X)))
    return spec.ModelSpec(Model(_found), _CASES, None, output_names=names)


def inverse():
    return _made(lambda x: torch.unique(x, return_inverse=True)[1], _CASES[:1], spec.Exact())


def rows():
    return _made(lambda x: (x[x[:, 0] > 0], torch.nonzero(x)), tolerance=(spec.Tolerance(1e-6, 1e-6), spec.Exact()))



def sum_():
    return _made(lambda x: x[x > 0].sum())


def length():
    return _made(lambda x: x[x > 0] / x[x > 0].shape[0], _CASES[:1])


def along():
    return _made(lambda x: x[x > 0].softmax(0), _CASES[:1])


def first():
    return _made(lambda x: x[x > 0][:2], _CASES[:1])


def joined():
    return _made(lambda x: torch.cat([x[x > 0], x[0]]), _CASES[:1])


def two():
    return _made(lambda x: x[x > 0] + x[x > 0], _CASES[:1])


def large():
    return _made(lambda x: torch.unique(x), ((np.arange(2049, dtype=np.float32),),))
"""
)


class TorchCountsTest(support.FactoryTest):
    MODEL = _MODEL

    def test_they_are_right(self) -> None:
        model = self.load("found")
        self.assertIn(support.AGREES, model.second_reference)
        names = [info.name for info in model.signatures[0].outputs]
        outputs = dict(zip(names, model.golden.outputs[0], strict=True))
        self.assertEqual(outputs["places"].shape, (12, 2))
        count = int(outputs["places_count"])
        x = model.golden.inputs[0][0]
        np.testing.assert_array_equal(outputs["places"][:count], np.argwhere(x > 0))
        self.assertFalse(outputs["places"][count:].any())
        # Outputs of one op share a count.
        counts = [name for name in names if name.endswith("_count")]
        self.assertEqual(len(counts), 8, names)
        self.assertIn("values_count", counts)
        self.assertNotIn("counts_count", counts)
        self.assertIn("output places has 12 elements along dimension 0", "\n".join(model.notes))
        nothing = dict(zip(names, model.golden.outputs[1], strict=True))
        self.assertEqual([int(nothing[name]) for name in ("places_count", "values_count")], [0, 1])

    def test_only_the_output_of_fixed_size(self) -> None:
        self.assertIn(support.AGREES, self.load("inverse").second_reference)

    def test_tolerances_of_the_user(self) -> None:
        model = self.load("rows")
        self.assertIn(support.AGREES, model.second_reference)
        names = [info.name for info in model.signatures[0].outputs]
        self.assertEqual(names, ["output0", "output1", "output0_count", "output1_count"])

    def test_other_ops_behind_are_refused(self) -> None:
        for factory in ("length", "along", "first", "joined", "two", "large", "sum_"):
            with self.subTest(factory):
                load = functools.partial(self.load, factory)
                self.refuses("dynamic-shape", "depends on the data", call=load)


if __name__ == "__main__":
    unittest.main()
