"""Makes products of truth values true or false: IREE counts the products that are true, and a byte of 2 is neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, stablehlo


def apply(path: Path) -> None:
    """Changes such products in a file of StableHLO."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(path)
        found = [op for op in ir_util.all_of(module, "stablehlo.dot_general") if _is_one(op)]
        for op in found:
            _count(op)
        if found:
            ir_util.write(module, path)


def _is_one(op: ir_util.Op) -> bool:
    element = op.results[0].type.element_type
    return isinstance(element, ir.IntegerType) and element.width == 1


def _count(op: ir_util.Op) -> None:
    """Counts with integers, and compares with none."""
    integer = ir.IntegerType.get_signless(32)

    def wide(kind: Any) -> Any:
        return ir.RankedTensorType.get(kind.shape, integer)

    with ir.InsertionPoint(op), op.location:
        for number, value in enumerate(op.operands):
            op.operands[number] = stablehlo.operation("stablehlo.convert", wide(value.type), value)
    result, truths = op.results[0], op.results[0].type
    result.set_type(wide(truths))
    with ir.InsertionPoint.after(op), op.location:
        compared = stablehlo.operation(
            "stablehlo.compare",
            truths,
            result,
            stablehlo.zeros(result.type),
            comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction NE>"),
        )
    result.replace_all_uses_except(compared, compared.owner.operation)
