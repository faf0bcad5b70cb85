"""A .tflite file: its signature, quantization and weights, and the outputs that LiteRT computes."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bmc import dtype, errors, factory, spec
from bmc.artifacts import TensorInfo
from bmc.dtype import Array, DType
from bmc.errors import BmcError
from bmc.frontends import (
    tflite_check,
    tflite_counts,
    tflite_litert,
    tflite_mediapipe,
    tflite_mends,
    tflite_signal_ops,
    tflite_sparse,
    tflite_svdf_op,
)
from bmc.frontends.tflite_litert import FAST, OPTIMIZED, REFERENCE
from bmc.frontends.tflite_schema import (
    OTHER_OPS,
    builtin,
    constants,
    is_quantized,
    op_kind,
    pack,
    shape,
    text,
)
from bmc.golden import Declared

# Ops whose second input is a weight that includes the output's last dimension.
_PRODUCTS = (
    "BATCH_MATMUL", "CONV_2D", "CONV_3D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Quantization:
    """Affine quantization: real = scale * (stored - zero_point)."""

    scale: float
    zero_point: int

    def quantize(self, array: Array, to: DType) -> Array:
        """Returns the integers that TFLite's QUANTIZE op makes from floats."""
        scaled = array.astype(np.float32) / np.float32(self.scale)
        rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)) + self.zero_point
        limits = np.iinfo(to.numpy)
        quantized: Array = np.clip(rounded, limits.min, limits.max).astype(to.numpy)
        return quantized


@dataclass(frozen=True)
class TfliteFile:
    """A file that LiteRT accepts.

    name: name of the file, for messages.
    data: its contents.
    model: the contents as a ModelT of TFLite's schema, in which sparse constants are dense.
    inputs: the inputs as declared, with the signature's names.
    quantizations: one per input, None if it is not quantized.
    output_names: the signature's names, and those of counts (tflite_counts.py).
    notes: sentences that tell the user what was changed.
    """

    name: str
    data: bytes
    model: Any
    inputs: tuple[Declared, ...]
    quantizations: tuple[Quantization | None, ...]
    output_names: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def quantize_case(self, case: spec.Case) -> spec.Case:
        """Returns the case with floats for quantized inputs converted to integers."""
        if len(case) != len(self.inputs):
            return case  # golden.fix() reports this.
        return tuple(
            quantization.quantize(array, info.dtype)
            if quantization and array.dtype.kind == "f"
            else array
            for array, info, quantization in zip(case, self.inputs, self.quantizations, strict=True)
        )

    @property
    def zero_points(self) -> tuple[int | None, ...]:
        """One per input, None if it is not quantized; sound has one as well."""
        sound = DType.I16 if tflite_signal_ops.has(self.model) else None
        pairs = zip(self.quantizations, self.inputs, strict=True)
        return tuple(q.zero_point if q else 0 if i.dtype is sound else None for q, i in pairs)

    def is_dynamic(self) -> bool:
        """Whether the file leaves the shape of a tensor open, or whether it is a scalar.

        Loops may change the shapes of their tensors: of a file with other graphs, only inputs count.
        """
        if any(None in info.shape for info in self.inputs):
            return True
        graphs = self.model.subgraphs
        tensors = [tensor for graph in graphs for tensor in graph.tensors]
        if any(not shape(tensor) and not tensor.hasRank for tensor in tensors):
            return True
        signatures = [tensor.shapeSignature for tensor in tensors if len(graphs) == 1]
        return any(each is not None and -1 in each for each in signatures)

    def work(self) -> int:
        """Returns the approximate sum of multiply-accumulates and output elements of one run.

        A dynamic dimension counts as 1.
        """
        from ai_edge_litert.schema_py_generated import BuiltinOperator

        products = {getattr(BuiltinOperator, kind) for kind in _PRODUCTS}
        total = 0
        for graph in self.model.subgraphs:
            for op in graph.operators:
                shapes = [shape(graph.tensors[index]) for index in op.outputs]
                total += sum(map(math.prod, shapes))
                if builtin(self.model.operatorCodes[op.opcodeIndex]) in products and shapes:
                    weights = [shape(graph.tensors[index]) for index in op.inputs[1:2]]
                    total += math.prod(shapes[0][:-1]) * sum(map(math.prod, weights))
        return total

    def weights(self) -> dict[str, Array]:
        """Returns constants by the name of their tensor, sorted by name; raises BmcError for a wrong size."""
        found: dict[str, Array] = {}
        for graph in self.model.subgraphs:
            found |= constants(self.model, graph.tensors, self.name)
        return dict(sorted(found.items()))

    def ops(self) -> Counter[str]:
        """Returns how many ops of each kind the file has, by TFLite's names."""
        return Counter(
            op_kind(self.model, op) for graph in self.model.subgraphs for op in graph.operators
        )

    def bounds(self) -> set[str]:
        """Returns the names of tensors that ops only compare with others."""
        from ai_edge_litert.schema_py_generated import BuiltinOperator

        kinds = (BuiltinOperator.MAXIMUM, BuiltinOperator.MINIMUM)
        compared: set[str] = set()
        others: set[str] = set()
        for graph in self.model.subgraphs:
            for op in graph.operators:
                is_bound = builtin(self.model.operatorCodes[op.opcodeIndex]) in kinds
                names = [text(graph.tensors[index].name) for index in op.inputs if index >= 0]
                (compared if is_bound else others).update(names)
        return compared - others

    def kind_of(self, tensor: str) -> str:
        """Returns the kind of the op that makes the tensor of this name, "" if there is none."""
        kinds = (
            op_kind(self.model, op)
            for graph in self.model.subgraphs
            for op in graph.operators
            if tensor in [text(graph.tensors[index].name) for index in op.outputs]
        )
        return next(kinds, "")

    def outputs_of(self, kind: str) -> set[str]:
        """Returns the names of the first outputs of all ops of a kind, such as FULLY_CONNECTED."""
        from ai_edge_litert.schema_py_generated import BuiltinOperator

        codes = [builtin(code) for code in self.model.operatorCodes]
        return {
            text(graph.tensors[index].name)
            for graph in self.model.subgraphs
            for op in graph.operators
            for index in op.outputs[:1]
            if codes[op.opcodeIndex] == getattr(BuiltinOperator, kind)
        }

    def is_misjudged(self) -> bool:
        """Whether LiteRT's reference kernels are wrong for an op.

        Of sums of integers with a scale, they return what lies in memory. LOCAL_RESPONSE_NORMALIZATION leaves out one
        of the neighbors.
        """
        return any(
            kind == "LOCAL_RESPONSE_NORMALIZATION"
            or (kind == "SUM" and is_quantized(graph.tensors[op.inputs[0]]))
            for graph in self.model.subgraphs
            for op in graph.operators
            for kind in [op_kind(self.model, op)]
        )

    def hybrid_weight(self) -> str:
        """Returns the first int8 weight of an op on floats (dynamic range quantization), "" if none."""
        from ai_edge_litert.schema_py_generated import TensorType

        for graph in self.model.subgraphs:
            for op in graph.operators:
                inputs = [graph.tensors[index] for index in op.inputs if index >= 0]
                kinds = [tensor.type for tensor in inputs]
                if kinds[:1] == [TensorType.FLOAT32] and TensorType.INT8 in kinds:
                    return text(inputs[kinds.index(TensorType.INT8)].name)
        return ""


class Runner:
    """Runs a model in LiteRT with fixed input shapes. Methods raise BmcError if LiteRT fails.

    With `fast`, it takes the kernels that applications use, and not the reference ones.
    """

    def __init__(
        self, file: TfliteFile, inputs: tuple[TensorInfo, ...], *, fast: bool = False
    ) -> None:
        self._file = file
        self._inputs = inputs
        self._kernels = FAST if fast else OPTIMIZED if file.is_misjudged() else REFERENCE
        # Other ops that keep something begin with zeros in each call, as they do in bmc.
        self._keeps = bool(file.ops()[tflite_svdf_op.KIND])
        self._found = tflite_counts.found(file.model)
        self._data = tflite_svdf_op.for_litert(file.data) if self._keeps else file.data
        self.reset()

    def reset(self) -> None:
        """Gives variables their initial values, which LiteRT does only for a new interpreter."""
        self._interpreter = tflite_litert.interpreter(
            self._data, self._file.name, kernels=self._kernels
        )
        self._indices = [detail["index"] for detail in self._interpreter.get_input_details()]
        for index, info in zip(self._indices, self._inputs, strict=True):
            self._interpreter.resize_tensor_input(index, info.shape)
        try:
            self._interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            raise self._failed(error) from None

    def run(self, case: spec.Case) -> spec.Case:
        """Returns one array per output."""
        try:
            for index, array in zip(self._indices, case, strict=True):
                self._interpreter.set_tensor(index, array)
            if not self._keeps:
                self._interpreter.reset_all_variables()
            self._interpreter.invoke()
            for place, detail in enumerate(self._interpreter.get_output_details()):
                if 0 in detail["shape"] and place not in self._found:
                    raise self._without_elements(detail)
            return tflite_counts.outputs(self._interpreter, self._found)
        except (RuntimeError, ValueError) as error:
            raise self._failed(error) from None

    def _without_elements(self, detail: dict[str, Any]) -> BmcError:
        shape = "x".join(map(str, detail["shape"]))
        return BmcError(
            "empty-tensor",
            f"output '{detail['name']}' of '{self._file.name}' has no elements: its shape is {shape}",
            hint="leave it out: IREE makes TOSA of TFLite's ops, which has no such tensors",
        )

    def static(self) -> TfliteFile:
        """Returns the file with the shapes that tensors had in the last run as static shapes."""
        if not self._file.is_dynamic():
            return self._file
        from ai_edge_litert.schema_py_generated import ModelT

        model = ModelT.InitFromPackedBuf(self._file.data, 0)
        for index, graph in enumerate(model.subgraphs):
            take_shapes(graph, self._interpreter.get_tensor_details(subgraph_index=index))
        return replace(self._file, data=pack(model, len(self._file.data)), model=model)

    def _failed(self, error: Exception) -> BmcError:
        # It says nothing where it gets no memory.
        reason = factory.first_line(error) if str(error) else "a tensor may be too large for memory"
        return BmcError("model-failed", f"LiteRT cannot run '{self._file.name}': {reason}")


def take_shapes(graph: Any, details: list[dict[str, Any]]) -> None:
    """Gives a graph's tensors the shapes that they had in the last run, as LiteRT's details of its tensors say."""
    for detail in details:
        if detail["index"] < len(graph.tensors):
            tensor = graph.tensors[detail["index"]]
            # Without a rank, a scalar is a tensor of any.
            tensor.shape, tensor.shapeSignature, tensor.hasRank = detail["shape"], None, True


def read(data: bytes, name: str) -> TfliteFile:
    """Reads the contents of a file.

    Raises:
      BmcError: as parse(), or an op is not one of TFLite's own.
    """
    file = parse(data, name)
    errors.raise_first(foreign(file))
    return file


def foreign(file: TfliteFile) -> Iterator[BmcError]:
    """Yields each op that is not one of TFLite's own, nor one on sound (tflite_signal_ops.py)."""
    for graph in file.model.subgraphs:
        for op in graph.operators:
            name = file.model.operatorCodes[op.opcodeIndex].customCode
            if name and text(name) not in tflite_signal_ops.KINDS:
                results = [text(graph.tensors[index].name) for index in op.outputs[:1]]
                yield BmcError(
                    "op-rejected",
                    f"op '{text(name)}' in '{file.name}' is not one of TFLite's own",
                    where="".join(f"{result} in {file.name}" for result in results),
                    hint=OTHER_OPS,
                )


def parse(data: bytes, name: str) -> TfliteFile:
    """Reads the contents of a file, which may have ops that are not TFLite's own.

    Raises:
      BmcError: LiteRT is not installed or rejects the file, or the file has several signatures.
    """
    notes: list[str] = []
    try:
        details = tflite_litert.interpreter(data, name)
    except BmcError as error:
        if not tflite_mends.is_formality(error):
            raise
        data, note = tflite_mends.mended(data, name)
        notes.append(note)
        details = tflite_litert.interpreter(data, name)
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(data, 0)
    tflite_check.check(model, name, len(data))
    replaced = tflite_mediapipe.replace(model, name)
    sizes = tflite_mends.fold_sizes(model, name)
    scales = tflite_mends.scale_zeros(model, name)
    notes += filter(None, (sizes, scales))
    if _name_tensors(model) or replaced or sizes or scales:
        data = pack(model, len(data))
        details = tflite_litert.interpreter(data, name)
    tflite_sparse.make_dense(model, name)
    signatures = model.signatureDefs or []
    if len(signatures) > 1:
        keys = ", ".join(text(signature.signatureKey) for signature in signatures)
        raise BmcError(
            "bad-signature",
            f"'{name}' has several signatures: {keys}",
            hint="convert each of them into a file of its own",
        )
    mappings = [(*signature.inputs, *signature.outputs) for signature in signatures]
    names = {m.tensorIndex: text(m.name) for mapping in mappings for m in mapping}
    inputs = details.get_input_details()
    outputs = [_name(detail, names) for detail in details.get_output_details()]
    return TfliteFile(
        name=name,
        data=data,
        model=model,
        inputs=tuple(_declared(detail, names) for detail in inputs),
        quantizations=tuple(_quantization(detail) for detail in inputs),
        output_names=tflite_counts.names(model, outputs),
        notes=tuple(notes),
    )


def _name_tensors(model: Any) -> bool:
    """Gives each tensor a unique name; returns whether any name changed.

    The converter's output identifies ops by these names.
    """
    renamed = False
    taken: set[str] = set()
    for tensor in (tensor for graph in model.subgraphs for tensor in graph.tensors):
        wanted = text(tensor.name) or "tensor"
        others = (f"{wanted}_{number}" for number in itertools.count(len(taken)))
        name = next(name for name in itertools.chain([wanted], others) if name not in taken)
        renamed = renamed or name.encode() != tensor.name
        tensor.name = name.encode()
        taken.add(name)
    return renamed


def _name(detail: dict[str, Any], names: dict[int, str]) -> str:
    return names.get(detail["index"], str(detail["name"]))


def _declared(detail: dict[str, Any], names: dict[int, str]) -> Declared:
    # LiteRT reports 1 for a dynamic dimension; the signature has -1.
    signature = detail["shape_signature"]
    shape = signature if len(signature) == len(detail["shape"]) else detail["shape"]
    element = dtype.from_numpy(np.empty(0, detail["dtype"]))
    return Declared(_name(detail, names), element, tuple(None if d < 0 else int(d) for d in shape))


def _quantization(detail: dict[str, Any]) -> Quantization | None:
    scale, zero_point = detail["quantization"]
    return Quantization(float(scale), int(zero_point)) if scale else None
