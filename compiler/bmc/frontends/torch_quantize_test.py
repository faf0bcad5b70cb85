"""Quantizes PyTorch models with torchao: products are exact, scales are in the right places, errors are clear."""

from __future__ import annotations

import functools
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import support
import torch

from bmc import artifacts, target, verify
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, compile_model
from bmc.frontends import import_model, torch_quantize
from bmc.frontends.options import INT8, ImportOptions

_MODELS = """
import numpy as np
import torch
from torch import nn
from bmc.spec import Call, ModelSpec, Previous, Tolerance


def _spec(module, shape, **options):
    rng = np.random.default_rng(0)
    torch.manual_seed(0)

    def inputs(count):
        return tuple((rng.standard_normal(shape, np.float32),) for _ in range(count))

    options = {"cases": inputs(4), "calibration": inputs(8), **options}
    return ModelSpec(module().eval(), tolerance=Tolerance(1e-6, 1e-5), **options)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 16, 1)
        self.skip = nn.Conv2d(8, 16, 1, stride=2)
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Linear(16, 5)

    def forward(self, x):
        x = self.first(x)
        y = self.pointwise(self.depthwise(x).relu()) + self.skip(x)
        return self.last(self.pool(y.relu()).mean((2, 3)))


def convolutions():
    return _spec(Residual, (1, 3, 8, 8))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).reshape(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + y.transpose(1, 2).reshape(1, 6, 16)


def attention():
    return _spec(Attention, (1, 6, 16))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 16, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


def recurrent():
    return _spec(Recurrent, (1, 3, 8))


def grouped():
    return _spec(lambda: nn.Conv2d(8, 16, 3, groups=4), (1, 8, 6, 6))


class Transposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.ConvTranspose2d(8, 4, 2, stride=2)

    def forward(self, x):
        return self.conv(x)  # transposed


def transposed():
    return _spec(Transposed, (1, 8, 6, 6))


class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Parameter(torch.randn(16, 32))
        self.linear = nn.Linear(32, 8)

    def forward(self, x):
        return self.linear(x + self.positions)


def positions():
    return _spec(Positions, (1, 16, 32))


def uncalibrated():
    return _spec(Positions, (1, 16, 32), calibration=())


def other_shape():
    return _spec(Positions, (1, 16, 32), calibration=((np.zeros((1, 8, 32), np.float32),),))


def nothing():
    return _spec(nn.Softmax, (4, 4))


class Otherwise(Positions):
    def forward(self, x):
        return super().forward(x) * (2 if torch.compiler.is_exporting() else 1)


def otherwise():
    return _spec(Otherwise, (1, 16, 32))


def weight_only():
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = _spec(lambda: nn.Sequential(nn.Linear(32, 32)), (2, 32), calibration=())
    quantize_(model.module, Int8WeightOnlyConfig())
    return model


class Stateful(nn.Module):
    # Two entry points that share a weight; one of them has a state.

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 16)
        self.head = nn.Linear(16, 8)
        self.register_buffer("hidden", torch.zeros(1, 16))

    def step(self, x):
        self.hidden.copy_(self.cell(x, self.hidden))
        return self.head(self.hidden)

    def peek(self, x):
        return self.head(x)


def _calls(*calls, **options):
    return _spec(Stateful, (1, 8), cases=(), calibration=(), calls=calls, **options)


def stateful():
    window = np.random.default_rng(0).standard_normal((1, 8)).astype(np.float32)
    return _calls(
        Call("step", (window,), reset=True),
        Call("step", (Previous(0),)),
        Call("step", (Previous(0),)),
        Call("peek", (np.ones((1, 16), np.float32),)),
        Call("step", (window,), reset=True),
    )


def twice_calibrated():
    x = np.zeros((1, 8), np.float32)
    return _spec(Stateful, (1, 8), cases=(), calls=(Call("step", (x,)),))


def nothing_before():
    return _calls(Call("step", (Previous(0),)))


def no_such_output():
    x = np.zeros((1, 8), np.float32)
    return _calls(Call("step", (x,)), Call("step", (Previous(1),)))
"""


@functools.cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp())
    (folder / "models.py").write_text(_MODELS, encoding="utf-8")
    return folder


@functools.cache
def _imported(factory: str) -> ImportedModel:
    """Quantizes and imports one of _MODELS, each only once."""
    out = _folder() / factory
    import_model(f"{_folder() / 'models.py'}:{factory}", ImportOptions(quantize=INT8), out)
    return artifacts.load(out)


class Int8Test(support.FolderTest):
    def compile(self, factory: str, **float_parts: str) -> dict[str, Any]:
        options = CompileOptions("m", target.find(support.ISA), self.folder, None, float_parts)
        return compile_model(_imported(factory), options)

    def agrees(self, factory: str) -> None:
        """Asserts that IREE agrees with PyTorch's quantized model, except for f32 rounding."""
        for check in verify.run(_imported(factory), self.folder):
            self.assertTrue(check.difference.ok, f"{factory}: {check}")

    def test_convolutions(self) -> None:
        self.agrees("convolutions")
        report = self.compile("convolutions")["int8"]
        self.assertEqual(len(report["integer_dispatches"]), 5, report)
        # Those of the first one are stored in 16 bits, because many pixels read them.
        weights = 2 * 8 * 3 * 9 + 8 * 9 + 16 * 8 + 16 * 8 + 5 * 16
        self.assertEqual(report["int8_weight_bytes"], weights)

    def test_grouped_convolution_with_a_bias(self) -> None:
        self.agrees("grouped")
        report = self.compile("grouped")["int8"]
        self.assertEqual(len(report["integer_dispatches"]), 1, report)

    def test_what_lies_between_convolutions(self) -> None:
        class Net(torch.nn.Module):  # type: ignore[misc]
            def __init__(self) -> None:
                super().__init__()
                self.layers = torch.nn.ModuleList(torch.nn.Conv2d(4 * n, 4, 1) for n in (1, 1, 2))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                first, second, third = self.layers
                x = first(x)
                x = x * torch.clamp(x + 3, 0, 6) / 6
                y = third(torch.cat((x, second(x) * 2), 1))
                return (x + y).mean((2, 3))

        graph = torch.export.export(Net().eval(), (torch.zeros(1, 4, 2, 2),)).module()
        torch_quantize.Int8Quantizer().annotate(graph)
        found = [n.name for n in graph.graph.nodes if "quantization_annotation" in n.meta]
        # Neither within the hard swish nor before the concatenation; the sum and the mean read stored maps.
        self.assertEqual(found, ["conv2d", "conv2d_1", "conv2d_2", "add_1", "mean"])

    def test_attention(self) -> None:
        self.agrees("attention")
        report = self.compile("attention")["int8"]
        self.assertEqual(len(report["integer_dispatches"]), 3, report)

    def test_lstm_is_unrolled(self) -> None:
        self.agrees("recurrent")
        report = self.compile("recurrent")
        products = set(report["int8"]["integer_dispatches"])
        steps = sum(d["uses"] for d in report["dispatches"] if d["name"] in products)
        # The inputs of all three steps together, then the state of each. The first state is 0.
        self.assertEqual(steps, 3, products)
        # Three steps use one copy of the weights.
        self.assertEqual(report["int8"]["int8_weight_bytes"], 4 * 16 * (8 + 16))

    def test_what_iree_keeps_in_float_fails_the_build(self) -> None:
        line = _MODELS[: _MODELS.index("# transposed")].count("\n") + 1
        self.refuses("float-dispatch", f"models.py:{line}", call=lambda: self.compile("transposed"))

    def test_large_float_parameter_has_to_be_listed(self) -> None:
        line = 1 + _MODELS[: _MODELS.index("+ self.positions")].count("\n")
        self.refuses(
            "float-weight",
            "'positions'",
            "16x32xf32",
            f"models.py:{line}",
            call=lambda: self.compile("positions"),
        )
        report = self.compile("positions", positions="added, not multiplied")["int8"]
        self.assertEqual(report["float_parts"], {"positions": "added, not multiplied"})

    def test_several_entry_points_with_state(self) -> None:
        self.agrees("stateful")
        model = _imported("stateful")
        self.assertEqual([s.name for s in model.signatures], ["step", "peek"])
        first, second, third, _, again = (outputs[0] for outputs in model.golden.outputs)
        # The int8 model's own outputs are fed back, and a reset forgets them.
        np.testing.assert_array_equal(model.golden.inputs[1][0], first)
        np.testing.assert_array_equal(model.golden.inputs[2][0], second)
        np.testing.assert_array_equal(again, first)
        self.assertFalse(np.array_equal(second, third))
        report = self.compile("stateful")
        names = [p.name for p in model.parameters if p.dtype == "float32" and len(p.shape) == 1]
        self.assertEqual(
            [n for n in names if "bias" in n], ["cell.bias_hh", "cell.bias_ih", "head.bias"]
        )
        self.assertEqual(
            [p.name for p in model.parameters if len(p.shape) == 2 and p.dtype != "int8"], []
        )
        # Three products in `step`, one in `peek`.
        self.assertEqual(len(report["int8"]["integer_dispatches"]), 4, report["int8"])
        # One copy of the weight that both entry points use.
        self.assertEqual(report["int8"]["int8_weight_bytes"], 48 * 8 + 48 * 16 + 8 * 16)

    def test_model_that_its_author_quantized(self) -> None:
        model = import_model(
            f"{_folder() / 'models.py'}:weight_only", ImportOptions(), self.folder / "out"
        )
        self.assertIn("agrees with the framework", model.second_reference)
        self.assertIn("int8", [parameter.dtype for parameter in model.parameters])

    def test_torchao_says_nothing_when_a_model_imports_it(self) -> None:
        program = "from bmc.frontends import quiet\nwith quiet.advice(): import torchao"
        done = support.python("-c", program)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_versions_name_who_quantized(self) -> None:
        self.assertIn("torchao", _imported("positions").versions)


class RefusedTest(support.FolderTest):
    def rejects(self, factory: str, kind: str, *parts: str) -> None:
        self.refuses(kind, *parts, call=lambda: _imported(factory))

    def test_calibration(self) -> None:
        self.rejects("uncalibrated", "no-calibration", "needs calibration inputs")
        self.rejects("other_shape", "bad-spec", "calibration 0 is (x: 1x8x32xf32)")

    def test_nothing_to_quantize(self) -> None:
        self.rejects("nothing", "quantize-rejected", "no convolution and no matrix product")

    def test_module_that_is_another_one_when_exported(self) -> None:
        self.rejects("otherwise", "import-disagrees", "PyTorch exports", "output0 is off by")

    def test_calls_and_calibration(self) -> None:
        self.rejects(
            "twice_calibrated", "bad-spec", "calibration is given", "leave calibration out"
        )

    def test_calls_that_nothing_comes_before(self) -> None:
        self.rejects("nothing_before", "bad-spec", "call 0 takes output 0", "returned 0")
        self.rejects("no_such_output", "bad-spec", "call 1 takes output 1", "returned 1")


class AttentionTest(unittest.TestCase):
    """The decomposed attention computes the same as PyTorch's."""

    def test_agrees_with_pytorch(self) -> None:
        torch.manual_seed(0)
        query = torch.randn(2, 4, 5, 8)
        key, value = torch.randn(2, 2, 4, 5, 8)
        for options in (
            {},
            {"is_causal": True},
            {"scale": 0.5},
            {"attn_mask": torch.randn(5, 5)},
            {"attn_mask": torch.ones(5, 5, dtype=torch.bool).triu()},
        ):
            want = torch.nn.functional.scaled_dot_product_attention(query, key, value, **options)
            got = torch_quantize.attention(query, key, value, **options)
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)

    def test_grouped_queries(self) -> None:
        torch.manual_seed(0)
        query = torch.randn(1, 4, 5, 8)
        key, value = torch.randn(2, 1, 2, 5, 8)
        want = torch.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        got = torch_quantize.attention(query, key, value, enable_gqa=True)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
