"""Tests what the import says of a model that computes in f64."""

from __future__ import annotations

import unittest

import support

from bmc.artifacts import ImportedModel
from bmc.frontends import import_model
from bmc.frontends.options import ImportOptions

_MODEL = (
    support.TORCH_FUNCTIONS
    + """_X = np.linspace(0.1, 3, 8, dtype=np.float32).reshape(2, 4)


def _close(function):
    return spec.ModelSpec(Model(function).eval(), ((_X,),), spec.Tolerance(1e-5, 1e-5))


def inside():
    return _close(lambda x: (3.3 * x.double()).exp().float())


def compared():
    limit = torch.full((2, 4), 0.4, dtype=torch.float64)
    return _close(lambda x: (x.double() > limit).float())


def needed():
    return _close(lambda x: (x.double() + 1e9 - 1e9).float())


def kept():
    return _close(lambda x: x.double() + 1e9 - 1e9)


def stored():
    table = torch.arange(8, dtype=torch.float64).reshape(2, 4)
    return _close(lambda x: x + table.float())


def norm():
    return spec.ModelSpec(torch.nn.LayerNorm(4).eval(), ((_X,),), spec.Tolerance(1e-5, 1e-5))
"""
)
_MLIR = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xf64>
  %1 = stablehlo.exponential %0 : tensor<4xf64>
  %2 = stablehlo.convert %1 : (tensor<4xf64>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


class DoublesTest(support.FolderTest):
    def load(self, factory: str) -> ImportedModel:
        path = self.write("model.py", _MODEL)
        return import_model(f"{path}:{factory}", ImportOptions(), self.folder / "out")

    def test_a_note_names_the_operation_and_the_difference(self) -> None:
        (note,) = self.load("inside").notes
        self.assertRegex(
            note,
            r"aten\.mul\.Tensor \(at model\.py:\d+\) computes in f64, but the firmware in f32:"
            r" output output0 is off by (?!0 )[0-9.e-]+ in case 0",
        )
        (note,) = self.load("compared").notes
        self.assertIn("aten.gt.Tensor", note)

    def test_no_note(self) -> None:
        for factory in ("kept", "stored", "norm"):
            with self.subTest(factory):
                self.assertEqual(self.load(factory).notes, ())

    def test_a_model_that_needs_f64(self) -> None:
        self.refuses(
            "import-disagrees",
            "aten.add.Tensor (at model.py:",
            "computes in f64, but IREE in f32",
            "make an input or output f64",
            call=lambda: self.load("needed"),
        )

    def test_mlir(self) -> None:
        path = self.write("model.mlir", _MLIR)
        (note,) = import_model(str(path), ImportOptions(), self.folder / "out").notes
        self.assertRegex(
            note, r"^stablehlo\.exponential \(at model\.mlir:3\) computes in f64, .* f32\. "
        )


if __name__ == "__main__":
    unittest.main()
