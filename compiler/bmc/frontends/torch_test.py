"""Imports PyTorch models, and tests that errors name the op and the line."""

from __future__ import annotations

import functools
import tempfile
import unittest
from pathlib import Path

import numpy as np
import support

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

# line() finds lines by their comments.
_MODEL = '''"""Small models, most of them impossible."""

import numpy as np
import torch
from bmc import spec

_X = np.arange(16, dtype=np.float32).reshape(4, 4)


def _spec(forward, setup=lambda module: None, **options):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            setup(self)

    Model.forward = forward
    options = {"tolerance": spec.Tolerance(1e-5, 1e-5), **options}
    return spec.ModelSpec(Model(), ((_X,), (_X + 1,)), **options)


def good():
    def setup(module):
        module.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return {"a": self.linear(x), "b": (x + 1,)}

    return _spec(forward, setup, output_names=("scores", "rest"))


def in_train_mode():
    def setup(module):
        module.norm = torch.nn.BatchNorm1d(4)
        module.norm.running_mean += 2

    return _spec(lambda self, x: self.norm(x), setup)


def always_drops():
    def forward(self, x):
        return torch.nn.functional.dropout(x, 0.5)  # drops

    return _spec(forward)


def rejected_op():
    def forward(self, x):
        y = x + 1
        return torch.linalg.svd(y)[1]  # rejected

    return _spec(forward)


class Inner(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        return torch.linalg.svd(y)[1]  # inner


def rejected_inner_op():
    def setup(module):
        module.inner = Inner()

    return _spec(lambda self, x: self.inner(x + 1), setup)


def branch():
    def forward(self, x):
        y = x + 1
        if y.sum() > 0:  # branch
            return y
        return x

    return _spec(forward)


def stateful():
    def setup(module):
        module.register_buffer("count", torch.zeros(4))

    def forward(self, x):
        y = x * 2
        self.count.add_(y.sum())  # changed
        return y + self.count

    return _spec(forward, setup)


def random():
    def forward(self, x):
        return x + torch.rand(4, 4)  # random

    return _spec(forward)


def own_input():
    def forward(self, x):
        x += 1  # own input
        return x

    return _spec(forward)


def masked():
    def forward(self, x):
        return x[x % 2 == 0].sum()  # masked

    return _spec(forward)


def nothing():
    return _spec(lambda self, x: None)


def empty():
    return _spec(lambda self, x: ())


def number_as_output():
    return _spec(lambda self, x: (x, 3.5))


def sparse():
    return _spec(lambda self, x: x.to_sparse())


def long_svd():
    def forward(self, x):
        y = x + 1
        return torch.linalg.svdvals(y)  # svd

    return _spec(forward)


def nuclear():
    def forward(self, x):
        return torch.norm(x, "nuc")  # nuclear

    return _spec(forward)


def without_stablehlo():
    def forward(self, x):
        image = x.reshape(1, 1, 4, 4)
        values, indices = torch.topk(x, 2)
        return torch.nn.functional.interpolate(image, scale_factor=2), values, indices

    close = spec.Tolerance(0, 0)
    return _spec(forward, tolerance=(close, close, spec.Exact()))


def failing():
    def forward(self, x):
        y = x + 1
        return y @ torch.zeros(5, 5)  # mismatch

    return _spec(forward)


def raising():
    raise ValueError("no checkpoint")  # raised


def number():
    return 3


def no_module():
    return spec.ModelSpec(3, ((_X,),), spec.Exact())


def no_case():
    return spec.ModelSpec(torch.nn.Identity(), (), spec.Exact())


def ragged():
    return spec.ModelSpec(torch.nn.ReLU(), ((_X,), (_X[:2],)), spec.Exact())


def int_step():
    return _spec(lambda self, x: x + 1, tolerance=spec.IntStep(1, 4))


def two_tolerances():
    return _spec(lambda self, x: x + 1, tolerance=(spec.Exact(), spec.Exact()))


def labels():
    return _spec(lambda self, x: x + 1, labels=np.zeros(3, np.int64))


def nan():
    def setup(module):
        module.register_buffer("mask", torch.tensor([0, torch.nan, 1, 2]))

    return _spec(lambda self, x: x + self.mask, setup)


def scalar():
    return spec.ModelSpec(
        torch.nn.Hardtanh(), ((np.array(0.5, np.float32),),), spec.Tolerance(0, 0)
    )


def names():
    return _spec(lambda self, x: x + 1, output_names=("a", "b"))
'''

line = functools.partial(support.place, _MODEL)


class TorchTest(support.FolderTest):
    def load(self, factory: str, output_type: str = "stablehlo") -> ImportedModel:
        path = self.write("model.py", _MODEL)
        out = self.folder / "out"
        return import_model(f"{path}:{factory}", ImportOptions(output_type=output_type), out)

    def rejects(self, factory: str, kind: str, *parts: str) -> None:
        self.refuses(kind, *parts, call=lambda: self.load(factory))

    def test_good_model(self) -> None:
        model = self.load("good")
        self.assertEqual(model.source, "model.py:good")
        self.assertEqual(
            [info.describe() for info in (*model.inputs, *model.outputs)],
            ["x: 4x4xf32", "scores: 4x3xf32", "rest: 4x4xf32"],
        )
        self.assertEqual([p.name for p in model.parameters], ["linear.bias", "linear.weight"])
        self.assertEqual(model.golden.source, artifacts.GOLDEN_FRAMEWORK)
        # Each case has its own expected outputs.
        for (x,), (_, rest) in zip(model.golden.inputs, model.golden.outputs, strict=True):
            np.testing.assert_array_equal(rest, x + 1)
        data = model.mlir.read_bytes()
        self.assertIn(b"model.py", data)
        self.assertNotIn(str(self.folder).encode(), data)
        self.assertIn(b"<layer>/linear (Linear)", data)

    def test_train_mode_is_said(self) -> None:
        path = self.write("model.py", _MODEL)
        result = support.bmc("import", f"{path}:in_train_mode", "--out", self.folder / "out")
        self.assertEqual(result.status, 0, result.err)
        note = "note: module 'Model' was in training mode"
        self.assertIn(note, result.out)
        self.assertIn("'norm' (BatchNorm1d)", result.out)
        self.assertIn("2 cases for the target", result.out)
        # The outputs are those of evaluation mode.
        (y,) = artifacts.load(self.folder / "out").golden.outputs[0]
        np.testing.assert_allclose(y, np.arange(16).reshape(4, 4) - 2, rtol=1e-4)
        path.write_text(
            _MODEL.replace("return spec.ModelSpec(Model()", "return spec.ModelSpec(Model().eval()")
        )
        result = support.bmc("import", f"{path}:in_train_mode", "--out", self.folder / "out")
        self.assertNotIn("note:", result.out)

    def test_op_that_trains(self) -> None:
        parts = ("op 'aten.dropout.default' runs in training mode", line("drops"))
        self.rejects("always_drops", "train-mode", *parts)

    def test_linalg_instead_of_stablehlo(self) -> None:
        # The import runs the MLIR that it wrote, because it compares IREE's outputs with PyTorch's.
        model = self.load("good", "linalg")
        self.assertIn(b"linalg", model.mlir.read_bytes())
        self.assertNotIn(b"stablehlo", model.mlir.read_bytes())
        self.assertEqual([info.name for info in model.outputs], ["scores", "rest"])

    def test_saved_and_loaded_again(self) -> None:
        model = self.load("good")
        artifacts.save(model, self.folder / "out")
        again = artifacts.load(self.folder / "out")
        self.assertEqual(again.outputs, model.outputs)
        self.assertEqual(again.golden.policies, model.golden.policies)
        np.testing.assert_array_equal(again.golden.outputs[1][0], model.golden.outputs[1][0])

    def test_what_stablehlo_has_no_form_of(self) -> None:
        model = self.load("without_stablehlo")
        self.assertIn(b"linalg", model.mlir.read_bytes())
        (x,), (image, values, indices) = model.golden.inputs[0], model.golden.outputs[0]
        np.testing.assert_array_equal(image[0, 0], x.repeat(2, 0).repeat(2, 1))
        np.testing.assert_array_equal(np.take_along_axis(x, indices, 1), values)
        self.assertIn(support.AGREES, model.second_reference)

    def test_op_that_is_named_by_what_it_is_given(self) -> None:
        self.rejects(
            "long_svd", "op-rejected", "cannot lower op 'aten.linalg_svdvals.default' ", line("svd")
        )
        # A function in Python that calls an op of another name.
        self.rejects("nuclear", "op-rejected", "cannot lower op 'norm' ", line("nuclear"))

    def test_ops_that_no_plan_can_have(self) -> None:
        for factory, kind, *parts in (
            ("random", "random-model", "'aten.rand.default' draws random numbers", line("random")),
            ("own_input", "stateful-model", "aten.add", "the model's input 'x'", line("own input")),
            ("masked", "dynamic-shape", "aten.index", "size depends on the data", line("masked")),
        ):
            with self.subTest(factory):
                self.rejects(factory, kind, *parts)

    def test_outputs_that_are_no_tensors(self) -> None:
        for factory, kind, part in (
            ("nothing", "bad-signature", "output 0 of the model is of type NoneType"),
            ("empty", "bad-signature", "the model has no outputs"),
            ("number_as_output", "bad-signature", "output 1 of the model is of type float"),
            ("sparse", "bad-signature", "output 0 of the model is of type torch.sparse_coo"),
        ):
            with self.subTest(factory):
                self.rejects(factory, kind, part)

    def test_what_another_build_has_left_stays(self) -> None:
        # torch-mlir writes a rejected module, here on its way to StableHLO, to a file with a fixed name.
        left = Path(tempfile.gettempdir()) / "UnnammedModule.mlir"
        self.addCleanup(left.unlink)
        left.write_text("another build's", encoding="utf-8")
        self.load("without_stablehlo")
        self.assertEqual(left.read_text(encoding="utf-8"), "another build's")

    def test_op_that_torch_mlir_rejects(self) -> None:
        parts = ("torch-mlir cannot", "aten.linalg_svd.default", line("rejected"))
        self.rejects("rejected_op", "op-rejected", *parts)

    def test_op_in_a_submodule(self) -> None:
        self.rejects("rejected_inner_op", "op-rejected", "aten.linalg_svd.default", line("inner"))

    def test_branch_on_data(self) -> None:
        self.rejects("branch", "export-rejected", "data-dependent", line("branch"))

    def test_state(self) -> None:
        parts = ("aten.add", "buffer 'count'", line("changed"))
        self.rejects("stateful", "stateful-model", *parts)

    def test_weight_that_is_not_a_number(self) -> None:
        self.rejects("nan", "bad-weight", "'mask' contains NaN")

    def test_scalar(self) -> None:
        model = self.load("scalar")
        self.assertEqual([i.describe() for i in model.inputs], ["input: f32"])
        self.assertEqual(model.golden.outputs[0][0].item(), 0.5)

    def test_forward_that_raises(self) -> None:
        self.rejects("failing", "model-failed", "RuntimeError: mat1 and mat2", line("mismatch"))

    def test_factory(self) -> None:
        self.rejects("raising", "model-failed", "ValueError: no checkpoint", line("raised"))

    def test_factory_that_is_missing(self) -> None:
        self.rejects("nowhere", "bad-source", "'model.py' has no function 'nowhere'")

    def test_factory_that_returns_something_else(self) -> None:
        self.rejects("number", "bad-spec", "model.py:number returned int", "bmc.spec.ModelSpec")

    def test_specifications_that_make_no_sense(self) -> None:
        path = self.write("model.py", _MODEL)
        for factory, part in (
            ("no_module", "ModelSpec.module is a int"),
            ("no_case", "no cases"),
            ("ragged", "2x4xf32"),
            ("int_step", "IntStep is given for output output0: 4x4xf32"),
            ("two_tolerances", "2 tolerances given for 1 outputs"),
            ("labels", "labels has shape (3,) for 2 cases"),
            ("names", "2 output names given for 1 outputs"),
        ):
            source = f"{path}:{factory}"
            self.refuses(
                "bad-spec",
                part,
                call=lambda s=source: import_model(s, ImportOptions(), self.folder),
            )

    def test_model_file_is_missing(self) -> None:
        source = str(self.folder / "none.py:make")
        self.refuses(
            "file-missing",
            "none.py' does not exist",
            call=lambda: import_model(source, ImportOptions(), self.folder),
        )


if __name__ == "__main__":
    unittest.main()
