"""Imports .tflite files of ops that bmc writes as MLIR, on hard inputs. IREE must agree with LiteRT."""

from __future__ import annotations

import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import support
from iree.compiler import ir
from numpy.typing import NDArray
from tflite_graph import Graph

from bmc.errors import BmcError
from bmc.frontends import tflite, tflite_file, tflite_own
from bmc.ir import ir_util

_RNG = np.random.default_rng(0)
_BYTES = np.arange(-128, 128, dtype=np.int8)
_WORDS = np.concatenate([np.arange(-(2**15), 2**15, 37), [0, 1, -1, 2**15 - 1]]).astype(np.int16)
_ALONE = mock.patch.object(tflite_own, "write", side_effect=lambda data: data)


@dataclass(frozen=True)
class _Tensor:
    """An operand, or a result of which only the shape and the type count."""

    value: NDArray[Any]
    scale: float = 0.0
    zero: int = 0
    constant: bool = False


def _made(shape: tuple[int, ...], dtype: str, scale: float = 0.0, zero: int = 0) -> _Tensor:
    return _Tensor(np.zeros(shape, dtype), scale, zero)


def _known(value: Any, dtype: str = "int32", scale: float = 0.0, zero: int = 0) -> _Tensor:
    return _Tensor(np.array(value, dtype), scale, zero, constant=True)


@dataclass(frozen=True)
class _Op:
    kind: str
    given: tuple[_Tensor, ...]
    made: tuple[_Tensor, ...]
    options: dict[str, Any]
    version: int


def _op(kind: str, given: Any, made: Any, version: int = 0, **options: Any) -> _Op:
    """Returns an op, of the second version for integers with a scale if none is given."""
    version = version or (2 if any(each.scale for each in (*given, *made)) else 1)
    return _Op(kind, tuple(given), tuple(made), options, version)


def _pair(kind: str, made: _Tensor, options: str) -> _Op:
    """Returns an op on all pairs of bytes, but with none that LiteRT refuses to divide by."""
    given = _Tensor(_BYTES[None], 0.02, 3), _Tensor(np.delete(_BYTES, 121)[:, None], 0.031, -7)
    return _op(kind, given, [made], options=options)


_BYTE = _Tensor(_BYTES, 0.02, -128)
_ROWS = _RNG.integers(-128, 128, (64, 4), np.int8)
_MANY = np.random.default_rng(3).integers(-128, 128, (4096, 8), np.int8)
_IMAGE = _RNG.integers(-128, 128, (1, 8, 8, 2), np.int8)
_FLOATS = _RNG.standard_normal((4, 6)).astype(np.float32)
_BOXES = tuple(_Tensor(_RNG.standard_normal(s).astype(np.float32)) for s in ((20, 4), (20,)))
_HARD = np.array([0.0, -0.0, 4.5, -1.75, 0.25, 3e9, -7e-3, 1.0], np.float32)
_WIDE, _OTHER = (_Tensor(_RNG.integers(-(2**15), 2**15, (4, 6), np.int16), 0.1) for _ in range(2))
_CHOICE = _Tensor(_RNG.integers(0, 2, (4, 6)).astype(bool))
_REDUCED: Any = {"options": "ReducerOptions"}
_AXIS = _known([1])

# What the converter passes on as it is.
_LACKING = (
    *(
        _pair(kind, _made((255, 256), "bool"), f"{name}Options")
        for kind, name in (
            ("EQUAL", "Equal"), ("GREATER", "Greater"), ("GREATER_EQUAL", "GreaterEqual"), ("LESS", "Less"),
            ("LESS_EQUAL", "LessEqual"), ("NOT_EQUAL", "NotEqual"),
        )
    ),
    _op("L2_NORMALIZATION", [_Tensor(_ROWS, 0.03, 5)], [_made((64, 4), "int8", 1 / 128)], options="L2NormOptions"),
    _op("REDUCE_PROD", [_Tensor(_ROWS, 0.03, 5), _AXIS], [_made((64,), "int8", 0.1, -9)], **_REDUCED),
    _op("BITCAST", [_Tensor(_FLOATS)], [_made((4, 6), "int32")]),
    _op("CUMSUM", [_Tensor(_FLOATS), _known(0)], [_made((4, 6), "float32")], options="CumsumOptions"),
    _op("CUMSUM", [_Tensor(_FLOATS), _known(-1)], [_made((4, 6), "float32")], options="CumsumOptions",
        exclusive=True, reverse=True),
    _op("FILL", [_known([2, 3]), _Tensor(np.array(7, np.int32))], [_made((2, 3), "int32")]),
    _op("LOCAL_RESPONSE_NORMALIZATION", [_Tensor(_FLOATS.reshape(1, 2, 2, 6))], [_made((1, 2, 2, 6), "float32")],
        options="LocalResponseNormalizationOptions", radius=2, bias=1.5, alpha=0.7, beta=0.4),
    _op("MATRIX_DIAG", [_Tensor(_FLOATS)], [_made((4, 6, 6), "float32")], options="MatrixDiagOptions"),
    _op("MATRIX_SET_DIAG", [_Tensor(_FLOATS.reshape(6, 4)), _Tensor(_HARD[:4])], [_made((6, 4), "float32")],
        options="MatrixSetDiagOptions"),
    _op("REVERSE_SEQUENCE", [_Tensor(_FLOATS), _Tensor(np.array([0, 3, 6, 1], np.int32))],
        [_made((4, 6), "float32")], options="ReverseSequenceOptions", seqDim=1, batchDim=0),
    _op("LOG_SOFTMAX", [_Tensor(_MANY, 0.03, 5)], [_made((4096, 8), "int8", 1 / 16, 127)],
        options="LogSoftmaxOptions"),
    _op("LOG_SOFTMAX", [_Tensor(_MANY.reshape(16, 2048) // 9, 0.11)], [_made((16, 2048), "int8", 1 / 16, 127)],
        options="LogSoftmaxOptions"),
    *(
        _op("DYNAMIC_UPDATE_SLICE", [_Tensor(_FLOATS), _Tensor(_FLOATS[:2, :3] + 9), _Tensor(np.array(at, kind))],
            [_made((4, 6), "float32")], options="DynamicUpdateSliceOptions")
        for at, kind in (([1, 2], np.int32), ([-7, 4], np.int64), ([3, 0], np.int32))
    ),
    _op("RIGHT_SHIFT", [_Tensor(np.array([-9, 2**31 - 1, -(2**31), 5], np.int32)),
                        _Tensor(np.array([1, 31, 40, -2], np.int32))], [_made((4,), "int32")]),
    _op("SEGMENT_SUM", [_Tensor(_FLOATS), _known([0, 0, 1, 2])], [_made((3, 6), "float32")],
        options="SegmentSumOptions"),
    *(
        _op(f"UNSORTED_SEGMENT_{how}", [_Tensor(_FLOATS), _Tensor(np.array([2, 0, -1, 2], np.int32)), _known(4)],
            [_made((4, 6), "float32")], options=f"UnsortedSegment{how.title()}Options")
        for how in ("MAX", "MIN", "PROD", "SUM")
    ),
    _op("NON_MAX_SUPPRESSION_V4", [*_BOXES, _known(12), _known(0.3, "float32"), _known(-0.5, "float32")],
        [_made((12,), "int32"), _made((), "int32")]),
    _op("NON_MAX_SUPPRESSION_V5", [*_BOXES, _known(7), *(_known(x, "float32") for x in (0.6, 0.1, 0.4))],
        [_made((7,), "int32"), _made((7,), "float32"), _made((), "int32")]),
    _op("TOPK_V2", [_Tensor(_BYTES[[5, 9, 9, 2, 200, 200]][None], 0.1), _known(4)],
        [_made((1, 4), "int8", 0.1), _made((1, 4), "int32")], options="TopKV2Options"),
)  # fmt: skip
# What it rejects, makes invalid operations of, or crashes on, and what is not left to it.
_REJECTED = (
    _op("RESIZE_NEAREST_NEIGHBOR", [_Tensor(_IMAGE, 0.1), _known([3, 11])], [_made((1, 3, 11, 2), "int8", 0.1)],
        options="ResizeNearestNeighborOptions"),
    _op("ABS", [_Tensor(_BYTES, 0.02, 9)], [_made((256,), "int8", 0.013, -128)], options="AbsOptions"),
    _op("SQRT", [_BYTE], [_made((256,), "int8", 0.01, -100)]),
    _pair("DIV", _made((255, 256), "int8", 0.01, 5), "DivOptions"),
    _op("ARG_MIN", [_Tensor(_ROWS, 0.03, 5), _known(1)], [_made((64,), "int32")], options="ArgMinOptions",
        outputType=2),
    _op("ONE_HOT", version=1, given=[_Tensor(np.array([0, 3, -1, 9], np.int32)), _known(4), _known(9, "int8", 0.5),
                    _known(1, "int8", 0.25)], made=[_made((4, 4), "int8", 0.5)], options="OneHotOptions", axis=-1),
    _op("CONV_3D_TRANSPOSE",
        [_known([1, 5, 4, 6, 2]), _Tensor(_RNG.standard_normal((3, 2, 3, 2, 1)).astype(np.float32)),
         _Tensor(_RNG.standard_normal((1, 3, 2, 3, 1)).astype(np.float32))], [_made((1, 5, 4, 6, 2), "float32")],
        options="Conv3DOptions", strideD=2, strideH=2, strideW=2, dilationDFactor=1, dilationHFactor=1,
        dilationWFactor=1),
)  # fmt: skip
# What it computes otherwise.
_WRONG = (
    _op("SUM", [_Tensor(_MANY, 0.031, -9), _AXIS], [_made((4096,), "int8", 0.4, 5)], **_REDUCED),
    _op("RESIZE_BILINEAR", [_Tensor(_IMAGE, 0.1), _known([3, 5])], [_made((1, 3, 5, 2), "int8", 0.1)],
        options="ResizeBilinearOptions", halfPixelCenters=True),
    _op("LOGISTIC", [_Tensor(_BYTES, 0.01603472, 34)], [_made((256,), "int8", 1 / 256, -128)]),
    _op("GELU", [_Tensor(_HARD)], [_made((8,), "float32")], options="GeluOptions"),
    _op("FLOOR_DIV", [_Tensor(_HARD), _known([0.3], "float32")], [_made((8,), "float32")], options="FloorDivOptions"),
    _op("FLOOR_MOD", [_Tensor(_HARD), _known([-0.75], "float32")], [_made((8,), "float32")], options="FloorModOptions"),
    _op("ATAN2", [_Tensor(_HARD), _Tensor(_HARD[[1, 0, 3, 2, 7, 6, 5, 4]])], [_made((8,), "float32")]),
)  # fmt: skip
_INT16 = (
    _op("ABS", [_Tensor(_WORDS, 0.001)], [_made(_WORDS.shape, "int16", 0.0017)], options="AbsOptions"),
    _op("GELU", [_Tensor(_WORDS, 0.0003)], [_made(_WORDS.shape, "int16", 0.0003)], options="GeluOptions"),
    _op("SUM", [_Tensor(_WORDS[:64].reshape(16, 4), 0.1), _AXIS], [_made((16,), "int16", 0.31)], **_REDUCED),
    _op("REDUCE_PROD", [_Tensor(_WORDS[700:764].reshape(16, 4), 0.0001), _AXIS], [_made((16,), "int16", 0.0003)],
        **_REDUCED),
    _op("RESIZE_BILINEAR", [_Tensor(_IMAGE.astype(np.int16) * 255, 0.1), _known([3, 16])],
        [_made((1, 3, 16, 2), "int16", 0.1)], options="ResizeBilinearOptions"),
    _op("FILL", [_known([2, 3]), _Tensor(np.array(7, np.int16), 0.1)], [_made((2, 3), "int16", 0.1)], version=3),
    _op("MATRIX_DIAG", [_WIDE], [_made((4, 6, 6), "int16", 0.1)], version=1, options="MatrixDiagOptions"),
    _op("MATRIX_SET_DIAG", [_WIDE, _Tensor(_WORDS[-4:], 0.1)], [_made((4, 6), "int16", 0.1)], version=1,
        options="MatrixSetDiagOptions"),
    _op("REVERSE_SEQUENCE", [_WIDE, _known([4, 0, 2, 1, 3, 4])], [_made((4, 6), "int16", 0.1)], version=1,
        options="ReverseSequenceOptions", seqDim=0, batchDim=1),
    _op("TOPK_V2", [_WIDE, _known(3)], [_made((4, 3), "int16", 0.1), _made((4, 3), "int32")], version=1,
        options="TopKV2Options"),
    _op("DYNAMIC_UPDATE_SLICE", [_Tensor(_WORDS[:24].reshape(4, 6), 0.1), _Tensor(_WORDS[30:36].reshape(2, 3), 0.1),
                                 _known([1, 2])], [_made((4, 6), "int16", 0.1)],
        options="DynamicUpdateSliceOptions", version=1),
)  # fmt: skip
# What the converter computes as LiteRT does, as it moves integers.
_INT16_ALONE = (
    _op("BROADCAST_TO", [_Tensor(_WORDS[:3], 0.1), _known([2, 3])], [_made((2, 3), "int16", 0.1)], version=3),
    _op("RANK", [_WIDE], [_made((), "int32")], version=1, options="RankOptions"),
    _op("SHAPE", [_WIDE], [_made((2,), "int32")], version=1, options="ShapeOptions", outType=2),
    *(
        _op(kind, given, [_made(shape, "int16", 0.1)], version=1, options=f"{name}Options")
        for kind, name, given, shape in (
            ("EXPAND_DIMS", "ExpandDims", [_WIDE, _known(0)], (1, 4, 6)),
            ("PADV2", "PadV2", [_WIDE, _known([[0, 1], [2, 0]]), _known(-7, "int16", 0.1)], (5, 8)),
            ("SELECT", "Select", [_CHOICE, _WIDE, _OTHER], (4, 6)),
            ("SELECT_V2", "SelectV2", [_CHOICE, _WIDE, _OTHER], (4, 6)),
        )
    ),
)  # fmt: skip


class TfliteOwnTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_what_the_converter_lacks(self) -> None:
        data = self.agree(_LACKING)
        file = tflite_file.read(data, "model.tflite")
        with _ALONE:
            errors = [str(error) for error in tflite.unconverted(file)]
        left = {error.partition("'")[2].partition("'")[0] for error in errors}
        self.assertEqual(left, {op.kind for op in _LACKING})

    def test_what_the_converter_rejects(self) -> None:
        self.agree(_REJECTED)
        for op in _REJECTED:
            with self.subTest(op.kind), _ALONE:
                self.rejects("op-rejected", data=self.file([op]), cases=self.cases([op]))

    def test_what_the_converter_computes_otherwise(self) -> None:
        self.agree(_WRONG)
        for op in _WRONG:
            with self.subTest(op.kind), _ALONE:
                self.rejects("import-disagrees", data=self.file([op]), cases=self.cases([op]))

    def test_int16(self) -> None:
        self.agree((*_INT16, *_INT16_ALONE))
        for op in _INT16:
            if op.kind != "SUM":
                with self.subTest(op.kind), _ALONE, self.assertRaises(BmcError):
                    self.load(self.file([op]), self.cases([op]))

    def test_spectra_places_and_numbers_of_elements(self) -> None:
        made = Graph()
        x, y = made.tensor("x", (2, 4, 8)), made.tensor("y", (5,), "int32")
        waves, sizes = made.tensor("waves", (2, 4, 5), "complex64"), made.tensor("sizes", (2, 4, 5))
        dense, different = (
            made.tensor("dense", (3, 2), "int32"),
            made.tensor("different", (3,), "int32"),
        )
        numbers = made.tensor("numbers", (5,), "int32")
        places = made.constant(
            "places", np.array([[0, 1], [1, 0], [2, 0], [2, 1], [0, 0]], np.int32)
        )
        made.op("RFFT2D", [x, made.constant("size", np.array([4, 8], np.int32))], [waves])
        made.op("COMPLEX_ABS", [waves], [sizes])
        shape, other = (
            made.constant(f"c{i}", np.array(each, np.int32)) for i, each in enumerate(([3, 2], 9))
        )
        made.op(
            "SPARSE_TO_DENSE", [places, shape, y, other], [dense], options="SparseToDenseOptions"
        )
        made.op("UNIQUE", [y], [different, numbers], options="UniqueOptions", idxOutType=2)
        made.graph.tensors[other].hasRank = True
        cases = (
            "x = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)\n"
            "    y = np.array([7, -2, 7, 4, -2], np.int32)\n"
            "    return Cases(((x, y),), (Tolerance(1e-5, 1e-5), Exact(), Exact()))"
        )
        data = made.file([x, y], [sizes, dense, numbers])
        self.agrees(self.load(data, cases))
        self.rejects(
            "dynamic-shape", "'UNIQUE'", data=made.file([x, y], [different, sizes]), cases=cases
        )

    def test_resizes_of_floats_to_multiples_are_sums_of_neighbors(self) -> None:
        image = _Tensor(_RNG.standard_normal((2, 3, 4, 2)).astype(np.float32))
        sums = [((6, 8), "centered"), ((12, 4), "centered"), ((9, 8), ""), ((3, 16), "")]
        others = [((9, 8), "centered"), ((6, 10), "centered"), ((6, 8), "corners")]

        def op(size: tuple[int, int], how: str) -> Any:
            return _op(
                "RESIZE_BILINEAR",
                [image, _known(list(size))],
                [_made((2, *size, 2), "float32")],
                options="ResizeBilinearOptions",
                halfPixelCenters=how == "centered",
                alignCorners=how == "corners",
            )

        for cases, counts_places in ((sums, False), (others, True)):
            ops = [op(*each) for each in cases]
            model = self.load(self.file(ops), self.cases(ops))
            self.agrees(model)
            with ir.Context(), ir.Location.unknown():
                text = str(ir_util.read(model.mlir))
            self.assertEqual("linalg.index" in text or "tosa.resize" in text, counts_places)

    def test_resizes_of_types_that_bmc_does_not_write(self) -> None:
        # The converter computes the newer form, for which the result would be another one.
        old = _op(
            "RESIZE_NEAREST_NEIGHBOR",
            [_Tensor(_IMAGE.view(np.uint8)), _known([3, 11])],
            [_made((1, 3, 11, 2), "uint8")],
            options="ResizeNearestNeighborOptions",
        )
        part = "gets op 'RESIZE_NEAREST_NEIGHBOR' of uint8 wrong without half_pixel_centers"
        self.rejects("op-rejected", part, data=self.file([old]), cases=self.cases([old]))

    def test_reference_kernels_that_are_wrong(self) -> None:
        # docs/upstream/litert-reference-kernels.md. If one of them fails, LiteRT has mended its kernel.
        own = mock.patch.object(tflite_file.TfliteFile, "is_misjudged", return_value=False)
        for kind in ("LOCAL_RESPONSE_NORMALIZATION", "SUM"):
            (op,) = (op for op in (*_LACKING, *_WRONG) if op.kind == kind)
            with self.subTest(kind), own:
                self.rejects("import-disagrees", data=self.file([op]), cases=self.cases([op]))

    def agree(self, ops: Any) -> bytes:
        data = self.file(ops)
        self.agrees(self.load(data, self.cases(ops)))
        return data

    def file(self, ops: Any) -> bytes:
        made, inputs, results = Graph(), [], []
        for number, op in enumerate(ops):
            operands = []
            for place, tensor in enumerate(op.given):
                name = f"x{number}_{place}"
                if tensor.constant:
                    operands.append(made.constant(name, tensor.value))
                else:
                    operands.append(made.tensor(name, tensor.value.shape, tensor.value.dtype.name))
                    inputs.append(operands[-1])
                if tensor.scale:
                    made.quantize(operands[-1], tensor.scale, tensor.zero)
            outputs = []
            for place, tensor in enumerate(op.made):
                outputs.append(
                    made.tensor(f"y{number}_{place}", tensor.value.shape, tensor.value.dtype.name)
                )
                if tensor.scale:
                    made.quantize(outputs[-1], tensor.scale, tensor.zero)
            made.op(op.kind, operands, outputs, op.version, **op.options)
            results += outputs
        for tensor in made.graph.tensors:
            tensor.hasRank = True
        return made.file(inputs, results)

    def cases(self, ops: Any) -> str:
        values = [each.value for op in ops for each in op.given if not each.constant]
        path = Path(self.folder, "inputs.npz")
        np.savez(path, *values)
        close, exact = "Tolerance(1e-5, 1e-5)", "Exact()"
        policies = [
            close if each.value.dtype.kind == "f" else exact for op in ops for each in op.made
        ]
        return (
            f"inputs = np.load({str(path)!r})\n"
            f"    case = tuple(inputs[f'arr_{{i}}'] for i in range({len(values)}))\n"
            f"    return Cases((case,), ({', '.join(policies)},))"
        )


if __name__ == "__main__":
    unittest.main()
