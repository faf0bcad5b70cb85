"""ONNX's own node tests: one model per case, with inputs and the outputs that the standard requires."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_recurrent
from op_case import OpCase

from bmc import artifacts, golden, spec
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import onnx
from bmc.frontends.options import ImportOptions

# Inputs that are parameters, not data. In an exported model they are constants.
_PARAMETERS = {
    "K", "axes", "axis", "depth", "ends", "frame_length", "frame_step", "k", "output_shape", "pads", "repeats", "roi",
    "scales", "shape", "sizes", "split", "starts", "steps",
}  # fmt: skip
# The node tests ask for 1e-7, but no two libraries' exponentials agree that closely.
_SMALLEST_ATOL = 1e-5
_IR_VERSION = 10
_OPSET = 26


def cases() -> Iterator[OpCase]:
    """Yields the cases of every op; composed ones ("expanded") are left out. Then those of recurrent layers."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
        nodes = case.model.graph.node
        if "_expanded" not in case.name and len(nodes) == 1:
            prefix = f"{nodes[0].domain}." if nodes[0].domain else ""
            yield OpCase(prefix + nodes[0].op_type, case.name, functools.partial(_load, case))
    yield from onnx_recurrent.cases()


def _load(case: Any, out: Path) -> ImportedModel:
    from onnx import numpy_helper

    _make_older(case.model)
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    given = dict(zip((value.name for value in graph.input), inputs, strict=False))
    for name in [name for name in given if name in _PARAMETERS]:
        graph.initializer.append(numpy_helper.from_array(np.asarray(given.pop(name)), name))
        (value,) = [value for value in graph.input if value.name == name]
        graph.input.remove(value)
    arrays = tuple(map(_array, given.values()))
    wanted = tuple(map(_array, outputs))
    close = spec.Tolerance(max(case.atol or 0, _SMALLEST_ATOL), case.rtol or 1e-3)
    model = spec.ModelSpec(
        module=spec.ModelFile(".onnx", case.model.SerializeToString()),
        cases=(arrays,),
        tolerance=tuple(close if a.dtype.kind == "f" else spec.Exact() for a in wanted),
    )
    imported = onnx.import_spec(model, case.name, ImportOptions(), out)
    # The expected outputs are the standard's, not onnxruntime's.
    data = golden.make(
        inputs=(arrays,),
        outputs=(wanted,),
        input_infos=imported.inputs,
        output_infos=imported.outputs,
        tolerance=model.tolerance,
        labels=None,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    return replace(imported, golden=data)


def _make_older(model: Any) -> None:
    """Sets the model to versions that onnxruntime knows; few ops have changed since."""
    model.ir_version = min(model.ir_version, _IR_VERSION)
    for opset in model.opset_import:
        if not opset.domain:
            opset.version = min(opset.version, _OPSET)


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    if isinstance(value, (list, tuple, dict)) or value is None:
        raise BmcError("bad-signature", "a sequence or an optional is an input or output")
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
