"""The networks of the zoo that run in other runtimes, as .tflite and .onnx files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import onnxruntime
import tensorflow as tf
from onnx import helper, numpy_helper
from onnxruntime import quantization

from bmc.spec import Array, ModelSpec
from models.ds_cnn import model as ds_cnn
from models.mobilenet_v1 import model as mobilenet_v1
from models.vww import model as vww

# Name of the zoo -> what makes it. All of them are chains of a few kinds of layers.
NETWORKS: dict[str, Callable[[], ModelSpec]] = {
    "ds_cnn": ds_cnn.keywords,
    "vww": vww.person,
    "mobilenet_v1": mobilenet_v1.pictures,
}


def tflite(spec: ModelSpec, int8: bool) -> bytes:
    """Returns a .tflite file of a Keras network."""
    converter = tf.lite.TFLiteConverter.from_keras_model(spec.module)
    if int8:

        def representative() -> Iterator[list[Array]]:
            yield from map(list, spec.calibration)

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = representative
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    data: bytes = converter.convert()
    return data


def onnx_file(spec: ModelSpec, int8: bool, folder: Path) -> Path:
    """Writes a chain of Keras layers as an .onnx file; int8 is per channel, with QuantizeLinear around each node."""
    path = folder / "f32.onnx"
    onnx.save(_Chain(spec.module).model(), str(path))
    if not int8:
        return path
    quantized = folder / "int8.onnx"
    quantization.quantize_static(
        path,
        quantized,
        _Calibration(spec),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        weight_type=quantization.QuantType.QInt8,
        activation_type=quantization.QuantType.QInt8,
    )
    return quantized


class _Calibration(quantization.CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, spec: ModelSpec) -> None:
        self._cases = iter(spec.calibration)

    def get_next(self) -> dict[str, Array] | None:
        case = next(self._cases, None)
        return None if case is None else {"image": np.moveaxis(case[0], -1, 1)}


class _Chain:
    """Writes layers one after the other. Images have channels first, as onnxruntime has them."""

    def __init__(self, network: keras.Model) -> None:
        self._nodes: list[Any] = []
        self._weights: list[Any] = []
        _, *sides, channels = network.inputs[0].shape
        self._last = "image"
        self._first = helper.make_tensor_value_info("image", 1, [1, channels, *sides])
        self._classes = network.outputs[0].shape[-1]
        self._pad: list[int] = []
        for layer, following in itertools.pairwise([*network.layers, None]):
            self._add(layer, following)

    def model(self) -> Any:
        result = helper.make_tensor_value_info(self._last, 1, [1, self._classes])
        graph = helper.make_graph(self._nodes, "network", [self._first], [result], self._weights)
        imports = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)

    def _add(self, layer: Any, following: Any) -> None:
        kind = type(layer).__name__
        if kind in ("Conv2D", "DepthwiseConv2D"):
            self._convolution(layer, following)
        elif kind == "ReLU":
            limit = layer.max_value
            if limit is None:
                self._node("Relu")
            else:
                self._node("Clip", np.float32(0), np.float32(limit))
        elif kind == "ZeroPadding2D":
            (top, bottom), (left, right) = layer.padding
            self._pad = [top, left, bottom, right]
        elif kind in ("GlobalAveragePooling2D", "AveragePooling2D"):
            self._node("GlobalAveragePool")
        elif kind in ("Flatten", "Reshape"):
            self._node("Flatten")
        elif kind == "Dense":
            self._node("Gemm", *map(np.asarray, layer.get_weights()))
            if layer.activation.__name__ == "softmax":
                self._node("Softmax")
        elif kind in ("Softmax", "Activation"):
            if kind == "Softmax" or layer.activation.__name__ == "softmax":
                self._node("Softmax")
        elif kind not in ("InputLayer", "Dropout", "BatchNormalization"):
            raise NotImplementedError(f"a layer of kind {kind}")

    def _convolution(self, layer: Any, following: Any) -> None:
        """Adds a convolution with the batch normalization behind it."""
        depthwise = type(layer).__name__ == "DepthwiseConv2D"
        kernel, *biases = (np.asarray(each) for each in layer.get_weights())
        weights = kernel.transpose((2, 3, 0, 1) if depthwise else (3, 2, 0, 1))
        bias = biases[0] if biases else np.zeros(len(weights), np.float32)
        if type(following).__name__ == "BatchNormalization":
            scale, offset, mean, variance = map(np.asarray, following.get_weights())
            scale = scale / np.sqrt(variance + following.epsilon)
            weights, bias = weights * scale[:, None, None, None], offset + (bias - mean) * scale
        padding: dict[str, Any] = {"pads": self._pad} if self._pad else {"auto_pad": "VALID"}
        self._pad = []
        if layer.padding == "same":
            padding = {"auto_pad": "SAME_UPPER"}
        groups = len(weights) if depthwise else 1
        self._node("Conv", weights, bias, strides=list(layer.strides), group=groups, **padding)

    def _node(self, op: str, *weights: Array, **attributes: Any) -> None:
        number = len(self._nodes)
        names = [f"weight_{number}_{place}" for place in range(len(weights))]
        for name, weight in zip(names, weights, strict=True):
            self._weights.append(numpy_helper.from_array(np.ascontiguousarray(weight), name))
        result = f"value_{number}"
        self._nodes.append(helper.make_node(op, [self._last, *names], [result], **attributes))
        self._last = result


def session(path: Path) -> tuple[Any, dict[str, Array]]:
    """Returns a session of onnxruntime in one thread, and inputs for it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (image,) = made.get_inputs()
    return made, {image.name: np.zeros(image.shape, np.float32)}
