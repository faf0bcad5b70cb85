"""Tells kernels no more about the places of their bindings than is so.

IREE states the alignment of each binding from the place that it has chosen itself. The plan chooses other places. And
IREE states its own alignment also for a part of a tensor that begins where the host program computes, as a row that a
loop stores, whatever the size of a row.
"""

from __future__ import annotations

import collections
import math
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names
from bmc.rewrites.context import Context

# The same as host.program.ALIGNMENT, which a test compares.
ALIGNMENT = 64

_DISPATCH = "stream.cmd.dispatch"
_CASTS = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci")
_SUMS = ("arith.addi", "arith.subi")
_CHOICES = ("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui")


def apply(module: Any, _: Context) -> None:
    """Limits the alignment of all bindings to the plan's, and to the places where dispatches bind them."""
    places = _places(module)
    for function in ir_util.all_of(module, names.KERNEL_FUNCTION):
        name = ir_util.string(function, "sym_name")
        for op in ir_util.walk(function):
            if op.name == names.SUBSPAN:
                number = int(ir.IntegerAttr(op.attributes["binding"]).value)
                limit = _power_of_two(math.gcd(places.get((name, number), 0), ALIGNMENT))
                _limit(op, limit)
                for use, _number in ir_util.uses(op.results[0]):
                    if use.name == names.ASSUME_ALIGNMENT:
                        _limit(use, limit)


def _limit(op: ir_util.Op, limit: int) -> None:
    if "alignment" in op.attributes:
        stated = ir.IntegerAttr(op.attributes["alignment"])
        if stated.value > limit:
            op.attributes["alignment"] = ir.IntegerAttr.get(stated.type, limit)


def _places(module: Any) -> dict[tuple[str, int], int]:
    """Of each binding of a dispatch function, a number that divides all offsets at which it begins; 0 if all are 0."""
    found: dict[tuple[str, int], int] = collections.defaultdict(int)
    for op in ir_util.all_of(module, _DISPATCH):
        # Workload, numbers, resources, their sizes, offsets and lengths.
        sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        first, count = sum(sizes[:2]), sizes[2]
        resources = list(op.operands)[first : first + count]
        offsets = list(op.operands)[first + 2 * count : first + 3 * count]
        for entry in ir.ArrayAttr(op.attributes["entry_points"]):
            name = ir.SymbolRefAttr(entry).value[-1]
            for number, (resource, offset) in enumerate(zip(resources, offsets, strict=True)):
                place = math.gcd(_divisor(offset), _start(resource))
                found[name, number] = math.gcd(found[name, number], place)
    return found


def _start(resource: ir_util.Value) -> int:
    """A number that divides the offset of a resource in what it is a part of, which the plan aligns."""
    maker = ir_util.definition(resource)
    if maker is None:
        block = resource.owner
        region = block.owner
        if region.name != "stream.cmd.execute":
            return 0
        # What it captures follows the time points that it waits for.
        captured = list(region.operands)
        sizes = list(ir.DenseI32ArrayAttr(region.attributes["operandSegmentSizes"]))
        number = list(block.arguments).index(resource)
        return _start(captured[sizes[0] + number])
    if maker.name == "stream.resource.subview":
        return math.gcd(_divisor(maker.operands[2]), _start(maker.operands[0]))
    return 0


def _divisor(number: ir_util.Value) -> int:
    """The largest number that is known to divide an integer; 0 for 0."""
    maker = ir_util.definition(number)
    if maker is None:
        return 1
    if maker.name == "arith.constant":
        return abs(int(ir.IntegerAttr(maker.attributes["value"]).value))
    if maker.name in _CASTS:
        return _divisor(maker.operands[0])
    if maker.name == "arith.muli":
        return math.prod(map(_divisor, maker.operands))
    if maker.name in _SUMS + _CHOICES:
        return math.gcd(*map(_divisor, maker.operands))
    if maker.name == "arith.select":
        return math.gcd(*map(_divisor, list(maker.operands)[1:]))
    return 1


def _power_of_two(number: int) -> int:
    return number & -number
