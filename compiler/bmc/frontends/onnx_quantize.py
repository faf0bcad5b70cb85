"""`--quantize int8` for ONNX: onnxruntime's static quantization to a QDQ model.

Weights become int8, symmetric, with one scale per output channel. What products read becomes int8 with a zero point,
and so do feature maps of convolutions wherever they are stored. Everything else between the products stays f32 inside
the kernels that surround them, as for PyTorch (torch_quantize.py): onnxruntime would round each step of a hard swish.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bmc import factory, spec
from bmc.artifacts import TensorInfo
from bmc.errors import BmcError
from bmc.frontends import onnx_graph, onnx_static, quiet
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


def quantize(
    file: OnnxFile, inputs: tuple[TensorInfo, ...], calibration: tuple[spec.Case, ...]
) -> OnnxFile:
    """Returns the file with quantize and dequantize ops around every product, for these shapes of its inputs.

    Raises:
      BmcError: there is no calibration data, or onnxruntime fails.
    """
    if not calibration:
        raise BmcError(
            "no-calibration",
            "quantizing to int8 needs calibration data",
            hint="give Cases.calibration: a few dozen inputs like those the model will get",
        )
    import onnx
    from onnxruntime import quantization

    names = [info.name for info in file.inputs]
    feeds = iter([dict(zip(names, case, strict=True)) for case in calibration])

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc]
        def get_next(self) -> Any:
            return next(feeds, None)

    with tempfile.TemporaryDirectory() as work:
        quantized = Path(work) / "quantized.onnx"
        try:
            with quiet.native(), quiet.python():
                # This folds batch norms into the convolutions before them.
                prepared = onnx_static.updated(file, inputs, fold=True)
                _own_biases(prepared.graph)
                chosen = _chosen(prepared.graph)
                kinds = sorted({node.op_type for node in chosen})
                if not {*kinds} & {*_PRODUCTS}:
                    raise _nothing(file.name)
                quantization.quantize_static(
                    prepared,
                    quantized,
                    Reader(),
                    quant_format=quantization.QuantFormat.QDQ,
                    op_types_to_quantize=kinds,
                    nodes_to_quantize=[node.name for node in chosen],
                    extra_options={
                        "ForceQuantizeNoInputCheck": True,
                        "OpTypesToExcludeOutputQuantization": sorted({*kinds} - {_POOLING}),
                    },
                    per_channel=onnx_static.opset(prepared) >= _CHANNELS_OPSET,
                    activation_type=quantization.QuantType.QInt8,
                    weight_type=quantization.QuantType.QInt8,
                )
        except BmcError:
            raise
        except Exception as error:
            raise BmcError(
                "quantize-failed",
                f"onnxruntime cannot quantize '{file.name}': {factory.first_line(error)[:300]}",
            ) from None
        return replace(file, model=onnx.load(quantized))


def _nothing(name: str) -> BmcError:
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
