"""`--quantize int8` for PyTorch: post-training static quantization with torchao's PT2E.

Weights become int8, symmetric, with one scale per output channel. Operands of matrix products become int8
with one scale and zero point. The result is a module with explicit quantize and dequantize ops around
every product. PyTorch runs it to make the golden data, and IREE turns it into int8 products that
accumulate in int32.

Everything between the products stays f32 inside the kernels that surround them: softmax, layer norm, the
sums of a transformer's residual stream, the gates of an LSTM. Feature maps of convolutions are quantized
wherever they are stored, because they take most of the memory.

This module imports torch and torchao at its top, so import it only where it is used.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torchao.quantization.pt2e import MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import (
    QuantizationAnnotation,
    QuantizationSpec,
    Quantizer,
    SharedQuantizationSpec,
)

from bmc import factory, golden, spec
from bmc.errors import BmcError
from bmc.frontends import argument_names, quantized, quiet, torch_export, torch_tensors
from bmc.iree.tool import IreeTool

# torch-mlir's name for its import without any lowering. IREE knows the quantized ops, but torch-mlir's
# own lowering does not.
OUTPUT_TYPE = "raw"
_LOWERING = "--pass-pipeline=builtin.module(torch-to-iree{emit-async-entry-points=false})"

_aten = torch.ops.aten
_ANNOTATION = "quantization_annotation"

_ACTIVATION = QuantizationSpec(
    dtype=torch.int8,
    observer_or_fake_quant_ctr=MinMaxObserver,
    quant_min=-128,
    quant_max=127,
    qscheme=torch.per_tensor_affine,
)

# Products of an activation with a weight or another activation as second operand. The number is the axis
# of the weight's output channels, counted from the end if negative.
_PRODUCTS = {
    _aten.conv1d.default: 0,
    _aten.conv1d.padding: 0,
    _aten.conv2d.default: 0,
    _aten.conv2d.padding: 0,
    _aten.conv_transpose2d.input: 1,
    _aten.linear.default: 0,
    _aten.matmul.default: -1,
    _aten.mm.default: -1,
    _aten.bmm.default: -1,
}
_ADD_PRODUCTS = {_aten.addmm.default: -1, _aten.baddbmm.default: -1}
_CONVOLUTIONS = tuple(op for op in _PRODUCTS if "conv" in str(op))

# Elementwise ops. What they compute from one tensor is an activation function, which stays in the kernel around it.
_ELEMENTWISE = (
    _aten.relu.default, _aten.relu_.default, _aten.relu6.default, _aten.hardtanh.default,
    _aten.hardtanh_.default, _aten.leaky_relu.default, _aten.hardswish.default, _aten.silu.default,
    _aten.hardswish_.default, _aten.silu_.default, _aten.gelu.default, _aten.batch_norm.default,
    _aten.dropout.default, _aten.sigmoid.default, _aten.hardsigmoid.default, _aten.tanh.default,
    _aten.clamp.default, _aten.softplus.default, _aten.mish.default, _aten.elu.default, _aten.prelu.default,
    _aten.div.Tensor, _aten.sub.Tensor, _aten.add.Tensor, _aten.add_.Tensor, _aten.mul.Tensor,
)  # fmt: skip
# Ops that only select values of their input, so they can keep its scale.
_SELECTIONS = (
    _aten.max_pool1d.default, _aten.max_pool2d.default, _aten.upsample_nearest2d.vec,
)  # fmt: skip
# Ops that read whole feature maps.
_READERS = (
    _aten.avg_pool1d.default, _aten.avg_pool2d.default, _aten.adaptive_avg_pool1d.default,
    _aten.adaptive_avg_pool2d.default, _aten.mean.dim, *_SELECTIONS,
)  # fmt: skip
# What is quantized behind it, a rewrite quantizes before it.
_JOIN = _aten.cat.default

# Composite ops that contain products. They are decomposed so that the products can be quantized.
_RECURRENT = (_aten.lstm.input, _aten.gru.input, _aten.rnn_tanh.input, _aten.rnn_relu.input)
_CELLS = (
    _aten.lstm_cell.default, _aten.gru_cell.default, _aten.rnn_tanh_cell.default,
    _aten.rnn_relu_cell.default,
)  # fmt: skip


def quantize_forward(module: Any, model: spec.ModelSpec, folder: Path) -> Any:
    """Returns the quantized module, which has the inputs and outputs of `module`.

    Args:
      module: torch.nn.Module in evaluation mode.
      model: its cases and calibration inputs.
      folder: the model's folder, whose lines errors name.

    Raises:
      BmcError: there is no calibration data, its shapes differ from the cases', or see quantize().
    """
    if not model.calibration:
        raise BmcError(
            "no-calibration",
            "int8 quantization needs calibration inputs, from which it takes the scales",
            hint="give ModelSpec.calibration",
        )
    golden.check_cases(model.calibration, argument_names.inputs(model), "calibration")

    def calibrate(observed: dict[str, Any]) -> None:
        for case in model.calibration:
            observed["forward"](*(torch_tensors.tensor(array) for array in case))

    example = tuple(torch_tensors.tensor(array) for array in model.cases[0])
    return quantize({"forward": module}, {"forward": example}, calibrate, folder)["forward"]


def quantize(
    modules: dict[str, Any],
    examples: dict[str, tuple[Any, ...]],
    calibrate: Callable[[dict[str, Any]], None],
    folder: Path,
) -> dict[str, Any]:
    """Returns the quantized modules of a model's entry points.

    The scales of a weight depend on that weight only, so entry points that share it also share its int8.

    Args:
      modules: torch.nn.Modules in evaluation mode, by entry point.
      examples: one tensor per input, for each module.
      calibrate: runs modules by these names, while they record the ranges of their values.
      folder: the model's folder, whose lines errors name.

    Raises:
      BmcError: torch.export or torchao rejects a module, or there is nothing to quantize.
    """
    quantizer = Int8Quantizer()
    try:
        with quiet.python(), torch.no_grad():
            observed = {}
            for name, module in modules.items():
                program = torch.export.export(module, examples[name], strict=False)
                _require_same(module, program, examples[name])
                program = program.run_decompositions(_decompositions())
                observed[name] = prepare_pt2e(program.module(), quantizer)
            calibrate(observed)
            converted = {name: _convert(module) for name, module in observed.items()}
    except BmcError:
        raise
    except Exception as error:
        raise BmcError(
            "quantize-rejected",
            f"torchao cannot quantize the model: {factory.first_line(error)}",
            where=factory.model_line(error, folder),
        ) from error
    if not quantizer.products:
        raise BmcError(
            "quantize-rejected",
            "the model has no convolution and no matrix product to quantize",
            hint="import it without quantize",
        )
    return converted


def _require_same(module: Any, program: Any, example: tuple[Any, ...]) -> None:
    # What changes buffers computes something else at the next call, and is refused later.
    if not program.graph_signature.buffers_to_mutate:
        called, exported = (model(*example) for model in (module, program.module()))
        arrays = map(torch_export.arrays, (exported, called))
        quantized.require_same("PyTorch", *arrays)


def _convert(observed: Any) -> Any:
    """Returns the quantized module without the float weights that it no longer reads."""
    module = convert_pt2e(observed)
    read = {node.target for node in module.graph.nodes if node.op == "get_attr"}
    for name in torch_export.tensors(module).keys() - read:
        owner, _, attribute = name.rpartition(".")
        delattr(module.get_submodule(owner), attribute)
    return module


def lower(model: Path, reproducer: Path) -> None:
    """Lowers the MLIR bytecode in `model` in place: torch ops to linalg, quantized ones to IREE's own ops.

    Raises:
      BmcError: IREE rejects an op; the error names the op and the model line.
    """
    with tempfile.TemporaryDirectory() as work:
        shutil.copyfile(model, Path(work) / "torch.mlirbc")
        IreeTool(Path(work), reproducer).lower_torch("torch.mlirbc", "model.mlirbc", _LOWERING)
        shutil.copyfile(Path(work) / "model.mlirbc", model)


class Int8Quantizer(Quantizer):  # type: ignore[misc]
    """Selects the tensors that become int8.

    Attributes:
      products: number of convolutions and matrix products found so far.
    """

    def __init__(self) -> None:
        self.products = 0

    def annotate(self, model: Any) -> Any:
        feature_maps: set[Any] = set()
        # The tensor that an activation function was computed from.
        roots: dict[Any, Any] = {}
        constants: set[Any] = set()
        for node in model.graph.nodes:
            inputs = [i for i in node.all_input_nodes if i not in constants]
            if node.op == "get_attr" or (node.all_input_nodes and not inputs):
                constants.add(node)
            if node.op != "call_function":
                continue
            reads_maps = any(i in feature_maps for i in inputs)
            origins = {roots.get(i, i) for i in inputs}
            is_elementwise = node.target in _ELEMENTWISE
            if is_elementwise and len(origins) == 1:
                roots[node] = origins.pop()
            elif node.target in _PRODUCTS:
                self._annotate_product(node, node.args[0], node.args[1], _PRODUCTS[node.target])
            elif node.target in _ADD_PRODUCTS:
                self._annotate_product(node, node.args[1], node.args[2], _ADD_PRODUCTS[node.target])
            elif reads_maps and (is_elementwise or node.target in _READERS):
                _annotate_reader(node)
            if node.target in _CONVOLUTIONS or (
                reads_maps and (is_elementwise or node.target in (*_READERS, _JOIN))
            ):
                feature_maps.add(node)
        return model

    def validate(self, model: Any) -> None:
        """Does nothing, because all annotations come from annotate()."""

    def _annotate_product(self, node: Any, left: Any, right: Any, axis: int) -> None:
        self.products += 1
        inputs = {left: _ACTIVATION}
        inputs[right] = _weight(right, axis) if _is_constant(right) else _ACTIVATION
        _annotate(node, inputs)


def _annotate_reader(node: Any) -> None:
    inputs = [i for i in node.all_input_nodes if _is_float(i) and not _is_constant(i)]
    if not inputs:
        return
    shared = SharedQuantizationSpec((inputs[0], node))
    _annotate(
        node, dict.fromkeys(inputs, _ACTIVATION), shared if node.target in _SELECTIONS else None
    )


def _annotate(node: Any, inputs: dict[Any, Any], output: Any = None) -> None:
    node.meta[_ANNOTATION] = QuantizationAnnotation(
        input_qspec_map=inputs, output_qspec=output, _annotated=True
    )


def _weight(node: Any, axis: int) -> QuantizationSpec:
    return QuantizationSpec(
        dtype=torch.int8,
        observer_or_fake_quant_ctr=PerChannelMinMaxObserver,
        # Not -128, because the range is symmetric.
        quant_min=-127,
        quant_max=127,
        qscheme=torch.per_channel_symmetric,
        ch_axis=axis % node.meta["val"].dim(),
    )


def _is_float(node: Any) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _is_constant(node: Any) -> bool:
    """Whether a node is a parameter or is computed from parameters only."""
    if node.op == "get_attr":
        return True
    inputs = node.all_input_nodes
    return node.op == "call_function" and bool(inputs) and all(map(_is_constant, inputs))


@functools.cache
def _decompositions() -> dict[Any, Callable[..., Any]]:
    from torch._decomp import get_decompositions

    cells = {cell: torch.export.default_decompositions()[cell] for cell in _CELLS}
    return {
        _aten.scaled_dot_product_attention.default: attention,
        **get_decompositions(_RECURRENT),
        **cells,
    }


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Scaled dot product attention as two matrix products and a softmax, without dropout."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key = key.repeat_interleave(groups, -3)
        value = value.repeat_interleave(groups, -3)
    scores = query @ key.transpose(-2, -1) * (scale or query.shape[-1] ** -0.5)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = torch.where(attn_mask, scores, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores.softmax(-1) @ value
