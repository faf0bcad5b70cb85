"""An .onnx model: its signature, its weights, and the outputs that onnxruntime or the standard's reference computes."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import dtype, factory, installing, spec
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends import (
    model_folder,
    onnx_codes,
    onnx_ends,
    onnx_graph,
    onnx_labels,
    onnx_overflows,
)
from bmc.golden import Declared

# "[ONNXRuntimeError] : 1 : FAIL : what it did /folder/file.cc:256 onnxruntime::Model::Model(...) why"
_RUNTIME_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : |/\S+\.\w+:\d+ .*\) ")
# The newest version of the IR that onnxruntime reads. What the next one of the pinned onnx adds are types.
_RUNTIME_IR_VERSION = 13
# onnxruntime says so of an element type that it lacks, and of one that the standard lacks too.
_TYPES = "Type Error"
# The oldest opset that onnxruntime has all ops of.
_RUNTIME_OPSET = 7
# The newest opset that onnxruntime runs.
_RUNTIME_NEWEST = 26


@dataclass(frozen=True)
class OnnxFile:
    """A model that onnx's checker accepts, with all weights inside.

    Attributes:
      name: name of the file, for messages.
      model: the ModelProto.
      inputs: the inputs as declared.
      classes: the names of a classifier's classes, whose labels are their places here.
    """

    name: str
    model: Any
    inputs: tuple[Declared, ...]
    classes: tuple[str, ...] = ()

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.model.graph.output)

    def inlined(self) -> OnnxFile:
        """Returns the file without functions: their nodes stand where they are called, with the caller's attributes."""
        from onnx import inliner

        if not self.model.functions:
            return self
        return replace(self, model=inliner.inline_local_functions(self.model))

    def weights(self) -> dict[str, Array]:
        """Returns initializers and values of Constant nodes by name, sorted by name; narrow numbers are bytes.

        Raises:
          BmcError: a tensor is of a type that onnx does not know, or its data do not fill its shape.
        """
        from onnx import numpy_helper

        found = onnx_graph.constants(self.model.graph)
        try:
            return {
                name: onnx_codes.codes(numpy_helper.to_array(found[name])) for name in sorted(found)
            }
        except (KeyError, TypeError, ValueError) as error:
            raise _bad_file(self.name, error) from None

    def bounds(self) -> set[str]:
        """Returns the names of values that nodes only compare with others."""
        compared: set[str] = set()
        others: set[str] = set(self.output_names)
        for node in self.model.graph.node:
            first = {"Clip": 1, "Max": 0, "Min": 0}.get(node.op_type, len(node.input))
            others.update(node.input[:first])
            compared.update(node.input[first:])
        return compared - others

    def run(self, cases: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
        """Returns the outputs of computed()."""
        return self.computed(cases)[0]

    def computed(self, cases: tuple[spec.Case, ...]) -> tuple[tuple[spec.Case, ...], str]:
        """Returns onnxruntime's outputs, from one thread and without optimizations that change rounding, and its name.

        What onnxruntime cannot run, the standard's reference evaluator computes, in the package "onnx".

        Raises:
          BmcError: neither can run the model.
        """
        import onnxruntime

        names = [info.name for info in self.inputs]
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Integers may be places or lengths that onnxruntime refuses with good reason.
        may_refuse = any(not info.dtype.is_float for info in self.inputs)
        is_ready = False
        try:
            runs = onnx_overflows.with_unsigned_weights(_for_runtime(self.model))
            session = onnxruntime.InferenceSession(
                onnx_ends.with_f32_ends(runs).SerializeToString(),
                options,
                providers=["CPUExecutionProvider"],
            )
            is_ready = may_refuse
            results = tuple(
                onnx_ends.returned(
                    self.model, session.run(None, onnx_ends.taken(self.model, names, case))
                )
                for case in cases
            )
        except Exception as error:  # onnxruntime has no base class of its own.
            if not is_ready and (_TYPES not in str(error) or _has_its_types(self.model)):
                with contextlib.suppress(Exception):
                    return self._by_reference(cases), "onnx"
            raise BmcError(
                "model-failed",
                f"onnxruntime cannot run '{self.name}': {_runtime_reason(error)}",
            ) from None
        return results, "onnxruntime"

    def _by_reference(self, cases: tuple[spec.Case, ...]) -> tuple[spec.Case, ...]:
        """Returns the outputs of the onnx package's own evaluator, which is slow and has more element types."""
        from onnx.reference import ReferenceEvaluator

        types = onnx_codes.of_model(self.model.graph.input)
        evaluator = ReferenceEvaluator(self.model)
        results = []
        for case in cases:
            fed = {
                info.name: onnx_codes.numbers(array, types.get(info.name))
                for info, array in zip(self.inputs, case, strict=True)
            }
            results.append(tuple(map(onnx_codes.codes, evaluator.run(None, fed))))
        return tuple(results)


def load(path: Path) -> OnnxFile:
    """Reads a file and its external data.

    Raises:
      BmcError: a package is missing, the file or its data is incomplete or not ONNX, or the data lies
        outside the file's folder.
    """
    model = _parsed(path.read_bytes(), path.name)
    for tensor in _external(model):
        _read_external(tensor, path)
    return _checked(model, path.name)


def parse(data: bytes, name: str) -> OnnxFile:
    """Reads the contents of a file that has no external data. Errors are those of load()."""
    model = _parsed(data, name)
    for tensor in _external(model):
        raise BmcError(
            "file-missing",
            f"'{name}' keeps the data of '{tensor.name}' in another file",
            hint="import the file itself with the data beside it, or export with the weights inside",
        )
    return _checked(model, name)


def _parsed(data: bytes, name: str) -> Any:
    onnx = _package("onnx")
    try:
        return onnx.load_model_from_string(data)
    except Exception as error:
        raise _bad_file(name, error) from None


def _external(message: Any) -> Iterator[Any]:
    """Yields every tensor in the model whose data is in another file."""
    if message.DESCRIPTOR.name == "TensorProto":
        if message.data_location == message.EXTERNAL or message.external_data:
            yield message
        return
    for field, value in message.ListFields():
        if field.message_type:
            for item in value if isinstance(value, Sequence) else (value,):
                yield from _external(item)


def _read_external(tensor: Any, model: Path) -> None:
    """Reads external data into the tensor. onnx itself refuses links, and Bazel's inputs are links."""
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
            f"'{model.name}' needs data for '{tensor.name}' that lies outside the {size:,} bytes of"
            f" '{file.name}'",
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
        onnx.checker.check_model(_with_ranks(model))
    except Exception as error:
        raise _bad_file(name, error) from None
    # Which ops and types it knows, onnxruntime says itself.
    model.ir_version = min(model.ir_version, _RUNTIME_IR_VERSION)
    if not model.graph.output:
        raise BmcError(
            "bad-signature",
            f"'{name}' has no outputs",
            hint="export it with the values it computes",
        )
    classes = onnx_labels.numbered(model)
    for value in model.graph.output:
        if not value.type.HasField("tensor_type"):
            raise BmcError("bad-signature", f"output {value.name} of '{name}' is not a tensor")
    initializers = {item.name for item in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initializers]
    return OnnxFile(name, model, tuple(_declared(value, name) for value in inputs), classes)


def _with_ranks(model: Any) -> Any:
    """Returns the model with empty shapes for outputs that have none, because the checker wants them."""
    if all(value.type.tensor_type.HasField("shape") for value in model.graph.output):
        return model
    copy = type(model)()
    copy.CopyFrom(model)
    for value in copy.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.SetInParent()
    return copy


def _declared(value: Any, name: str) -> Declared:
    from onnx import helper

    if not value.type.HasField("tensor_type") or not value.type.tensor_type.HasField("shape"):
        raise BmcError(
            "bad-signature", f"input {value.name} of '{name}' is not a tensor of known rank"
        )
    tensor = value.type.tensor_type
    try:
        numpy = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    except KeyError as error:
        raise _bad_file(name, error) from None
    element = dtype.from_numpy(np.empty(0, onnx_codes.stored(numpy)), f"input {value.name}")
    # Some exporters write -1 for a dynamic dimension.
    dims = tuple(
        d.dim_value if d.HasField("dim_value") and d.dim_value != -1 else None
        for d in tensor.shape.dim
    )
    return Declared(value.name, element, dims)


def _for_runtime(model: Any) -> Any:
    """Returns the model in an opset that onnxruntime knows, if onnx can convert it, or none of its ops is newer."""
    import onnx
    from onnx import version_converter

    versions = [opset.version for opset in model.opset_import if not opset.domain]
    if any(0 < version < _RUNTIME_OPSET for version in versions):
        # What the converter has no rule for may run as it is, or onnxruntime says why not.
        with contextlib.suppress(Exception):
            return version_converter.convert_version(model, _RUNTIME_OPSET)
    if max(versions, default=0) > _RUNTIME_NEWEST:
        nodes = onnx_graph.nodes_within(model.graph.node)
        own = {node.op_type for node in nodes if node.domain in ("", "ai.onnx")}
        since = [onnx.defs.get_schema(op, max(versions), "").since_version for op in own]
        if max(since, default=0) <= _RUNTIME_NEWEST and not model.functions:
            older = type(model)()
            older.CopyFrom(model)
            for opset in older.opset_import:
                if not opset.domain:
                    opset.version = _RUNTIME_NEWEST
            return older
    return model


def _has_its_types(model: Any) -> bool:
    """Whether the standard has every op of the model for the element types that it gets."""
    from onnx import shape_inference

    try:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except Exception:  # InferenceError, and others for what onnx does not know at all.
        return False
    return True


def _runtime_reason(error: Exception) -> str:
    """Returns onnxruntime's message without codes, source lines or C++ signatures."""
    text = _RUNTIME_PREFIX.sub("", str(error)).partition("\n")[0].strip()
    return text[:300] or "no message"


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise BmcError(
            "onnx-missing",
            f"importing an .onnx model needs the package {name}",
            hint=installing.hint("onnx", "onnxruntime"),
        ) from None


def _bad_file(name: str, error: Exception) -> BmcError:
    return BmcError(
        "bad-file",
        f"onnx rejects '{name}': {factory.first_line(error)[:300]}",
        hint="export the model again, or fetch the whole file",
    )
