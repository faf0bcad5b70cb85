"""ONNX's backend tests: the node tests, and the small and light models of the wheel."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_recurrent
from case import Case
from onnx import TensorProto, numpy_helper
from onnx.backend.test import loader

from bmc import artifacts, golden, spec
from bmc.artifacts import ImportedModel
from bmc.dtype import is_float
from bmc.errors import BmcError
from bmc.frontends import onnx as frontend
from bmc.frontends import onnx_codes, onnx_counts, onnx_file, onnx_static
from bmc.frontends.options import ImportOptions

_KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted", "real")
# Ops whose answer is chance. A fixed seed does not help: the standard leaves the generator open.
_RANDOM = {
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
}  # fmt: skip
# Inputs that are parameters, not data. In an exported model they are constants.
_PARAMETERS = {
    "K", "axes", "axis", "block_shape", "depth", "dft_length", "ends", "frame_length", "frame_step", "image_shape",
    "k", "new_shape", "output_shape", "pads", "repeats", "roi", "scales", "shape", "size", "sizes", "split", "starts",
    "steps",
}  # fmt: skip
# Where ops have such inputs, of which the tests' names say nothing.
_PARAMETERS_OF = {"Loop": slice(0, 2), "Tile": slice(1, 2)}
# The node tests ask for 1e-7, but no two libraries' exponentials agree that closely.
_SMALLEST_ATOL = 1e-5
# That of the suite's own runner, four units in the last place.
_BF16_RTOL = 2.0**-6
# Since this version, an initializer need not be an input.
_WITHOUT_INPUTS = 4


def enter() -> None:
    """Nothing of onnxruntime runs before the processes fork."""


def cases() -> Iterator[Case]:
    """Yields the cases of the suite, each at its own opset."""
    for kind in _KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = loader.load_model_tests(kind=kind)
        for test in sorted(found, key=lambda test: str(test.name)):
            yield _case(kind, test)
    yield from onnx_recurrent.cases()


def _case(kind: str, test: Any) -> Case:
    if test.url:
        model = onnx.load(str(Path(loader.DATA_DIR) / "light" / Path(test.url).name))
        load = functools.partial(_light, model)
        return Case(test.model_name, "float", f"light/{test.name}", load, large=True)
    model = test.model or onnx.load(f"{test.model_dir}/model.onnx")
    nodes = model.graph.node
    op = nodes[0].op_type if len(nodes) == 1 else test.name.removeprefix("test_")
    if len(nodes) == 1 and nodes[0].domain:
        op = f"{nodes[0].domain}.{op}"
    name = test.name if kind == "node" else f"{kind}/{test.name}"
    if "_expanded" in name:
        op = f"functions of ops/{_tested(name)}"
    return Case(
        op, _dtype(model), name, functools.partial(_load, test, model), _outside(model, name)
    )


def _tested(name: str) -> str:
    return name.removeprefix("test_").partition("_")[0]


def _tensors(model: Any) -> list[Any]:
    return [*model.graph.input, *model.graph.output]


def _dtype(model: Any) -> str:
    for value in _tensors(model):
        if value.type.HasField("tensor_type"):
            return str(TensorProto.DataType.Name(value.type.tensor_type.elem_type)).lower()
    return "none"


def _outside(model: Any, name: str) -> str:
    for value in _tensors(model):
        kind = value.type.WhichOneof("value")
        if kind != "tensor_type":
            return f"{str(kind).removesuffix('_type')} types"
        if value.type.tensor_type.elem_type == TensorProto.STRING:
            return "strings"
        shape = value.type.tensor_type.shape
        if any(not dim.HasField("dim_value") for dim in shape.dim):
            return "dynamic shapes"
    if _RANDOM & {node.op_type for node in model.graph.node}:
        return "random"
    return "random" if "dropout" in name and "train" in name else ""


def _load(test: Any, original: Any, out: Path) -> ImportedModel:
    model = type(original)()
    model.CopyFrom(original)
    inputs, outputs = test.data_sets[0] if test.data_sets else _files(Path(test.model_dir), model)
    graph = model.graph
    names = [value.name for value in graph.input]
    given = dict(zip(names, inputs, strict=False))
    parameters = set(_PARAMETERS)
    for node in graph.node:
        parameters.update(node.input[_PARAMETERS_OF.get(node.op_type, slice(0))])
    for name in [name for name in given if name in parameters]:
        graph.initializer.append(numpy_helper.from_array(_array(given.pop(name)), name))
    fixed = {tensor.name for tensor in graph.initializer}
    # In old files, initializers have to be inputs too.
    if model.ir_version >= _WITHOUT_INPUTS:
        for value in [value for value in graph.input if value.name in fixed]:
            graph.input.remove(value)
    given = {name: value for name, value in given.items() if name not in fixed}
    arrays = tuple(map(_array, given.values()))
    wanted = _padded(model, test.name, arrays, tuple(map(_array, outputs)))
    bf16 = any(value.dtype.name == "bfloat16" for value in wanted)
    rtol = max(test.rtol or 1e-3, _BF16_RTOL if bf16 else 0.0)
    close = spec.Tolerance(max(test.atol or 0, _SMALLEST_ATOL), rtol)
    made = spec.ModelSpec(
        module=spec.ModelFile(".onnx", model.SerializeToString()),
        cases=(arrays,),
        tolerance=tuple(close if is_float(a) else spec.Exact() for a in wanted),
    )
    imported = frontend.import_spec(made, f"{test.name}.onnx", ImportOptions(), out)
    # The expected outputs are the standard's, not onnxruntime's.
    data = golden.make(
        inputs=(arrays,),
        outputs=(wanted,),
        input_infos=imported.inputs,
        output_infos=imported.outputs,
        tolerance=made.tolerance,
        labels=None,
        source=artifacts.GOLDEN_FRAMEWORK,
    )
    return replace(imported, golden=data)


def _padded(model: Any, name: str, inputs: spec.Case, wanted: spec.Case) -> spec.Case:
    """Returns the expected outputs as the import returns them: of the largest size, and with a count behind them."""
    file = onnx_file.parse(model.SerializeToString(), name)
    counted = onnx_static.with_counts(file, golden.fix(file.inputs, inputs)).model
    results = dict(zip(file.output_names, wanted, strict=True))
    for each in onnx_counts.padded(counted):
        array = results[each.name]
        results[each.count] = np.array(array.shape[each.axis], np.int32)
        pads = [
            (0, each.size - dim if axis == each.axis else 0) for axis, dim in enumerate(array.shape)
        ]
        results[each.name] = np.pad(array, pads)
    return tuple(results[value.name] for value in counted.graph.output)


def _files(folder: Path, model: Any) -> tuple[list[Any], list[Any]]:
    """Returns the inputs and outputs that lie beside a model."""
    data = folder / "test_data_set_0"
    inputs = [data / f"input_{i}.pb" for i in range(len(model.graph.input))]
    outputs = [data / f"output_{i}.pb" for i in range(len(model.graph.output))]
    # Weights are inputs too in old files, and have no file of their own.
    return _read(path for path in inputs if path.exists()), _read(outputs)


def _read(paths: Iterable[Path]) -> list[Any]:
    return [TensorProto.FromString(path.read_bytes()) for path in paths]


def _light(model: Any, out: Path) -> ImportedModel:
    """A network whose weights are made of constants, with inputs of our own and onnxruntime's outputs."""
    weights = {tensor.name for tensor in model.graph.initializer}
    (value,) = [value for value in model.graph.input if value.name not in weights]
    shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    given = np.random.default_rng(0).random(shape, np.float32)
    made = spec.ModelSpec(
        module=spec.ModelFile(".onnx", model.SerializeToString()),
        cases=((given,),),
        tolerance=spec.Tolerance(_SMALLEST_ATOL, 1e-3),
    )
    return frontend.import_spec(made, "light.onnx", ImportOptions(), out)


def _array(value: Any) -> Any:
    if isinstance(value, (list, tuple, dict)) or value is None:
        raise BmcError("bad-signature", "a sequence or an optional is an input or output")
    array = numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)
    return onnx_codes.codes(array)
