"""Models of scikit-learn, XGBoost and LightGBM, trained on data that scikit-learn brings and exported to ONNX."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import onnxmltools
import skl2onnx
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn import (
    datasets,
    ensemble,
    linear_model,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)
from sklearn.decomposition import PCA

from bmc.spec import Array, ModelFile, ModelSpec

_OPSET, _ML_OPSET = 17, 3
_CASES = 6


def _data(name: str) -> tuple[Array, Array]:
    """Rows of features, scaled, and what to say of them."""
    loaded = getattr(datasets, f"load_{name}")()
    return preprocessing.scale(loaded.data).astype(np.float32), loaded.target


def _spec(model: Any, rows: Array) -> ModelSpec:
    """The exported model, checked on rows from all over the data."""
    cases = tuple((row[None],) for row in rows[:: len(rows) // _CASES][:_CASES])
    return ModelSpec(ModelFile(".onnx", model.SerializeToString()), cases, ())


def _scikit(estimator: Any, name: str, **options: Any) -> ModelSpec:
    rows, wanted = _data(name)
    estimator.fit(rows, wanted)
    model = skl2onnx.to_onnx(
        estimator,
        rows[:1],
        options={id(estimator): options} if options else None,
        target_opset={"": _OPSET, "ai.onnx.ml": _ML_OPSET},
    )
    return _spec(model, rows)


def _classifier(estimator: Any, name: str) -> ModelSpec:
    return _scikit(estimator, name, zipmap=False)


def _boosted(estimator: Any, name: str, convert: Any, **options: Any) -> ModelSpec:
    rows, wanted = _data(name)
    estimator.fit(rows, wanted)
    kind = [("x", FloatTensorType([1, rows.shape[1]]))]
    return _spec(convert(estimator, initial_types=kind, target_opset=15, **options), rows)


def sklearn_logistic_regression() -> ModelSpec:
    return _classifier(linear_model.LogisticRegression(), "digits")


def sklearn_ridge() -> ModelSpec:
    return _scikit(linear_model.Ridge(), "diabetes")


def sklearn_linear_svc() -> ModelSpec:
    return _scikit(svm.LinearSVC(random_state=0), "iris")


def sklearn_svc() -> ModelSpec:
    return _classifier(svm.SVC(), "iris")


def sklearn_svr() -> ModelSpec:
    return _scikit(svm.SVR(C=100.0), "diabetes")


def sklearn_one_class_svm() -> ModelSpec:
    return _scikit(svm.OneClassSVM(nu=0.2), "wine")


def sklearn_gaussian_naive_bayes() -> ModelSpec:
    return _classifier(naive_bayes.GaussianNB(), "wine")


def sklearn_nearest_neighbors() -> ModelSpec:
    return _classifier(neighbors.KNeighborsClassifier(3), "iris")


def sklearn_decision_tree() -> ModelSpec:
    return _classifier(tree.DecisionTreeClassifier(max_depth=6, random_state=0), "breast_cancer")


def sklearn_random_forest() -> ModelSpec:
    return _classifier(ensemble.RandomForestClassifier(20, max_depth=8, random_state=0), "digits")


def sklearn_extra_trees() -> ModelSpec:
    return _scikit(ensemble.ExtraTreesRegressor(20, max_depth=6, random_state=0), "diabetes")


def sklearn_gradient_boosting() -> ModelSpec:
    model = ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0)
    return _classifier(model, "wine")


def sklearn_perceptron() -> ModelSpec:
    return _classifier(neural_network.MLPClassifier((32,), max_iter=100, random_state=0), "digits")


def sklearn_scaled_components() -> ModelSpec:
    steps = preprocessing.StandardScaler(), PCA(8), linear_model.LogisticRegression()
    return _classifier(pipeline.make_pipeline(*steps), "breast_cancer")


def xgboost_classifier() -> ModelSpec:
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1, random_state=0)
    return _boosted(model, "digits", onnxmltools.convert_xgboost)


def lightgbm_classifier() -> ModelSpec:
    model = lightgbm.LGBMClassifier(
        n_estimators=20, n_jobs=1, random_state=0, deterministic=True, verbose=-1
    )
    return _boosted(model, "wine", onnxmltools.convert_lightgbm, zipmap=False)
