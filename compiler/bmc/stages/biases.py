"""Stage: the bias of a grouped convolution is added after it.

IREE makes a product of dequantised values one of integers if it starts from zeros. It takes the bias
out of an ordinary convolution by itself, but not where the bias has been reshaped into groups.
"""

from __future__ import annotations

from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from bmc.stages import ir_util


def detach(path: Path) -> None:
    """Rewrites the import in `path`, in place."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(path)
        found = [op for op in ir_util.walk(module.operation) if _starts_from_reshaped(op)]
        for convolution in found:
            _detach(convolution)
        if found:
            ir_util.write(module, path)


def _starts_from_reshaped(op: ir_util.Op) -> bool:
    if not op.name.startswith("linalg.conv_"):
        return False
    owner = op.operands[2].owner
    return not isinstance(owner, ir.Block) and owner.name == "tensor.expand_shape"


def _detach(convolution: ir_util.Op) -> None:
    bias, result = convolution.operands[2], convolution.results[0]
    element = result.type.element_type
    with ir.InsertionPoint(convolution), convolution.location:
        empty = tensor.empty(result.type.shape, element)
        zeros = linalg.fill(arith.constant(element, 0.0), outs=[empty])
    convolution.operands[2] = zeros
    with ir.InsertionPoint.after(convolution), convolution.location:
        total = arith.addf(result, bias)
    result.replace_all_uses_except(total, total.owner.operation)
