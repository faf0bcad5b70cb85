"""Models that are or become quantized: how to tell them, and that what is quantized is the user's model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc import answers, golden, spec, tolerances
from bmc.errors import BmcError
from bmc.frontends import onnx_graph
from bmc.ir import contraction, ir_util

_DEQUANTIZE = ("iree_linalg_ext.dequantize_affine", "onnx.DequantizeLinear")
_TOSA_PRODUCTS = (
    "tosa.conv2d", "tosa.conv3d", "tosa.depthwise_conv2d", "tosa.matmul", "tosa.transpose_conv2d",
)  # fmt: skip

# Ops of ONNX that add up products, and how many of their first inputs are factors.
PRODUCTS = {
    "Attention": 2, "Conv": 2, "ConvTranspose": 2, "Einsum": 2, "FusedMatMul": 2, "GRU": 3, "Gemm": 2, "LSTM": 3,
    "MatMul": 2, "MultiHeadAttention": 3, "RNN": 3,
}  # fmt: skip
_INTEGER_PRODUCTS = ("ConvInteger", "MatMulInteger", "QGemm", "QLinearConv", "QLinearMatMul")
_MOVES = (
    "Flatten", "Gather", "Identity", "MaxPool", "Relu", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze",
)  # fmt: skip


def require_same(framework: str, exported: spec.Case, called: spec.Case) -> None:
    """Raises BmcError if what a framework exported computes something else than what it exported.

    The host check cannot tell: the golden data of a model that becomes int8 are those of the int8 model.

    Args:
      framework: its name.
      exported, called: the outputs of the exported model and of the user's, for the same inputs.
    """
    infos = golden.infos(called, (), "output")
    policies = tolerances.default(infos, (called,))
    if len(exported) == len(called):
        found = map(answers.compare, exported, called, policies)
        wrong = [(i.name, d) for i, d in zip(infos, found, strict=True) if not d.ok]
        if not wrong:
            return
        what = f"{wrong[0][0]} is off by {wrong[0][1].max_abs:.3g}"
    else:
        what = f"it has {len(exported)} outputs instead of {len(called)}"
    raise BmcError(
        "import-disagrees",
        f"{framework} exports a model that computes something else: {what}",
        hint="write the model without state, random numbers and conditions on how it is run",
    )


def kinds(mlir: Path) -> set[str]:
    """Returns which of "dequantized" values and products of "integers" and "floats" the model in `mlir` has.

    Products of integers are those of int8 or int16 tensors (TOSA, linalg).
    """
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir_util.read(mlir)
        return {kind for kind in map(_kind, ir_util.walk(module.operation)) if kind}


def is_quantized(kinds: set[str]) -> bool:
    """Whether a model of these kinds() has quantize ops (QDQ) or products of integers."""
    return bool(kinds & {"dequantized", "integers"})


def has_codes(graph: Any) -> bool:
    """Whether bytes among the inputs of an ONNX graph may be any quantized numbers."""
    kinds = {node.op_type for node in graph.node}
    return any(
        kind in ("DequantizeLinear", *_INTEGER_PRODUCTS) or kind.startswith("QLinear")
        for kind in kinds
    )


def is_mixed(kinds: set[str]) -> bool:
    """Whether a model of these kinds() itself multiplies integers in one place and floats in another."""
    return kinds == {"integers", "floats"}


def _kind(op: ir_util.Op) -> str:
    if op.name in _TOSA_PRODUCTS or (op.name.startswith("linalg.") and contraction.accumulator(op)):
        types = [op.operands[i].type.element_type for i in (0, 1)]
        if all(str(each) in ("i8", "i16") for each in types):
            return "integers"
        return "" if any(isinstance(each, ir.IntegerType) for each in types) else "floats"
    name = ir_util.string(op, "name") if op.name == "torch.operator" else op.name
    return "dequantized" if name in _DEQUANTIZE else ""


def has_float_products(model: Any) -> bool:
    """Whether a product of a ModelProto reads activations or weights that were not quantized at export."""
    from onnx import TensorProto

    for graph in (model.graph, *model.functions):
        makers = {name: node for node in graph.node for name in node.output}
        given = onnx_graph.constants(graph)
        for node in graph.node:
            if node.op_type.startswith("DynamicQuantize"):
                return True
            for name in filter(None, node.input[: PRODUCTS.get(node.op_type, 0)]):
                maker = makers.get(name)
                while maker is not None and maker.op_type in _MOVES:
                    name = maker.input[0]
                    maker = makers.get(name)
                if name in given:
                    is_float = given[name].data_type == TensorProto.FLOAT
                else:
                    is_float = maker is None or maker.op_type != "DequantizeLinear"
                if is_float:
                    return True
    return False
