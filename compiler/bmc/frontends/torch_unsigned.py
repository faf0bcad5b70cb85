"""Unsigned bytes in StableHLO.

As constants of them, torch-mlir also stores buffers of booleans such as causal masks. IREE stores bytes without a sign.
It converts the type of such a constant but not that of a resource with its elements, and then rejects what it made
(docs/upstream/iree-unsigned-resources.md). torch-mlir says of comparisons of unsigned bytes that they are signed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bmc.ir import constant_arrays


def hold(ops: Iterable[Any]) -> None:
    """Takes the elements of such constants out of the module's resources, and compares bytes as what they are."""
    for op in ops:
        if op.name == "stablehlo.constant":
            _hold(op)
        if op.name == "stablehlo.compare" and _is_unsigned(op.operands[0].type):
            op.attributes["compare_type"] = _unsigned(op.context)


def _is_unsigned(kind: Any) -> bool:
    from torch_mlir import ir

    return str(ir.RankedTensorType(kind).element_type) == "ui8"


def _unsigned(context: Any) -> Any:
    from torch_mlir import ir

    return ir.Attribute.parse("#stablehlo<comparison_type UNSIGNED>", context)


def _hold(constant: Any) -> None:
    from torch_mlir import ir

    value, kind = constant.attributes["value"], ir.RankedTensorType(constant.results[0].type)
    if not _is_unsigned(kind) or not str(value).startswith("dense_resource<"):
        return
    with constant.context, ir.Location.unknown():
        # The bindings cannot read a resource, but a module prints those it uses.
        holder = ir.Module.create()
        holder.operation.attributes["value"] = value
        elements = np.frombuffer(constant_arrays.resource(str(holder)), np.uint8).reshape(
            kind.shape
        )
        constant.attributes["value"] = ir.DenseElementsAttr.get(elements, signless=False)
