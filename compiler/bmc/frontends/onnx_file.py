"""An .onnx model: its signature and weights, static shapes, and onnxruntime's own answers."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import dtype, factory, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import model_folder
from bmc.golden import Declared

# Ops changed their attributes into inputs until about this opset; the importer knows the later form.
_OPSET = 17
# "[ONNXRuntimeError] : 1 : FAIL : /folder/file.cc:256 onnxruntime::Model::Model(...) "
_RUNTIME_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (?:/\S+:\d+ .*\) )?")
# How many elements these give is known only when they have run.
_DATA_DEPENDENT = ("Compress", "NonMaxSuppression", "NonZero", "Unique")


@dataclass(frozen=True)
class OnnxFile:
    """A model that onnx's checker accepts, with all its weights inside.

    Attributes:
      name: file name, for messages.
      model: ModelProto.
      inputs: as declared.
    """

    name: str
    model: Any
    inputs: tuple[Declared, ...]

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.model.graph.output)

    def weights(self) -> dict[str, Array]:
        """Returns initializers and the values of Constant nodes by name, in the order of names."""
        from onnx import numpy_helper

        found = {item.name: item for item in self.model.graph.initializer}
        for node in self.model.graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    found[node.output[0]] = attribute.t
        return {name: numpy_helper.to_array(found[name]) for name in sorted(found)}

    def run(self, cases: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
        """Returns onnxruntime's outputs: one thread, no optimisation that changes rounding."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        names = [info.name for info in self.inputs]
        try:
            session = onnxruntime.InferenceSession(
                self.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            results = [session.run(None, dict(zip(names, case, strict=True))) for case in cases]
        except Exception as error:  # onnxruntime has no base class of its own.
            raise BmcError(
                "model-failed",
                f"onnxruntime cannot run '{self.name}': {_runtime_reason(error)}",
            ) from None
        for name, output in zip(self.output_names, results[0], strict=True):
            if not isinstance(output, np.ndarray):
                raise BmcError(
                    "bad-signature",
                    f"output {name} of '{self.name}' is a {type(output).__name__}, not a tensor",
                )
        return tuple(tuple(result) for result in results)

    def static(self, inputs: tuple[TensorInfo, ...], outputs: tuple[TensorInfo, ...]) -> Any:
        """Returns the ModelProto with these shapes, inferred all through, and a recent opset.

        Raises:
          BmcError: the shape of an output depends on data.
        """
        import onnx
        from onnx import shape_inference, version_converter

        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        del model.graph.value_info[:]
        _set_shapes(model.graph.input, inputs)
        for output in model.graph.output:
            # What the file says of it may be true of one input only.
            output.type.tensor_type.ClearField("shape")
        if _opset(model) < _OPSET:
            # Where it has no rule for some op, the old form may do.
            with contextlib.suppress(Exception):
                model = version_converter.convert_version(model, _OPSET)
        model = shape_inference.infer_shapes(model, data_prop=True)
        for output in model.graph.output:
            tensor = output.type.tensor_type
            known = tensor.HasField("shape") and all(
                d.HasField("dim_value") for d in tensor.shape.dim
            )
            culprits = [n for n in model.graph.node if n.op_type in _DATA_DEPENDENT]
            if culprits and not known:
                raise BmcError(
                    "dynamic-shape",
                    f"the shape of output {output.name} depends on what op '{culprits[0].op_type}'"
                    " finds in the data",
                    where=f"{culprits[0].output[0]} in {self.name}",
                    hint="end the model before it, or use a mask instead",
                )
        _set_shapes(model.graph.output, outputs)
        return shape_inference.infer_shapes(model, data_prop=True)


def load(path: Path) -> OnnxFile:
    """Reads a file and the external data it names.

    Raises:
      BmcError: a package is missing, the file or its external data is incomplete or not ONNX, or it
        names data outside its own folder.
    """
    model = _parsed(path.read_bytes(), path.name)
    for tensor in _external(model):
        _read_external(tensor, path)
    return _checked(model, path.name)


def parse(data: bytes, name: str) -> OnnxFile:
    """Reads the contents of a file without external data; see load()."""
    model = _parsed(data, name)
    for tensor in _external(model):
        raise BmcError(
            "file-missing",
            f"'{name}' has the data of '{tensor.name}' in another file",
            hint="import the file itself, with the data beside it, or export with the weights inside",
        )
    return _checked(model, name)


def _parsed(data: bytes, name: str) -> Any:
    onnx = _package("onnx")
    try:
        return onnx.load_model_from_string(data)
    except Exception as error:
        raise _bad_file(name, error) from None


def _external(message: Any) -> Iterator[Any]:
    """All tensors, wherever they are in the model, whose data is in another file."""
    if message.DESCRIPTOR.name == "TensorProto":
        if message.data_location == message.EXTERNAL or message.external_data:
            yield message
        return
    for field, value in message.ListFields():
        if field.message_type:
            for item in value if isinstance(value, Sequence) else (value,):
                yield from _external(item)


def _read_external(tensor: Any, model: Path) -> None:
    """Moves external data into the tensor; onnx itself refuses links, which Bazel's inputs are."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    file = model_folder.find(model, entries.get("location", ""))
    size = file.stat().st_size
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries.get("length", str(size - offset)))
    except ValueError:
        offset = length = -1
    if offset < 0 or length < 0 or length > size - offset:
        raise BmcError(
            "bad-file",
            f"'{model.name}' wants data for '{tensor.name}' that '{file.name}' of {size:,} bytes does"
            " not have",
            hint="fetch both files again",
        )
    with file.open("rb") as stream:
        stream.seek(offset)
        tensor.raw_data = stream.read(length)
    del tensor.external_data[:]
    tensor.data_location = tensor.DEFAULT


def _checked(model: Any, name: str) -> OnnxFile:
    onnx = _package("onnx")
    _package("onnxruntime")
    try:
        onnx.checker.check_model(model)
    except Exception as error:
        raise _bad_file(name, error) from None
    initializers = {item.name for item in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initializers]
    return OnnxFile(name, model, tuple(_declared(value, name) for value in inputs))


def _declared(value: Any, name: str) -> Declared:
    from onnx import helper

    if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
        raise BmcError(
            "bad-signature", f"input {value.name} of '{name}' is not a tensor of known rank"
        )
    tensor = value.type.tensor_type
    element = dtype.from_numpy(np.empty(0, helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
    dims = tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim)
    return Declared(value.name, element, dims)


def _runtime_reason(error: Exception) -> str:
    """Returns onnxruntime's message without codes, source lines and C++ signatures."""
    return _RUNTIME_PREFIX.sub("", factory.first_line(error))[:300]


def _set_shapes(values: Any, tensors: tuple[TensorInfo, ...]) -> None:
    by_name = {value.name: value for value in values}
    for info in tensors:
        shape = by_name[info.name].type.tensor_type.shape
        del shape.dim[:]
        for size in info.shape:
            shape.dim.add().dim_value = size


def _opset(model: Any) -> int:
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BmcError(
            "onnx-missing",
            f"importing an .onnx model needs the package {name}",
            hint="pip install onnx onnxruntime",
        ) from None


def _bad_file(name: str, error: Exception) -> BmcError:
    return BmcError(
        "bad-file",
        f"onnx rejects '{name}': {factory.first_line(error)[:300]}",
        hint="export the model again, or fetch the whole file",
    )
