"""Tests the errors for cases, tolerances and names that do not match bmc.spec."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support

from bmc import intake, spec
from bmc.spec import Call, Exact, IntStep, ModelFile, ModelSpec, Previous, Tolerance

_X = np.ones((2, 3), np.float32)
_CLOSE = Tolerance(1e-5, 1e-5)


class _Tensor:
    """Stands for a framework's tensor, which has a shape and an element type."""

    def __array__(self, *_: object, **__: object) -> spec.Array:
        return _X


class _Lazy:
    def __array__(self, *_: object, **__: object) -> spec.Array:
        raise RuntimeError("call detach() first")


def _model(**fields: Any) -> ModelSpec:
    return ModelSpec(**{"module": abs, "cases": ((_X,),), "tolerance": _CLOSE, **fields})


class IntakeTest(support.FolderTest):
    def test_what_is_refused(self) -> None:
        for fields, part in (
            ({"cases": (([1.0, 2.0],),)}, "input 0 of case 0 is of type list, not a numpy array"),
            ({"cases": ((_X,), (_X, [[1.0]]))}, "input 1 of case 1 is of type list"),
            ({"cases": ((1.0,),)}, "input 0 of case 0 is of type float"),
            ({"cases": ((None,),)}, "of type NoneType"),
            ({"cases": (({"a": _X},),)}, "of type dict"),
            ({"cases": ((_Lazy(),),)}, "cannot become a numpy array: call detach() first"),
            ({"cases": (_X,)}, "case 0 is of type ndarray, not a tuple"),
            ({"cases": _X}, "cases is of type ndarray, not a tuple"),
            ({"cases": (case for case in ((_X,),))}, "cases is of type generator"),
            ({"cases": ()}, "the model has no cases"),
            ({"calls": (Call("a", (_X,)),)}, "both cases and calls"),
            ({"cases": (), "calls": ("forward",)}, "call 0 is of type str, not Call"),
            ({"cases": (), "calls": (Call("a", _X),)}, "inputs of call 0 is of type ndarray"),  # type: ignore[arg-type]
            ({"cases": (), "calls": (Call("a", ([1.0],)),)}, "input 0 of call 0 is of type list"),  # type: ignore[arg-type]
            ({"calibration": (([1.0],),)}, "input 0 of calibration 0 is of type list"),
            ({"tolerance": 1e-5}, "a tolerance is of type float"),
            ({"tolerance": (_CLOSE, "exact")}, "a tolerance is of type str"),
            ({"tolerance": Tolerance(-1, 0)}, "has an invalid number"),
            ({"tolerance": Tolerance(float("nan"), 0)}, "has an invalid number"),
            ({"tolerance": Tolerance(0, 0, 1.5)}, "has a min_cosine beyond 1"),
            ({"tolerance": IntStep(0.5, 1)}, "has an invalid number"),  # type: ignore[arg-type]
            ({"labels": np.array([0.5])}, "labels are not integers"),
            ({"labels": [[1], [1, 2]]}, "labels are not integers"),
            ({"input_names": "x"}, "input_names is of type str"),
            ({"output_names": (3,)}, "output_names[0] is of type int, not str"),
            ({"module": ModelFile(".onnx", "text")}, "ModelFile.data is of type str, not bytes"),  # type: ignore[arg-type]
            ({"module": ModelFile}, "ModelSpec.module is the class ModelFile"),
        ):
            with self.subTest(part):
                self.refuses("bad-spec", part, call=lambda f=fields: intake.model_spec(_model(**f)))

    def test_what_is_taken(self) -> None:
        half: Any = np.float32(0.5)
        three: Any = np.int32(3)
        model = intake.model_spec(
            _model(
                cases=[[np.float32(1)], (_Tensor(),), (np.ones(3, ">f4"),)],
                tolerance=[Tolerance(half, 0)],
                labels=[0, 1, 2],
                input_names=["x"],
            )
        )
        arrays = [case[0] for case in model.cases]
        self.assertEqual([a.shape for a in arrays], [(), (2, 3), (3,)])
        self.assertEqual({str(a.dtype) for a in arrays}, {"float32"})
        self.assertEqual(arrays[2].tobytes(), np.ones(3, np.float32).tobytes())
        self.assertEqual(model.tolerance, (Tolerance(0.5, 0.0),))
        self.assertEqual(model.input_names, ("x",))
        calls = (Call("a", (three,)), Call("a", (Previous(0),)))
        model = intake.model_spec(_model(cases=(), calls=calls, tolerance=Exact()))
        self.assertIsInstance(model.calls[0].inputs[0], np.ndarray)
        self.assertEqual(model.calls[1].inputs, (Previous(0),))


if __name__ == "__main__":
    unittest.main()
