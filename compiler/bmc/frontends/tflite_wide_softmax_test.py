"""SOFTMAX with a result of int16 and QUANTIZE of it match LiteRT's reference kernels bit for bit."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import support
from tflite_graph import Graph

_WIDE = (2.0**-16, -(2**15))


def _file(shape: tuple[int, ...], scale: float, *, ends: bool = False, **options: Any) -> bytes:
    """Returns a SOFTMAX whose result QUANTIZE multiplies with `scale`; with `ends`, that is an output too."""
    made = Graph()
    x, y, z = (
        made.tensor(name, shape, kind)
        for name, kind in (("x", "int8"), ("y", "int16"), ("z", "int32"))
    )
    made.quantize(x, options.pop("given", 0.07), 2)
    made.quantize(y, *_WIDE)
    made.quantize(z, _WIDE[0] / scale, options.pop("zero_point", 0))
    made.op("SOFTMAX", [x], [y], version=2, options="SoftmaxOptions", beta=1.0)
    made.op("QUANTIZE", [y], [z])
    return made.file([x], [z, y] if ends else [z])


class TfliteWideSoftmaxTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_forms(self) -> None:
        forms: tuple[tuple[tuple[int, ...], float, dict[str, Any]], ...] = (
            ((1, 2), 0.5, {}),
            ((3, 5), 1.0, {"given": 0.01}),
            ((2, 3, 4), 1000.0, {"given": 0.2}),
            ((1, 40), 0.3, {"given": 0.001}),
        )
        for shape, scale, options in forms:
            with self.subTest(shape):
                model = self.load(_file(shape, scale, **options))
                self.assertGreater(len(np.unique(np.stack(model.golden.outputs))), 5)
                self.agrees(model)

    def test_one_number_takes_all(self) -> None:
        cases = "x = np.array([[127, -128]], np.int8); return Cases(((x,),), Exact())"
        model = self.load(_file((1, 2), 1.0, given=0.5), cases)
        self.assertEqual(model.golden.outputs[0][0].tolist(), [[2**16 - 1, 0]])
        self.agrees(model)

    def test_what_is_refused(self) -> None:
        kind = "unsupported-quantization"
        for scale, options in ((0.5, {"ends": True}), (0.5, {"zero_point": 1}), (2.0**15, {})):
            data = _file((1, 2), scale, **options)
            self.rejects(kind, "tensor 'y' in 'model.tflite'", "a zero point", data=data)


if __name__ == "__main__":
    unittest.main()
