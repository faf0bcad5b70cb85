"""Integers of 2 and 4 bits, and floats of 4 to 8, in .onnx files.

IREE's host runtime must agree with onnxruntime, or with the standard's reference where that lacks a type. What a Cast
makes must also be what ml_dtypes makes.
"""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import onnx
import support
from onnx import TensorProto as T
from onnx import helper, numpy_helper

from bmc.artifacts import ImportedModel, TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError
from bmc.frontends import onnx_codes, onnx_narrow, onnx_survey
from bmc.frontends.options import ImportOptions

_F8 = {
    "float8_e4m3fn": T.FLOAT8E4M3FN, "float8_e4m3fnuz": T.FLOAT8E4M3FNUZ, "float8_e5m2": T.FLOAT8E5M2,
    "float8_e5m2fnuz": T.FLOAT8E5M2FNUZ,
}  # fmt: skip
_SMALLER = {
    "float4_e2m1fn": T.FLOAT4E2M1,
    "float6_e2m3fn": T.FLOAT6E2M3,
    "float6_e3m2fn": T.FLOAT6E3M2,
}
_WHOLE = {"int2": T.INT2, "uint2": T.UINT2, "int4": T.INT4, "uint4": T.UINT4}
_RNG = np.random.default_rng(0)
# All numbers of the types, what lies in the middle between two of them, and the next f32 of each.
_X = """from bmc.frontends import onnx_codes
    x = []
    for name in NAMES:
        table = np.sort(onnx_codes.all_of(np.dtype(getattr(__import__("ml_dtypes"), name))))
        table = table[np.isfinite(table)]
        for each in (table, (table[1:] + table[:-1]) / 2):
            x += [each, *(np.nextafter(each, np.float32(bound)) for bound in (np.inf, -np.inf))]
    x = np.concatenate([*x, [1e30, -1e30, np.inf, -np.inf, np.nan]]).astype(np.float32)
    x = x[(abs(x) > 1e-30) | (x == 0) | np.isnan(x)]
"""


def _model(
    nodes: list[Any],
    inputs: dict[str, Any],
    outputs: dict[str, int],
    weights: list[Any],
    opset: int,
) -> onnx.ModelProto:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, *kind) for name, kind in inputs.items()],
        [info(name, element, None) for name, element in outputs.items()],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=12)


def _known() -> onnx.ModelProto:
    """Types that onnxruntime casts, as weights and between ops."""
    make = helper.make_node
    exact = np.exp2(_RNG.integers(-3, 3, (2, 6))).astype(np.float32)
    weights = [
        helper.make_tensor("w4", T.INT4, [4, 6], _RNG.integers(-8, 8, 24)),
        helper.make_tensor("z4", T.INT4, [2, 6], _RNG.integers(-8, 8, 12)),
        helper.make_tensor("z", T.INT4, [6], _RNG.integers(-3, 4, 6)),
        numpy_helper.from_array(exact, "s4"),
        numpy_helper.from_array(exact[0], "s8"),
        numpy_helper.from_array(_RNG.integers(-3, 4, (4, 6)).astype(ml_dtypes.float8_e4m3fn), "w8"),
        numpy_helper.from_array(np.array([4, 3]), "turned"),
    ]
    nodes = [
        *(make("Cast", ["x"], [name], to=to) for name, to in _F8.items()),
        make("Abs", ["x"], ["size"]),
        make("Cast", ["size"], ["e8m0"], to=T.FLOAT8E8M0),
        *(make("Cast", ["h"], [name], to=to) for name, to in _WHOLE.items()),
        *(make("Cast", ["n"], [f"{name} of n"], to=to) for name, to in _WHOLE.items()),
        make("Transpose", ["i"], ["moved i"]),
        make("Cast", ["moved i"], ["wide i"], to=T.FLOAT),
        make("Cast", ["i"], ["f8 of i"], to=T.FLOAT8E5M2),
        make("Reshape", ["f", "turned"], ["moved f"]),
        make("Cast", ["moved f"], ["wide f"], to=T.FLOAT16),
        make("Cast", ["f"], ["int4 of f"], to=T.INT4),
        make("CastLike", ["s", "f"], ["like"]),
        make("DequantizeLinear", ["w4", "s4", "z4"], ["from int4"], axis=0, block_size=2),
        make("DequantizeLinear", ["w8", "s8"], ["from f8"], axis=1),
        make("Add", ["from int4", "from f8"], ["w"]),
        make("MatMul", ["y", "w"], ["product"]),
        make("QuantizeLinear", ["product", "s8"], ["to f8"], axis=1, output_dtype=T.FLOAT8E5M2),
        make("QuantizeLinear", ["product", "s8", "z"], ["to int4"], axis=1),
    ]  # fmt: skip
    inputs: dict[str, Any] = {
        "x": (T.FLOAT, ["n"]), "h": (T.FLOAT, [12]), "n": (T.INT64, [40]), "i": (T.INT4, [3, 4]),
        "f": (T.FLOAT8E4M3FN, [3, 4]), "s": (T.FLOAT, []), "y": (T.FLOAT, [3, 4]),
    }  # fmt: skip
    outputs = {
        **_F8, "e8m0": T.FLOAT8E8M0, **_WHOLE, **{f"{name} of n": to for name, to in _WHOLE.items()},
        "moved i": T.INT4, "wide i": T.FLOAT, "f8 of i": T.FLOAT8E5M2, "moved f": T.FLOAT8E4M3FN, "wide f": T.FLOAT16,
        "int4 of f": T.INT4, "like": T.FLOAT8E4M3FN, "product": T.FLOAT, "to f8": T.FLOAT8E5M2, "to int4": T.INT4,
    }  # fmt: skip
    return _model(nodes, inputs, outputs, weights, 25)


_KNOWN = (
    _X.replace("NAMES", str(tuple(_F8)))
    + """
    h = np.array([-9, -8.5, -2.5, -1.5, -0.5, 0.49999997, 0.5, 1.5, 2.5, 7.5, 15, 300], np.float32)
    n = np.arange(-20, 20) * 7
    i = np.arange(-8, 4).reshape(3, 4).astype("int8")
    f = np.array([[0, 1, 8, 60], [63, 126, 127, 128], [129, 180, 254, 255]], np.uint8)
    y = np.arange(-6, 6).reshape(3, 4).astype(np.float32)
    return Cases(((x, h, n, i, f, np.array(3.3, np.float32), y),), Exact())"""
)


def _unknown() -> onnx.ModelProto:
    """Types that onnxruntime lacks, and what it does not do as the standard says."""
    make = helper.make_node
    scales = np.array([[0.5, 2], [1, 4], [0.25, 1]], np.float32).astype(ml_dtypes.float8_e8m0fnu)
    weights = [
        numpy_helper.from_array(_RNG.standard_normal((3, 8)).astype(ml_dtypes.float4_e2m1fn), "w"),
        numpy_helper.from_array(scales, "scales"),
        numpy_helper.from_array(np.array([2, 3, 4], np.float16), "steps"),
        numpy_helper.from_array(np.zeros(3, ml_dtypes.float4_e2m1fn), "zeros"),
        numpy_helper.from_array(np.array([1, 1]), "pads"),
        numpy_helper.from_array(np.array(2.5, ml_dtypes.float8_e5m2), "pad"),
    ]
    nodes = [
        *(make("Cast", ["x"], [name], to=to, saturate=0) for name, to in {**_F8, **_SMALLER}.items()),
        *(make("Cast", ["e"], [mode], to=T.FLOAT8E8M0, round_mode=mode) for mode in ("down", "nearest")),
        make("DequantizeLinear", ["w", "scales"], ["d"], axis=1, block_size=4, output_dtype=T.FLOAT),
        make("QuantizeLinear", ["q", "steps", "zeros"], ["to f4"], axis=1),
        make("BitCast", ["i"], ["as f4"], to=T.FLOAT4E2M1),
        make("BitCast", ["i"], ["as uint4"], to=T.UINT4),
        make("BitCast", ["b"], ["as f8"], to=T.FLOAT8E5M2),
        make("Cast", ["as f8"], ["wide f8"], to=T.FLOAT),
        make("IsNaN", ["as f8"], ["asked"]),
        make("Pad", ["as f8", "pads", "pad"], ["padded"]),
    ]  # fmt: skip
    inputs: dict[str, Any] = {
        "x": (T.FLOAT, ["n"]), "e": (T.FLOAT, [6]), "q": (T.FLOAT16, [2, 3]), "i": (T.INT4, [4]),
        "b": (T.INT8, [4]),
    }  # fmt: skip
    outputs = {
        **_F8, **_SMALLER, "down": T.FLOAT8E8M0, "nearest": T.FLOAT8E8M0, "d": T.FLOAT, "to f4": T.FLOAT4E2M1,
        "as f4": T.FLOAT4E2M1, "as uint4": T.UINT4, "wide f8": T.FLOAT, "asked": T.BOOL,
        "padded": T.FLOAT8E5M2,
    }  # fmt: skip
    return _model(nodes, inputs, outputs, weights, 28)


_UNKNOWN = (
    _X.replace("NAMES", str(tuple(_SMALLER)))
    + """
    x = np.concatenate([x, [479, 61440, -61440, 240.1]]).astype(np.float32)
    e = np.array([0, 1, 1.4, 1.5, 1e-30, 3e38], np.float32)
    q = np.array([[0, 2.5, 4.8], [-30, 9, -0.0]], np.float16)
    import ml_dtypes
    i = np.array([-8, -1, 0, 7]).astype(ml_dtypes.int4)
    return Cases(((x, e, q, i, np.array([60, -4, 126, 1], np.int8)),), Exact())"""
)


class NarrowTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def test_what_onnxruntime_knows(self) -> None:
        model = self.load(_known(), _KNOWN)
        self.agrees(model)
        self.assertEqual(model.versions.keys(), {"onnx", "onnxruntime"})
        x = model.golden.inputs[0][0]
        for name in _F8:
            dtype: np.dtype[Any] = np.dtype(name)
            most = float(ml_dtypes.finfo(dtype).max)
            self._made(model, name, np.clip(x, -most, most).astype(dtype))
        self.assertIn(
            "input i of int4 is int8: each byte has the value of one element", model.notes
        )

    def test_what_it_lacks(self) -> None:
        model = self.load(_unknown(), _UNKNOWN)
        self.agrees(model)
        self.assertEqual(model.versions.keys(), {"onnx"})
        x = model.golden.inputs[0][0]
        with np.errstate(over="ignore", invalid="ignore"):
            for name in (*_F8, *_SMALLER):
                self._made(model, name, x.astype(np.dtype(name)))

    def test_what_is_refused(self) -> None:
        rows: dict[str, Any] = {"i": (T.INT4, [3])}
        moved = _model([helper.make_node("Identity", ["i"], ["o"])], rows, {"o": T.INT4}, [], 25)
        byte = "return Cases(((np.array([1, -9, 7], np.int8),),), Exact())"
        self.rejects("bad-spec", "i gets bytes from -9 to 7", "are -8 to 7", data=moved, cases=byte)
        with self.assertRaisesRegex(BmcError, "i gets bytes from 8 to 8"):
            self.load(moved, constants={"i": 8})
        right = byte.replace("9", "8")
        with mock.patch.object(onnx_narrow, "apply", return_value=False):
            self.rejects("unsupported-dtype", "element type i4", data=moved, cases=right)
        added = _model([helper.make_node("Add", ["i", "i"], ["o"])], rows, {"o": T.INT4}, [], 25)
        path = self.folder / "added.onnx"
        path.write_bytes(added.SerializeToString())
        survey = onnx_survey.survey_file(path, ImportOptions())
        assert survey.rejected
        (found,) = survey.rejected(ImportOptions())
        self.assertIn("op 'Add' computes with int4, which is only stored", found.message)

    def test_made_up_numbers(self) -> None:
        graph = _known().graph
        inputs = [TensorInfo("i", DType.I8, (64,)), TensorInfo("f", DType.U8, (64,))]
        for i, f in onnx_codes.made_up(inputs, graph.input, quantized=True):
            self.assertTrue(set(np.unique(i)) <= {0, 1})
            self.assertTrue(np.isfinite(f.view(ml_dtypes.float8_e4m3fn).astype(np.float32)).all())
        self.assertGreater(len(np.unique(f)), 8)

    def _made(self, model: ImportedModel, name: str, wanted: Array) -> None:
        (place,) = (k for k, info in enumerate(model.outputs) if info.name == name)
        np.testing.assert_array_equal(model.golden.outputs[0][place], onnx_codes.codes(wanted))


if __name__ == "__main__":
    unittest.main()
