"""Gives an .onnx model static shapes and the form that IREE's importer supports best."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc import errors
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import (
    onnx_bounded,
    onnx_classical,
    onnx_counts,
    onnx_dynamic,
    onnx_functions,
    onnx_halves,
    onnx_ifs,
    onnx_narrow,
    onnx_rewrites,
    onnx_scans,
    onnx_sizes,
    onnx_slopes,
    onnx_stacks,
)
from bmc.frontends.onnx_file import OnnxFile

# Until about this opset, ops changed attributes into inputs. The importer knows the later form.
_OPSET = 17
# Ops of other sets, and those that contain others. ONNX does not infer the shapes behind them.
LOWER = (onnx_classical.apply, onnx_dynamic.apply, onnx_scans.apply, onnx_stacks.apply)
_RANDOM = (
    "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike",
)  # fmt: skip


def make(
    file: OnnxFile,
    inputs: tuple[TensorInfo, ...],
    outputs: tuple[TensorInfo, ...],
    *,
    fold: bool = False,
) -> Any:
    """Returns the ModelProto with these shapes, inferred throughout, and a recent opset.

    Args:
      file: the model.
      inputs, outputs: its signature.
      fold: first let onnxruntime compute what depends only on shapes and constants, and fuse ops.

    Raises:
      BmcError: the shape of an output depends on data, or an op draws random numbers.
    """
    from onnx import shape_inference

    model = onnx_counts.settle(_sized(file, inputs, fold=fold))
    _refuse_unknown_sizes(model, file.name)
    if onnx_narrow.apply(model):
        model = shape_inference.infer_shapes(model, data_prop=True)
    while any([lower(model) for lower in LOWER]):  # of nodes in a row, the first at a time
        model = shape_inference.infer_shapes(model, data_prop=True)
    if onnx_halves.apply(model):
        model = shape_inference.infer_shapes(model, data_prop=True)
    _set_shapes(model.graph.output, outputs)
    onnx_rewrites.apply(model)
    _forget_shapes(model.graph)
    if model.ir_version < 4:
        _separate_initializers(model)
    return shape_inference.infer_shapes(model, data_prop=True)


def with_counts(file: OnnxFile, inputs: tuple[TensorInfo, ...]) -> OnnxFile:
    """Returns the file with outputs of a fixed size and their counts, see onnx_counts.py; `inputs` as for make()."""
    plain = file.inlined()
    if not any(node.op_type in onnx_bounded.MAKERS for node in plain.model.graph.node):
        return file
    model = type(plain.model)()
    model.CopyFrom(plain.model)
    static = _sized(plain, inputs, fold=False)
    recent = opset(static) >= _OPSET
    return replace(file, model=model) if recent and onnx_counts.pad(model, static) else file


def _sized(file: OnnxFile, inputs: tuple[TensorInfo, ...], *, fold: bool) -> Any:
    """Returns the ModelProto with inferred shapes, as far as ONNX and onnx_sizes.py know them."""
    from onnx import shape_inference

    model = updated(file, inputs, fold=fold)
    if not opset(model):
        # Without it, the importer does not come to the ops of other operator sets.
        model.opset_import.add(version=_OPSET)
    onnx_classical.apply(model)
    model = shape_inference.infer_shapes(model, data_prop=True)
    while onnx_sizes.apply(model):
        model = shape_inference.infer_shapes(model, data_prop=True)
    return model


def updated(file: OnnxFile, inputs: tuple[TensorInfo, ...], *, fold: bool) -> Any:
    """Returns the ModelProto with these inputs, without functions and decided branches, and of a recent opset if onnx
    can convert it.

    Args:
      file, inputs, fold: as for make().

    Raises:
      BmcError: an op draws random numbers.
    """
    import onnx
    from onnx import version_converter

    model = onnx.ModelProto()
    model.CopyFrom(file.inlined().model)
    errors.raise_first(random(model, file.name))
    _set_inputs(model.graph, inputs)
    model = onnx_functions.expanded(model)
    onnx_ifs.apply(model)
    if fold:
        model = _folded(model)
    if 0 < opset(model) < _OPSET:
        onnx_slopes.apply(model, opset(model))
        # The converter lacks rules for some ops; the old form may be good enough for them.
        with contextlib.suppress(Exception):
            model = version_converter.convert_version(model, _OPSET)
    return model


def inferred(model: Any, inputs: tuple[TensorInfo, ...]) -> Any:
    """Returns a ModelProto, which this changes, with the shapes that follow from its inputs."""
    from onnx import shape_inference

    _set_inputs(model.graph, inputs)
    return shape_inference.infer_shapes(model, data_prop=True)


def _set_inputs(graph: Any, inputs: tuple[TensorInfo, ...]) -> None:
    """Leaves only the shapes of inputs."""
    del graph.value_info[:]
    _set_shapes(graph.input, inputs)
    for output in graph.output:
        # The file's own shape may be true for only one input shape.
        output.type.tensor_type.ClearField("shape")


def random(model: Any, name: str) -> Iterator[BmcError]:
    """Yields each op of a ModelProto that draws random numbers; `name` is the file's."""
    for node in model.graph.node:
        if node.op_type in _RANDOM:
            yield BmcError(
                "random-model",
                f"op '{node.op_type}' draws random numbers",
                where=f"{node.output[0]} in {name}",
                hint="make them an input",
            )


def _forget_shapes(graph: Any) -> None:
    """Forgets inferred shapes, because ONNX infers too many frequencies of an STFT, but not what it cannot infer again.

    That is what a Loop was given, and a BitCast in an opset without it.
    """
    lost = {n for node in graph.node if node.op_type in ("BitCast", "Loop") for n in node.output}
    kept = [value for value in graph.value_info if value.name in lost]
    del graph.value_info[:]
    graph.value_info.extend(kept)


def _separate_initializers(model: Any) -> None:
    """Makes an old model one in which an initializer need not be an input, as those that bmc adds are not."""
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in constants]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = 4


def _folded(model: Any) -> Any:
    """Returns the model after onnxruntime's basic optimization, which adds no ops or layouts of its own."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "folded.onnx"
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return onnx.load(path)


_BEHIND = (
    "end the model behind it, or behind ops that treat each found element alone: then its results get a size and a"
    " count; or use a mask instead"
)
_LARGE = f"{_BEHIND}; of Unique, 2,048 elements are the most, and its first output must be one of the model's"


def _refuse_unknown_sizes(model: Any, name: str) -> None:
    """Raises BmcError if something reads what an op finds in another way than bounded results allow."""
    culprits = [node for node in model.graph.node if node.op_type in onnx_bounded.MAKERS]
    known = {v.name for v in (*model.graph.value_info, *model.graph.output) if _has_sizes(v)}
    for culprit in culprits:
        found = set(culprit.output) - known
        readers = []
        for node in model.graph.node:
            if found & set(node.input):
                readers.append(node.op_type)
                found |= set(node.output) - known
        # What it finds may be for nobody.
        if not readers and not found & {output.name for output in model.graph.output}:
            continue
        what = f"what op '{culprit.op_type}' finds in the data has no fixed size"
        raise BmcError(
            "dynamic-shape",
            f"{what}, and op '{readers[-1]}' reads it" if readers else what,
            where=f"{culprit.output[0]} in {name}",
            hint=_LARGE if culprit.op_type == "Unique" else _BEHIND,
        )


def _has_sizes(value: Any) -> bool:
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(d.HasField("dim_value") for d in tensor.shape.dim)


def _set_shapes(values: Any, tensors: tuple[TensorInfo, ...]) -> None:
    shapes = {info.name: info.shape for info in tensors}
    # One value can serve as several outputs.
    for value in values:
        if value.name in shapes:
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            shape.SetInParent()
            for size in shapes[value.name]:
                shape.dim.add().dim_value = size


def opset(model: Any) -> int:
    """Returns the version of ONNX's own ops in a ModelProto, 0 if it has none."""
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
