"""Classical models of ai.onnx.ml, lowered and not, in onnxruntime: random ones of every kind must agree."""

from __future__ import annotations

import unittest
from typing import Any

import numpy as np
import onnxruntime
import support
from onnx import TensorProto, helper, numpy_helper, shape_inference

from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import onnx_classical, onnx_labels

_ROWS, _FEATURES = 64, 5
_ML = "ai.onnx.ml"
_RNG = np.random.default_rng(0)


def _floats(*shape: int) -> list[float]:
    return [float(x) for x in _RNG.standard_normal(shape).astype(np.float32).reshape(-1)]


def _model(
    *nodes: Any, outputs: tuple[str, ...], shape: tuple[int, ...] = (_ROWS, _FEATURES)
) -> Any:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "g",
        [info("x", TensorProto.FLOAT, shape)],
        [
            info(name, TensorProto.INT64 if name == "label" else TensorProto.FLOAT, None)
            for name in outputs
        ],
        [numpy_helper.from_array(np.array([3, 0, 3]), "places")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def _run(model: Any, x: Array) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results: list[Array] = session.run(None, {"x": x})
    return results


def _lowered(model: Any) -> Any:
    lowered = type(model)()
    lowered.CopyFrom(model)
    while onnx_classical.apply(lowered):
        lowered = shape_inference.infer_shapes(lowered)
    for node in lowered.graph.node:
        node.name = (
            ""  # Several have the name of the one that they replace, which onnxruntime refuses.
        )
    return lowered


def _forest(
    kind: str, ids: list[int], mode: str, positive: bool = False, trees: int = 3
) -> dict[str, Any]:
    """Returns attributes of random trees whose leaves have weights for `ids`."""
    nodes: dict[str, list[Any]] = {
        key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                            "missing_value_tracks_true")
    }  # fmt: skip
    leaves: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree: int, depth: int) -> int:
        number = sum(1 for each in nodes["treeids"] if each == tree)
        is_leaf = depth == 0 or (depth < 3 and _RNG.random() < 0.3)
        kind, threshold = "LEAF" if is_leaf else mode, float(_RNG.integers(-2, 3)) / 2
        feature, missing = int(_RNG.integers(_FEATURES)), int(_RNG.integers(2))
        row_of = (tree, number, feature, threshold, kind, 0, 0, missing)
        for key, value in zip(nodes, row_of, strict=True):
            nodes[key].append(value)
        row = len(nodes["treeids"]) - 1
        if is_leaf:
            for each in ids:
                weight = float(np.float32(_RNG.random() if positive else _RNG.standard_normal()))
                for key, value in zip(leaves, (tree, number, each, weight), strict=True):
                    leaves[key].append(value)
        else:
            nodes["truenodeids"][row] = grow(tree, depth - 1)
            nodes["falsenodeids"][row] = grow(tree, depth - 1)
        return number

    for tree in range(trees):
        grow(tree, 4)
    return {f"nodes_{k}": v for k, v in nodes.items()} | {
        f"{kind}_{k}": v for k, v in leaves.items()
    }


class ClassicalTest(support.ModelFileTest):
    SUFFIX = ".onnx"

    def same(self, model: Any, atol: float = 1e-5) -> None:
        # Halves, so that numbers meet thresholds, and some that are none.
        x = np.round(_RNG.standard_normal((_ROWS, _FEATURES)) * 2).astype(np.float32) / 2
        x[::9, 1] = np.nan
        lowered = _lowered(model)
        self.assertEqual({node.domain for node in lowered.graph.node}, {""})
        for got, want in zip(_run(lowered, x), _run(model, x), strict=True):
            self.assertEqual((got.shape, got.dtype), (want.shape, want.dtype))
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=atol)

    def node(self, op: str, *outputs: str, **attributes: Any) -> Any:
        return helper.make_node(op, ["x"], list(outputs), name="n", domain=_ML, **attributes)

    def test_trees_that_estimate(self) -> None:
        for mode, how, ids, base in (
            ("BRANCH_LEQ", "SUM", [0, 1], [0.5, -1.0]), ("BRANCH_LT", "AVERAGE", [0], [2.0]),
            ("BRANCH_GT", "MIN", [0], []), ("BRANCH_GTE", "MAX", [0, 1, 2], []),
        ):  # fmt: skip
            with self.subTest(mode):
                given = _forest("target", ids, mode)
                more = {"base_values": base} if base else {}
                node = self.node("TreeEnsembleRegressor", "y", n_targets=len(ids), aggregate_function=how,
                                 **given, **more)  # fmt: skip
                self.same(_model(node, outputs=("y",)))

    def test_trees_that_classify(self) -> None:
        for ids, positive, base, how, classes in (
            ([0, 1, 2], True, [], "NONE", [4, 0, 9]), ([0, 1, 2], False, [0.1, 0.2, 0.3], "SOFTMAX", [0, 1, 2]),
            ([0], True, [], "NONE", [0, 1]), ([0], False, [], "LOGISTIC", [0, 1]),
            ([0], False, [0.3], "LOGISTIC", [5, 7]), ([0], False, [], "SOFTMAX", [0, 1]),
            ([0], True, [], "LOGISTIC", [0, 1]), ([0], True, [], "SOFTMAX", [0, 1]),
            ([0, 1], False, [], "NONE", [0, 1]), ([1], True, [], "NONE", [0, 1]),
            ([0], False, [0.2, 0.2], "NONE", [0, 1]),
        ):  # fmt: skip
            with self.subTest(ids=ids, base=base, how=how):
                given = _forest("class", ids, "BRANCH_LEQ", positive)
                more = {"base_values": base} if base else {}
                node = self.node("TreeEnsembleClassifier", "label", "p", classlabels_int64s=classes,
                                 post_transform=how, **given, **more)  # fmt: skip
                self.same(_model(node, outputs=("label", "p")))

    def test_linear_models(self) -> None:
        for op, rows, how in (("LinearRegressor", 2, "NONE"), ("LinearClassifier", 3, "SOFTMAX"),
                              ("LinearClassifier", 2, "LOGISTIC"), ("LinearClassifier", 1, "NONE"),
                              ("LinearClassifier", 1, "LOGISTIC"), ("LinearClassifier", 1, "SOFTMAX")):  # fmt: skip
            with self.subTest(op, rows=rows):
                given: dict[str, Any] = {
                    "coefficients": _floats(rows, _FEATURES),
                    "intercepts": _floats(rows),
                    "post_transform": how,
                }
                outputs: tuple[str, ...] = ("y",)
                if op == "LinearClassifier":
                    outputs = ("label", "p")
                    given["classlabels_ints"] = list(range(max(rows, 2)))
                else:
                    given["targets"] = rows
                fill = helper.make_node("Imputer", ["x"], ["z"], domain=_ML, imputed_value_floats=[0.25],
                                        replaced_value_float=float("nan"))  # fmt: skip
                node = self.node(op, *outputs, **given)
                node.input[0] = "z"
                self.same(_model(fill, node, outputs=outputs))

    def test_support_vectors(self) -> None:
        sizes = [3, 4, 2]
        for kind, classes in (("RBF", 3), ("POLY", 3), ("SIGMOID", 2), ("LINEAR", 3)):
            with self.subTest(kind):
                count, pairs = sum(sizes[:classes]), classes * (classes - 1) // 2
                common = {"kernel_type": kind, "kernel_params": [0.1, 0.5, 2.0],
                          "support_vectors": _floats(count, _FEATURES)}  # fmt: skip
                fill = helper.make_node("Imputer", ["x"], ["z"], domain=_ML, imputed_value_floats=[0.0] * _FEATURES,
                                        replaced_value_float=float("nan"))  # fmt: skip
                node = self.node("SVMClassifier", "label", "p", vectors_per_class=sizes[:classes], rho=_floats(pairs),
                                 coefficients=_floats(classes - 1, count), classlabels_ints=list(range(classes)),
                                 **common)  # fmt: skip
                other = self.node("SVMRegressor", "y", n_supports=count, rho=_floats(1), coefficients=_floats(count),
                                  one_class=int(kind == "RBF"), **common)  # fmt: skip
                node.input[0] = other.input[0] = "z"
                other.name = "o"
                self.same(_model(fill, node, other, outputs=("label", "p", "y")), atol=2e-4)

    def test_preparation(self) -> None:
        make = helper.make_node
        nodes = [
            make("Imputer", ["x"], ["i"], domain=_ML, imputed_value_floats=[1.0, 2.0, 3.0, 4.0, 5.0],
                 replaced_value_float=0.5),
            make("Imputer", ["i"], ["f"], domain=_ML, imputed_value_floats=[0.5], replaced_value_float=float("nan")),
            make("Scaler", ["f"], ["s"], domain=_ML, offset=_floats(_FEATURES), scale=_floats(_FEATURES)),
            make("Binarizer", ["s"], ["b"], domain=_ML, threshold=0.25),
            *(make("Normalizer", ["f"], [f"n{norm}"], domain=_ML, norm=norm) for norm in ("L1", "L2", "MAX")),
            make("OneHotEncoder", ["f"], ["h"], domain=_ML, cats_int64s=[-1, 0, 1], zeros=1),
            make("ArrayFeatureExtractor", ["f", "places"], ["a"], domain=_ML),
            make("LabelEncoder", ["f"], ["l"], domain=_ML, keys_floats=[0.5, 1.0], values_floats=[7.0, 9.0],
                 default_float=-3.0),
            make("FeatureVectorizer", ["f", "b"], ["v"], domain=_ML, inputdimensions=[_FEATURES, _FEATURES]),
        ]  # fmt: skip
        self.same(_model(*nodes, outputs=("b", "nL1", "nL2", "nMAX", "h", "a", "l", "v")))

    def test_names_of_classes_are_places(self) -> None:
        given = _forest("class", [0, 1, 2], "BRANCH_LEQ", True)
        node = self.node(
            "TreeEnsembleClassifier",
            "label",
            "p",
            classlabels_strings=["low", "mid", "high"],
            **given,
        )
        pairs = helper.make_node(
            "ZipMap", ["p"], ["pairs"], domain=_ML, classlabels_strings=["low", "mid", "high"]
        )
        model = _model(node, pairs, outputs=("label", "p"), shape=(1, _FEATURES))
        model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
        model.graph.output[1].name = "pairs"
        number = helper.make_tensor_type_proto(TensorProto.FLOAT, ())
        by_name = helper.make_map_type_proto(TensorProto.STRING, number)
        model.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(by_name))
        x = np.round(_RNG.standard_normal((1, _FEATURES)), 1).astype(np.float32)
        names, maps = _run(model, x)
        copy = type(model)()
        copy.CopyFrom(model)
        self.assertEqual(onnx_labels.numbered(copy), ("low", "mid", "high"))
        places, probabilities = _run(copy, x)
        self.assertEqual(["low", "mid", "high"][places[0]], names[0])
        np.testing.assert_array_equal(
            probabilities[0], [maps[0][name] for name in ("low", "mid", "high")]
        )
        imported = self.load(model)
        self.agrees(imported)
        self.assertEqual(imported.classes, ("low", "mid", "high"))

    def test_what_is_not_known_is_named(self) -> None:
        given = _forest("target", [0], "BRANCH_EQ")
        for node, what in (
            (self.node("TreeEnsembleRegressor", "y", n_targets=1, **given), "compares by 'BRANCH_EQ'"),
            (self.node("SVMClassifier", "label", "y", vectors_per_class=[1, 1], prob_a=[1.0], prob_b=[0.0]),
             "computes probabilities"),
            (self.node("LinearRegressor", "y", coefficients=[0.0] * _FEATURES, post_transform="PROBIT"), "'PROBIT'"),
        ):  # fmt: skip
            with self.subTest(what), self.assertRaises(BmcError) as caught:
                _lowered(_model(node, outputs=("y",)))
            self.assertIn(what, str(caught.exception))
            self.assertEqual(caught.exception.where, "n")


if __name__ == "__main__":
    unittest.main()
