"""Imports ONNX powers of integers, and floats' powers of integers; IREE must agree with onnxruntime."""

from __future__ import annotations

from unittest import main, mock

import numpy as np
import onnx
import support
from onnx import helper, numpy_helper

from bmc.frontends import onnx_powers

_BASES = (-2, 0, -1, -7, 3, 2, -3, 5, 1, -1, 0, -1)
_EXPONENTS = (3, 0, 2**24 + 1, 2, 4, 10, 3, 1, -3, -3, 33, 40)


def _model(base: type, exponent: type) -> onnx.ModelProto:
    elements = [helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) for dtype in (base, exponent)]
    size = [len(_BASES)]
    graph = helper.make_graph(
        [helper.make_node("Pow", ["x", "y"], ["z"])],
        "g",
        [
            helper.make_tensor_value_info(name, element, size)
            for name, element in zip("xy", elements, strict=True)
        ],
        [helper.make_tensor_value_info("z", elements[0], size)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _cases(base: type, exponent: type) -> str:
    x, y = (
        f"np.array({numbers}, np.{dtype.__name__})"
        for numbers, dtype in ((_BASES, base), (_EXPONENTS, exponent))
    )
    # Products that overflow are undefined in C++, of which onnxruntime is made.
    limits = "((-1, 1), (-9, 9))" if np.issubdtype(base, np.integer) else "(None, (-9, 9))"
    close = "Tolerance(1e-5, 1e-5)" if base is np.float32 else "Exact()"
    return f"x, y = {x}, {y}; return Cases(((x, y),), {close}, ranges={limits})"


class PowersTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_they_are_right(self) -> None:
        for base, exponent in (
            (np.float32, np.int64),
            (np.int32, np.int32),
            (np.int64, np.int32),
        ):
            with self.subTest(base=base, exponent=exponent):
                data, cases = _model(base, exponent), _cases(base, exponent)
                self.agrees(self.load(data, cases))
                with mock.patch.object(onnx_powers, "rewrite", return_value=False):
                    self.rejects("import-disagrees", "output z of case 0", data=data, cases=cases)

    def test_integers_with_exponents_that_are_floats(self) -> None:
        data, cases = _model(np.int32, np.float32), _cases(np.int32, np.float32)
        self.rejects(
            "op-rejected", "'Pow' of integers", "(at the node of z)", data=data, cases=cases
        )
        exponents = np.array((3, 0, 7, *_EXPONENTS[3:8], 2, 2, 2, 2), np.float32)
        data.graph.initializer.append(numpy_helper.from_array(exponents, "y"))
        del data.graph.input[1]
        x = f"np.array({_BASES}, np.int32)"
        self.agrees(self.load(data, f"return Cases((({x},),), Exact(), ranges=((-9, 9),))"))
        exponents[0] = 0.5
        data.graph.initializer[0].CopyFrom(numpy_helper.from_array(exponents, "y"))
        self.rejects("op-rejected", "'Pow' of integers", data=data)


if __name__ == "__main__":
    main()
