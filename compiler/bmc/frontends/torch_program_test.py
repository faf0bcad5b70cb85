"""Imports exported programs of PyTorch (.pt2), and tests the errors for bad ones."""

from __future__ import annotations

import importlib.util
import os
import unittest
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import support
import torch

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_AGREES = "IREE's host runtime agrees with the framework"
_CASES = """import numpy as np
from bmc import spec


def three():
    x = np.ones((3, 4), np.float32)
    return spec.Cases(((x, np.arange(2)),), (spec.Tolerance(1e-6, 1e-6), spec.Exact()))


def wrong():
    return spec.Cases(((np.ones((3, 5), np.float32), np.arange(2)),), spec.Exact())


def steps():
    return spec.Cases(((np.ones((2, 5, 4), np.float32),),), spec.Tolerance(1e-6, 1e-6))
"""


class Network(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("shift", torch.ones(3))
        self.dropout = torch.nn.Dropout()

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"scores": self.dropout(self.linear(x)) + self.shift, "next": index + 1}


class Function(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(self, x)


def changing(module: Any, x: torch.Tensor) -> torch.Tensor:
    module.count.add_(1)
    return x + module.count


_BATCH = torch.export.Dim("batch")


class TorchProgramTest(support.FolderTest):
    def save(self, module: torch.nn.Module, *inputs: Any, **options: Any) -> Path:
        path = self.folder / "net.pt2"
        torch.export.save(torch.export.export(module.eval(), inputs, **options), path)
        return path

    def test_programs_that_train(self) -> None:
        x = torch.ones(4, 3)
        for layer, op in (
            (torch.nn.Dropout(0.5), "aten.dropout.default"),
            (torch.nn.BatchNorm1d(3), "aten.batch_norm.default"),
            (torch.nn.RReLU(), "aten.rrelu.default"),
        ):
            module = torch.nn.Sequential(layer)
            program = torch.export.export(module.train(), (x,))
            torch.export.save(program, self.folder / "net.pt2")
            self.refuses(
                "train-mode",
                f"op '{op}' runs in training mode",
                "eval()",
                call=lambda: self.load(self.folder / "net.pt2"),
            )
        # Nothing is dropped if the probability is zero, and statistics that are not kept are those of the input always.
        layers = torch.nn.Dropout(0.0), torch.nn.BatchNorm1d(3, track_running_stats=False)
        program = torch.export.export(torch.nn.Sequential(*layers).train(), (x,))
        torch.export.save(program, self.folder / "net.pt2")
        self.load(self.folder / "net.pt2")

    def network(self) -> Path:
        torch.manual_seed(0)
        network = Network()
        shapes = {"x": {0: _BATCH}, "index": None}
        return self.save(network, torch.randn(2, 4), torch.arange(2), dynamic_shapes=shapes)

    def load(self, path: Path, cases: str = "") -> ImportedModel:
        cases = f"{self.write('cases.py', _CASES)}:{cases}" if cases else ""
        return import_model(str(path), ImportOptions(cases=cases), self.folder / "out")

    def rejects(self, path: Path, kind: str, *parts: str, cases: str = "") -> None:
        self.refuses(kind, *parts, call=lambda: self.load(path, cases))

    def signature(self, model: ImportedModel) -> list[str]:
        (signature,) = model.signatures
        return [info.describe() for info in (*signature.inputs, *signature.outputs)]

    def test_without_cases_the_batch_is_one(self) -> None:
        model = self.load(self.network())
        names = ["x: 1x4xf32", "index: 2xi64"]
        self.assertEqual(self.signature(model), [*names, "add: 1x3xf32", "add_1: 2xi64"])
        self.assertEqual(
            [p.name for p in model.parameters], ["linear.bias", "linear.weight", "shift"]
        )
        self.assertEqual(model.source, "net.pt2")
        largest = max(float(np.abs(scores).max()) for scores, _ in model.golden.outputs)
        self.assertEqual(len(model.golden.inputs), 4)
        close = spec.Tolerance(float(f"{largest * 1e-5:.1e}"), 1e-4)
        self.assertEqual(model.golden.policies, (close, spec.Exact()))
        self.assertIn(_AGREES, model.second_reference)
        # The golden outputs are the module's own.
        torch.manual_seed(0)
        network = Network().eval()
        (x, index), (scores, following) = model.golden.inputs[0], model.golden.outputs[0]
        wanted = network(torch.from_numpy(x), torch.from_numpy(index))
        np.testing.assert_allclose(scores, wanted["scores"].detach(), atol=1e-6)
        np.testing.assert_array_equal(following, index + 1)

    def test_cases_fix_the_batch(self) -> None:
        model = self.load(self.network(), "three")
        self.assertEqual(self.signature(model)[2], "add: 3x3xf32")
        parts = ("x: 3x5xf32", "x: ?x4xf32")
        self.rejects(self.network(), "bad-spec", *parts, cases="wrong")

    def test_other_dynamic_dimensions_need_cases(self) -> None:
        steps = {"x": {1: torch.export.Dim("steps")}}
        relu = Function(lambda module, x: x.relu())
        path = self.save(relu, torch.randn(2, 3, 4), dynamic_shapes=steps)
        self.rejects(path, "dynamic-shape", "dimension 1 of input x: 2x?x4xf32", "--cases")
        self.assertEqual(self.signature(self.load(path, "steps"))[1], "relu: 2x5x4xf32")

    def test_element_types(self) -> None:
        for dtype in (
            torch.float16,
            torch.float32,
            torch.int8,
            torch.uint8,
            torch.int16,
            torch.int32,
            torch.int64,
            torch.bool,
        ):
            with self.subTest(str(dtype)):
                step = Function(lambda module, x: ~x if x.dtype == torch.bool else x + 1)
                model = self.load(self.save(step, torch.ones(2, 4, dtype=dtype)))
                self.assertIn(_AGREES, model.second_reference)
                self.assertEqual(model.golden.outputs[0][0].dtype.name, str(dtype)[6:])

    def test_scalar(self) -> None:
        model = self.load(self.save(Function(lambda module, x: x.sum()), torch.ones(())))
        self.assertEqual(self.signature(model)[0], "x: f32")
        self.assertEqual(self.signature(model)[1].rpartition(" ")[2], "f32")

    def test_what_stablehlo_has_no_form_of(self) -> None:
        larger = torch.nn.Upsample(scale_factor=2)
        path = self.save(Function(lambda module, x: larger(x).topk(2)[0]), torch.randn(1, 1, 2, 3))
        model = self.load(path)
        self.assertEqual(self.signature(model)[1].rpartition(" ")[2], "1x1x4x2xf32")
        self.assertIn(_AGREES, model.second_reference)

    def test_damaged_files(self) -> None:
        data = self.network().read_bytes()
        middle = len(data) // 3
        for name, content in {
            "half.pt2": data[: len(data) // 2],
            "text.pt2": b"not a model",
            "flipped.pt2": data[:middle] + b"\xff\xff\xff\xff" + data[middle + 4 :],
        }.items():
            (self.folder / name).write_bytes(content)
            self.rejects(self.folder / name, "bad-file", f"'{name}'")
        with zipfile.ZipFile(self.folder / "other.pt2", "w") as archive:
            archive.writestr("a", "b")
        self.rejects(self.folder / "other.pt2", "bad-file", "'other.pt2'")

    def test_programs_that_cannot_be_lowered(self) -> None:
        for function, kind, *parts in (
            (lambda module, x: torch.linalg.svd(x)[1], "op-rejected", "aten.linalg_svd.default"),
            (changing, "stateful-model", "aten.add", "buffer 'count'"),
            (lambda module, x: (x, 3), "bad-signature", "something other than tensors"),
        ):
            with self.subTest(kind):
                self.rejects(self.save(Function(function), torch.randn(2, 4)), kind, *parts)

    def test_arguments_that_are_not_tensors(self) -> None:
        path = self.save(Function(lambda module, x: x["a"] + 1), {"a": torch.randn(2)})
        self.rejects(path, "bad-signature", "one tensor per input")

    def test_weight_that_is_not_a_number(self) -> None:
        network = Network()
        network.linear.weight.data[0, 0] = float("nan")
        path = self.save(network, torch.randn(2, 4), torch.arange(2))
        self.rejects(path, "bad-weight", "'linear.weight' contains NaN")

    def test_tensorflow_is_not_needed(self) -> None:
        if (
            "TEST_SRCDIR" in os.environ
        ):  # Only Bazel leaves out packages that the test does not name.
            for package in ("tensorflow", "keras", "jax", "onnx"):
                self.assertIsNone(importlib.util.find_spec(package))
        self.load(self.network())


if __name__ == "__main__":
    unittest.main()
