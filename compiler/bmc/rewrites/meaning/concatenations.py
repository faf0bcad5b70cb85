"""Joins tensors in the order in which loops compute them, because IREE moves loops in front of what they read.

IREE writes a tensor that is joined to others into its place as soon as it is computed. The place then holds those that
stand before it, so that these must be computed first. If a loop computes one of them, IREE moves it there, but not what
the body of the loop reads (docs/upstream/iree-loop-before-operand.md). So what needs no loop goes to its place first.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, names

_LOOPS = ("scf.", "stablehlo.while", "stablehlo.case", "stablehlo.if")


def apply(module: Any, _: object = None) -> None:
    """Rewrites concatenations of static shape in which a tensor stands behind one that needs a later loop."""
    needed: dict[Any, dict[ir_util.Op, int]] = {}
    for op in ir_util.all_of(module, names.CONCAT):
        if op.block not in needed:
            needed[op.block] = _loops_of(op.block)
        last = [needed[op.block].get(ir_util.definition(value), -1) for value in op.operands]
        types = [value.type for value in (*op.operands, *op.results)]
        if last != sorted(last) and all(each.has_static_shape for each in types):
            _insert(op, sorted(range(len(last)), key=last.__getitem__))


def _loops_of(block: ir.Block) -> dict[ir_util.Op, int]:
    """Returns the place of the last loop or branch that each operation needs, for those that need one."""
    last: dict[ir_util.Op, int] = {}
    for place, each in enumerate(block.operations):
        op = each.operation
        if op.name.startswith(_LOOPS):
            last[op] = place
            continue
        read = [value for part in (op, *ir_util.walk(op)) for value in part.operands]
        places = [last[maker] for maker in map(ir_util.definition, read) if maker in last]
        if places:
            last[op] = max(places)
    return last


def _insert(op: ir_util.Op, order: list[int]) -> None:
    """Replaces a concatenation by insertions in this order."""
    kind, axis = op.results[0].type, ir.IntegerAttr(op.attributes["dim"]).value
    sizes = [list(value.type.shape) for value in op.operands]
    with ir.InsertionPoint(op), op.location:
        joined = build.op(names.EMPTY, kind)
        for number in order:
            offsets = [0] * len(kind.shape)
            offsets[axis] = sum(size[axis] for size in sizes[:number])
            joined = build.op(
                names.INSERT_SLICE,
                kind,
                op.operands[number],
                joined,
                static_offsets=ir.DenseI64ArrayAttr.get(offsets),
                static_sizes=ir.DenseI64ArrayAttr.get(sizes[number]),
                static_strides=ir.DenseI64ArrayAttr.get([1] * len(offsets)),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0]),
            )
    op.results[0].replace_all_uses_with(joined)
    op.erase()
