"""Tells whether an imported model is quantized. Such a model has quantize ops (QDQ) or int8 products."""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir

from bmc.ir import ir_util

_DEQUANTIZE = ("iree_linalg_ext.dequantize_affine", "onnx.DequantizeLinear")
_TOSA_PRODUCTS = (
    "tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.matmul", "tosa.transpose_conv2d",
)  # fmt: skip


def is_quantized(mlir: Path) -> bool:
    """Whether the model in `mlir` dequantizes anything or multiplies int8 tensors (TOSA)."""
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir_util.read(mlir)
        return any(map(_says_so, ir_util.walk(module.operation)))


def _says_so(op: ir_util.Op) -> bool:
    if op.name in _TOSA_PRODUCTS:
        return all(str(op.operands[i].type.element_type) == "i8" for i in (0, 1))
    name = ir_util.string(op, "name") if op.name == "torch.operator" else op.name
    return name in _DEQUANTIZE
