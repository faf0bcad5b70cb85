"""`--quantize int8` for ONNX: onnxruntime's static quantization to a QDQ model.

Weights become int8, symmetric, with one scale per output channel. What products read becomes int8 with a zero point,
and so do feature maps of convolutions wherever they are stored. Everything else between the products stays f32 inside
the kernels that surround them, as for PyTorch (torch_quantize.py): onnxruntime would round each step of a hard swish.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import factory, spec
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import onnx_graph, onnx_lost, onnx_spectra, onnx_static, quiet
from bmc.frontends.onnx_file import OnnxFile

# From here on, quantize and dequantize ops may have a scale for each channel.
_CHANNELS_OPSET = 13
_BIASED = ("Conv", "ConvTranspose", "Gemm")
_CONVOLUTIONS = ("Conv", "ConvTranspose")
_PRODUCTS = (*_CONVOLUTIONS, "Gemm", "MatMul")
_ELEMENTWISE = frozenset((
    "Abs", "Add", "BatchNormalization", "Celu", "Clip", "Div", "Dropout", "Elu", "Erf", "Exp", "Gelu", "HardSigmoid",
    "HardSwish", "Identity", "LeakyRelu", "Log", "Max", "Min", "Mish", "Mul", "Neg", "PRelu", "Pow", "Reciprocal",
    "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Sub", "Swish", "Tanh", "ThresholdedRelu",
))  # fmt: skip
# Its result has the scale of what it reads.
_POOLING = "MaxPool"
# Ops that read whole feature maps.
_READERS = (
    "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "ReduceMean", "Resize", _POOLING,
)  # fmt: skip
# Ops that only select values: what is quantized behind them, rewrites quantize before them.
_SELECTIONS = (
    "Concat", "Flatten", "Pad", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze",
)  # fmt: skip

_ONE_STAGE = "the STFT or DFT is a product with one matrix, so that int8 rounds once: f32 takes two with smaller ones"


def quantize(
    file: OnnxFile, inputs: tuple[TensorInfo, ...], calibration: tuple[spec.Case, ...]
) -> tuple[OnnxFile, tuple[str, ...]]:
    """Returns the file with quantize and dequantize ops around products, for these shapes of its inputs.

    Products stay f32 whose numbers int8 would lose; sentences for the user say which.

    Raises:
      BmcError: there is no calibration data, nothing to quantize, or onnxruntime fails.
    """
    if not calibration:
        raise BmcError(
            "no-calibration",
            "quantizing to int8 needs calibration data",
            hint="give Cases.calibration: a few dozen inputs like those the model will get",
        )
    with _errors(file.name):
        # This folds batch norms into the convolutions before them.
        updated = onnx_static.updated(file, inputs, fold=True)
        prepared = onnx_spectra.in_one_stage(updated)
        _own_biases(prepared.graph)
        chosen = {node.name: node.op_type for node in _chosen(prepared.graph)}
    exact = replace(file, model=prepared)
    one_stage = _spectra(prepared.graph) < _spectra(updated.graph)
    notes: tuple[str, ...] = (_ONE_STAGE,) if one_stage else ()
    lost = None
    while {*chosen.values()} & {*_PRODUCTS}:
        with _errors(file.name):
            quantized = _quantized(exact, chosen, calibration)
        products = {name: kind in _PRODUCTS for name, kind in chosen.items()}
        lost = onnx_lost.find(exact, quantized, products, calibration)
        if lost is None:
            return quantized, notes
        notes += (_stay(sorted(name for name in lost.nodes if products[name]), lost.why),)
        chosen = {name: kind for name, kind in chosen.items() if name not in lost.nodes}
    raise _nothing(file.name, lost)


@contextlib.contextmanager
def _errors(name: str) -> Iterator[None]:
    try:
        with quiet.native(), quiet.python():
            yield
    except BmcError:
        raise
    except Exception as error:
        raise BmcError(
            "quantize-failed",
            f"onnxruntime cannot quantize '{name}': {factory.first_line(error)[:300]}",
        ) from None


def _quantized(
    exact: OnnxFile, chosen: Mapping[str, str], calibration: tuple[spec.Case, ...]
) -> OnnxFile:
    """Returns the model with the inputs of the `chosen` nodes in int8; these have their names and ops."""
    import onnx
    from onnxruntime import quantization

    names = [info.name for info in exact.inputs]
    feeds = iter([dict(zip(names, case, strict=True)) for case in calibration])

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> Any:
            return next(feeds, None)

    model = onnx.ModelProto()
    model.CopyFrom(exact.model)  # onnxruntime changes what it is given
    kinds = {*chosen.values()}
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "quantized.onnx"
        quantization.quantize_static(
            model,
            path,
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=sorted(kinds),
            nodes_to_quantize=[*chosen],
            extra_options={
                "ForceQuantizeNoInputCheck": True,
                "OpTypesToExcludeOutputQuantization": sorted(kinds - {_POOLING}),
            },
            per_channel=onnx_static.opset(model) >= _CHANNELS_OPSET,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
        )
        return replace(exact, model=onnx.load(path))


def _spectra(graph: Any) -> int:
    return sum(node.op_type in ("DFT", "STFT") for node in graph.node)


def _stay(names: Sequence[str], why: str) -> str:
    more = f" and {len(names) - 3} more products" if len(names) > 3 else ""
    verb = "stays" if len(names) == 1 else "stay"
    return f"{', '.join(map(repr, names[:3]))}{more} {verb} f32: {why}"


def _nothing(name: str, lost: onnx_lost.Lost | None) -> BmcError:
    if lost:
        return BmcError(
            "quantize-rejected",
            f"int8 loses what the products of '{name}' compute: {lost.why}",
            hint="import it without quantize",
        )
    return BmcError(
        "quantize-rejected",
        f"'{name}' has no convolution and no matrix product to quantize",
        hint="import it without quantize",
    )


def _chosen(graph: Any) -> list[Any]:
    """Returns the nodes whose inputs become int8, after giving each node a name of its own."""
    constants = onnx_graph.constants(graph)
    # What is computed from one value, one element at a time, is an activation function of that value.
    roots: dict[str, str] = {}
    maps: set[str] = set()
    names: set[str] = set()
    chosen = []
    for number, node in enumerate(graph.node):
        node.name = onnx_graph.node_name(node)
        if node.name in names:
            node.name = f"{node.name} {number}"
        names.add(node.name)
        inputs = [name for name in node.input if name and name not in constants]
        reads_maps = not maps.isdisjoint(inputs)
        origins = {roots.get(name, name) for name in inputs}
        is_elementwise = node.op_type in _ELEMENTWISE
        if is_elementwise and len(origins) == 1:
            roots[node.output[0]] = origins.pop()
        elif node.op_type in _PRODUCTS or (
            reads_maps and (is_elementwise or node.op_type in _READERS)
        ):
            chosen.append(node)
        if node.op_type in _CONVOLUTIONS or (
            reads_maps and (is_elementwise or node.op_type in (*_READERS, *_SELECTIONS))
        ):
            maps.update(node.output)
    return chosen


def _own_biases(graph: Any) -> None:
    """Gives each product a bias of its own, with one number for each channel.

    onnxruntime gives a bias the scale of its product. It names a copy as if nothing else had that name, and fails for a
    Gemm's bias of another shape.
    """
    from onnx import helper, numpy_helper

    given = {item.name: item for item in graph.initializer}
    seen: set[str] = set()
    for number, node in enumerate(graph.node):
        if node.op_type not in _BIASED or len(node.input) < 3 or node.input[2] not in given:
            continue
        bias = numpy_helper.to_array(given[node.input[2]])
        shape = bias.shape
        if node.op_type == "Gemm" and node.input[1] in given:
            is_turned = any(
                a.name == "transB" and helper.get_attribute_value(a) for a in node.attribute
            )
            channels = given[node.input[1]].dims[0 if is_turned else 1]
            if bias.size in (1, channels):
                bias = np.broadcast_to(bias.reshape(-1), (channels,))
        if node.input[2] in seen or bias.shape != shape:
            node.input[2] = f"{node.input[2]} of node {number}"
            graph.initializer.append(numpy_helper.from_array(bias.copy(), node.input[2]))
        seen.add(node.input[2])
