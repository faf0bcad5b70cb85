"""Imports ops on bytes that crash torch-mlir's linalg; IREE's host runtime must agree with PyTorch."""

from __future__ import annotations

import functools
import unittest
from unittest import mock

import support
import torch

from bmc import guard
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_MODEL = (
    support.TORCH_FUNCTIONS
    + """
_RNG = np.random.default_rng(1)
_BYTES = _RNG.integers(0, 256, (2, 3, 4)).astype(np.uint8)
_SIGNED = _BYTES.view(np.int8)


def _products(x):
    kernel = x[:1, :, :2]
    return (
        x[0] @ x[1].T,
        x @ x.transpose(1, 2),
        torch.nn.functional.linear(x, x[0], x[0, :, 0]),
        torch.conv1d(x, kernel),
        torch.conv2d(x[None], kernel[None].transpose(0, 1).expand(1, 2, 3, 2)),
    )


def products():
    return _spec(_products, _BYTES)


def signed_products():
    return _spec(_products, _SIGNED)


def floats():
    x = _RNG.uniform(0, 255, (1, 1, 4, 4)).astype(np.float32)
    return _spec(lambda x: (x.round().to(torch.uint8), x.half().byte(), (x / 2).to(torch.int8)), x)


def rows():
    return _spec(lambda x: x + torch.arange(250, 254, dtype=torch.uint8), _BYTES)


def powers():
    x = _BYTES.astype(np.int32)
    return _spec(lambda x: (x**1, x**2, x**13, x**0, x.to(torch.uint8) ** 3, (x > 9) ** 2), x)


def numbers():
    x = np.array([[-128, -3, 0, 5, 127]], np.int8)

    def compute(x):
        products = x * 3, x * -1, -x, x.to(torch.uint8) * 7, x.clone().mul_(2).add_(1)
        return (*products, x - 3, x.to(torch.uint8) - 5)

    return _spec(compute, x)


def truths():
    def compute(x):
        large = x > 100
        return (
            *(x * large, x + large, torch.maximum(large, x), x > large, x & large),
            *(torch.where(x > 9, large, x), torch.cat([large, x, large])),
        )

    return _spec(lambda x: (*compute(x), *compute(x.to(torch.int8))), _BYTES)


def constants():
    full = torch.full((3,), 200, dtype=torch.uint8)
    return _spec(lambda x: (full.clone(), torch.full_like(x, 7), x[:0], full[0].clone(), x.T), _BYTES[0])


def roots():
    made = Model(lambda x: (x**0.5, x**1.5, x.to(torch.int32) ** 0.5))
    return spec.ModelSpec(made, ((_BYTES,),), (spec.Tolerance(1e-5, 1e-5),) * 3)
"""
)


class TorchBytesTest(support.FolderTest):
    def load(self, factory: str, output_type: str = "linalg") -> str:
        path = self.write("model.py", _MODEL)
        options = ImportOptions(output_type=output_type)
        return import_model(f"{path}:{factory}", options, self.folder / "out").second_reference

    def test_they_are_right(self) -> None:
        for factory in (
            "constants",
            "products",
            "signed_products",
            "rows",
            "floats",
            "powers",
            "roots",
            "numbers",
            "truths",
        ):
            for output_type in ("linalg", "stablehlo"):
                with self.subTest(factory, output_type=output_type):
                    self.assertIn(support.AGREES, self.load(factory, output_type))

    def test_without_it_they_crash(self) -> None:
        # If one of these models can be imported, torch-mlir has mended what the model needs.
        for factory, op in (
            ("products", "'aten.mm.default' of uint8"),
            ("rows", "'aten.arange.start_step'"),
            ("roots", "'aten.pow.Tensor_Scalar' of uint8"),
            ("numbers", "'aten.mul.Tensor' of int8"),
            ("truths", "'aten.mul.Tensor' of bool, uint8"),
        ):
            with self.subTest(factory), mock.patch("bmc.frontends.torch_bytes.apply"):
                said = f"torch_mlir crashed with SIGSEGV on op {op} (at model.py:"
                alone = functools.partial(self.load_alone, factory)
                self.refuses("crashed", said, call=functools.partial(guard.run, alone))
        with mock.patch("bmc.frontends.torch_bytes.apply"):
            for factory in ("powers", "constants"):
                self.refuses("op-rejected", call=functools.partial(self.load, factory))

    def load_alone(self, factory: str) -> int:
        """For a process that was forked: the threads of PyTorch are not in it, and PyTorch would wait for them."""
        torch.set_num_threads(1)
        return len(self.load(factory))


if __name__ == "__main__":
    unittest.main()
