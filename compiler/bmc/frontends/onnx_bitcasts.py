"""Lowers BitCast, which IREE's importer does not know, in what it makes of an ONNX file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from bmc.frontends.onnx_graph import Graph, attributes

_OP = '"onnx.BitCast"'
_TENSOR = re.compile(r"!torch\.vtensor<\[([0-9,]*)\],[su]?(\w+)>")


def rewrite(graph: Graph, node: Any) -> bool:
    """Casts from and to bool, whose bytes are 0 and 1, and makes tensors of single numbers; returns whether it did."""
    from onnx import TensorProto

    if node.op_type != "BitCast":
        return False
    to, value = attributes(node)["to"], node.input[0]
    if TensorProto.BOOL in (to, graph.element(value)):
        made = graph.add("Cast", [value], node, to=to)
    elif graph.shape(value) == ():
        # IREE cannot compile a bitcast of one number.
        row = graph.add("Expand", [value, np.array([2])], node)
        made = graph.bits(row, to, node, [2])
        made = graph.add("Gather", [made, np.array(0)], node)
    else:
        return False
    graph.rename(made, node.output[0])
    return True


def lower(module: Any) -> None:
    """Makes tensor.bitcast of each, in a module of torch.operator; of unknown shapes, they stay.

    Fewer bits than there were, which the standard does not allow, are the low ones of an integer.
    """
    from iree.compiler import ir

    from bmc.ir import ir_util

    for op in ir_util.all_of(module, "torch.operator"):
        if str(op.attributes["name"]) != _OP:
            continue
        given, made = (_builtin(each.type) for each in (op.operands[0], op.results[0]))
        if not given or not made:
            continue
        with op.location, ir.InsertionPoint(op):
            value = op.operands[0]
            bits = [ir.ShapedType(ir.Type.parse(each)).element_type.width for each in (given, made)]
            for name, kind in (
                ("torch_c.to_builtin_tensor", ir.Type.parse(given)),
                ("arith.trunci" if bits[1] < bits[0] else "tensor.bitcast", ir.Type.parse(made)),
                ("torch_c.from_builtin_tensor", op.results[0].type),
            ):
                value = ir.Operation.create(name, results=[kind], operands=[value]).result
        op.results[0].replace_all_uses_with(value)
        op.erase()


def _builtin(kind: Any) -> str:
    """Returns the tensor that a tensor of torch is, "" if its shape is not known."""
    found = _TENSOR.fullmatch(str(kind))
    if not found:
        return ""
    dims = "".join(f"{dim}x" for dim in found[1].split(",") if dim)
    return f"tensor<{dims}{found[2]}>"
