"""Tells the user of what the framework computes in f64, which the firmware computes in f32.

IREE makes f64 f32 in a model without an f64 input or output (iree/phases.py). torch-mlir lowers PyTorch's and ONNX's
layer norms to a few operations in f64, so only their own graphs tell what the author wanted in f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iree.compiler import ir

from bmc.artifacts import GOLDEN_FRAMEWORK, ImportedModel
from bmc.frontends import torch_places
from bmc.frontends.onnx_graph import Graph, node_name
from bmc.ir import ir_util

if TYPE_CHECKING:
    from bmc.verify import OutputCheck

# Operations of each kind of graph that compute nothing: they carry, make or convert floats.
_MLIR = frozenset((
    "arith.constant", "arith.extf", "arith.truncf", "builtin.module", "linalg.fill", "linalg.generic", "linalg.yield",
    "ml_program.global", "stablehlo.broadcast_in_dim", "stablehlo.constant", "stablehlo.convert", "stablehlo.reshape",
    "stablehlo.return", "stablehlo.transpose", "util.global",
))  # fmt: skip
_MLIR_DIALECTS = ("func", "tensor")
_TORCH = frozenset((
    "_to_copy", "alias", "clone", "convert_element_type", "detach", "expand", "full", "permute", "scalar_tensor",
    "unsqueeze", "view",
))  # fmt: skip
_ONNX = frozenset((
    "Cast", "Constant", "ConstantOfShape", "Expand", "Identity", "Reshape", "Shape", "Transpose", "Unsqueeze",
))  # fmt: skip
_ONNX_DOUBLE = 11


def of_mlir(mlir: Path) -> str:
    """Returns the first operation of a module that computes in f64, and where it is; "" if there is none."""
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for op in ir_util.walk(ir_util.read(mlir).operation):
            if op.name in _MLIR or op.name.partition(".")[0] in _MLIR_DIALECTS:
                continue
            types = [ir_util.element_type(value.type) for value in (*op.operands, *op.results)]
            if any(isinstance(type_, ir.F64Type) for type_ in types):
                return _at(op.name, ir_util.place([op]))
    return ""


def of_torch(program: Any) -> str:
    """The same for a program of torch.export."""
    import torch

    def dtype(node: Any) -> Any:
        return getattr(node.meta.get("val"), "dtype", None)

    def is_double(node: Any) -> bool:
        return dtype(node) is torch.float64

    for node in program.graph.nodes:
        if node.op != "call_function" or torch_places.op_name(node.target) in _TORCH:
            continue
        # Truth values come of a comparison in f64 if all that is compared is f64: beside f32, PyTorch takes that.
        compared = node.all_input_nodes if dtype(node) is torch.bool else []
        if is_double(node) or (compared and all(map(is_double, compared))):
            return _at(
                str(node.target), torch_places.line_of_trace(node.meta.get("stack_trace", ""))
            )
    return ""


def of_onnx(model: Any) -> str:
    """The same for an ONNX model whose types are known."""
    graph = Graph(model.graph)
    for node in model.graph.node:
        values = (*node.input, *node.output)
        if node.op_type not in _ONNX and _ONNX_DOUBLE in map(graph.element, values):
            return _at(node.op_type, node_name(node))
    return ""


def noted(model: ImportedModel, checks: Sequence[OutputCheck]) -> ImportedModel:
    """Returns the model with a note about f64, if f64 becomes f32; it has the largest difference of user's cases."""
    if not model.computes_f64_as_f32:
        return model
    note = f"{model.in_f64} computes in f64, but the firmware in f32"
    compared = [check for check in checks if not check.kind]
    # Without a framework, both sides compute in f32.
    if compared and model.golden.source == GOLDEN_FRAMEWORK:
        worst = max(compared, key=lambda check: check.difference.max_abs)
        note += (
            f": output {worst.output} is off by {worst.difference.max_abs:.3g} in case {worst.case}"
        )
    note += ". A model with an f64 input or output is all computed as it is written"
    return replace(model, notes=(*model.notes, note))


def _at(op: str, place: str) -> str:
    return f"{op} (at {place})" if place else op
