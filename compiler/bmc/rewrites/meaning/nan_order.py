"""Gives NaN its place in sorts, and where a model asks which number is the largest or the smallest.

For PyTorch NaN is larger than all numbers in a sort, and both the largest and the smallest number in `max`, `min`,
`argmax` and `argmin`. torch-mlir compares numbers, and a comparison with NaN is false.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import arith, build, ir_util, names, stablehlo


def apply(module: Any, _: object = None) -> None:
    """Rewrites such comparisons, unless the model itself looks for NaN beside them."""
    for op in list(ir_util.walk(module.operation)):
        if op.name == "iree_linalg_ext.sort":
            _sort(op)
        elif op.name == "stablehlo.sort":
            _ordered(op)
        elif op.name == "stablehlo.reduce" and len(op.results) > 1:
            _reduction(op)
        elif op.name == names.GENERIC and len(op.results) > 1:
            _structured(op)


def _sort(sort: ir_util.Op) -> None:
    """NaN goes to the end of an ascending sort, and to the front of a descending one."""
    for op in ir_util.all_of(sort, "arith.cmpf"):
        first, second = op.operands
        kind = arith.predicate(op)
        if kind in (arith.OGE, arith.OLE):
            with ir.InsertionPoint(op), op.location:
                is_nan = arith.compared(arith.UNO, *[first if kind == arith.OGE else second] * 2)
            arith.join(op, "arith.ori", is_nan)


def _ordered(sort: ir_util.Op) -> None:
    """The same for a sort of StableHLO, unless it compares in total order."""
    found = ir_util.all_of(sort, "stablehlo.compare")
    if any(_direction(op) == "NE" for op in found):
        return
    for op in found:
        first, second = op.operands
        kind = str(op.attributes["compare_type"]) if "compare_type" in op.attributes else ""
        if not isinstance(first.type.element_type, ir.FloatType) or "TOTAL" in kind:
            continue
        direction = _direction(op)
        if direction not in ("GE", "GT", "LE", "LT"):
            continue
        front, back = (first, second) if direction[0] == "G" else (second, first)
        with ir.InsertionPoint(op), op.location:
            is_nan = stablehlo.compared("NE", front, front)
            if direction[1] == "T":
                both = [is_nan, stablehlo.compared("EQ", back, back)]
                is_nan = build.same("stablehlo.and", *both)
        arith.join(op, "stablehlo.or", is_nan)


def _structured(generic: ir_util.Op) -> None:
    """The first NaN beats all numbers, and nothing beats it."""
    held = list(generic.regions[0].blocks[0].arguments)[-len(generic.results) :]
    for op in ir_util.all_of(generic, "arith.cmpf"):
        kind = arith.predicate(op)
        if kind in (arith.OGT, arith.OLT) and op.operands[1] in held:
            op.attributes["predicate"] = arith.predicate_attribute(
                arith.UGT if kind == arith.OGT else arith.ULT
            )
            with ir.InsertionPoint(op), op.location:
                is_number = arith.compared(arith.ORD, op.operands[1], op.operands[1])
            arith.join(op, "arith.andi", is_number)


def _reduction(reduce: ir_util.Op) -> None:
    """NaN beats all numbers, and counts as equal to another, so that the first one is chosen."""
    found: dict[str, Any] = {}
    for op in ir_util.all_of(reduce, "stablehlo.compare"):
        found.setdefault(_direction(op), op)
    if not found or not found.keys() <= {"EQ", "GE", "LE"}:
        return
    first, second = next(iter(found.values())).operands
    if not isinstance(first.type.element_type, ir.FloatType):
        return
    for direction, op in found.items():
        with ir.InsertionPoint(op), op.location:
            is_nan = stablehlo.compared("NE", first, first)
            if direction == "EQ":
                both = [is_nan, stablehlo.compared("NE", second, second)]
                is_nan = build.same("stablehlo.and", *both)
        arith.join(op, "stablehlo.or", is_nan)


def _direction(op: ir_util.Op) -> str:
    return str(op.attributes["comparison_direction"]).split()[-1].rstrip(">")
