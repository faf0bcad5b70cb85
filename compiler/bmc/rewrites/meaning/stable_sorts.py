"""Makes sorts keep the order of equal elements, as frameworks do.

IREE goes through neighbors, and lets two of them change places unless the model's comparison says that the first one
comes before the second. It says so of none of two equal ones, so they change places too. Here they do if the second one
comes before the first. JAX's top_k is such a sort; IREE's own one takes no notice of NaN, and not of the first of equal
integers. IREE sorts in place, also what something else still reads, so a sort gets copies here. They also keep IREE
from making its top_k of a sort whose slices are read, for which it looks for an iota among the operands.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, stablehlo

_TOP_K = "chlo.top_k"


def apply(module: Any, _: object = None) -> None:
    """Rewrites the comparisons of sorts that are false for equal elements, and lets top_k sort."""
    for op in ir_util.all_of(module, "stablehlo.composite"):
        if ir_util.string(op, "name") == _TOP_K:
            _call(op)
    numbers = itertools.count()
    for op in ir_util.all_of(module, "stablehlo.sort"):
        if _is_strict(op):
            _reverse(op.regions[0].blocks[0])
        _copy_operands(op, numbers)


def _call(op: ir_util.Op) -> None:
    """Calls the function that says what a composite operation does."""
    with ir.InsertionPoint(op), op.location:
        types = [result.type for result in op.results]
        callee = {"callee": op.attributes["decomposition"]}
        made = ir.Operation.create("func.call", types, list(op.operands), attributes=callee)
    for old, new in zip(op.results, made.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()


def _copy_operands(sort: ir_util.Op, numbers: Iterator[int]) -> None:
    """Gives a sort copies that nothing else reads: IREE also merges operands that are computed twice alike."""
    for place, value in enumerate(sort.operands):
        with ir.InsertionPoint(sort), sort.location:
            sort.operands[place] = stablehlo.copied(value, next(numbers))


def _is_strict(sort: ir_util.Op) -> bool:
    """Whether no part of a comparison says that equal elements are in order."""
    tests = ir_util.all_of(sort, "stablehlo.compare")
    directions = [str(test.attributes["comparison_direction"]) for test in tests]
    return not any(" LE" in direction or " GE" in direction for direction in directions)


def _reverse(block: Any) -> None:
    arguments = list(block.arguments)
    for first, second in zip(arguments[::2], arguments[1::2], strict=True):
        _swap(block, first, second)
    last = block.operations[len(block.operations) - 1]
    with ir.InsertionPoint(last), last.location:
        before = last.operands[0]
        last.operands[0] = build.same("stablehlo.not", before)


def _swap(block: Any, first: Any, second: Any) -> None:
    """Makes what reads one argument of a block read the other."""
    with ir.InsertionPoint.at_block_begin(block), ir.Location.unknown():
        held = build.op("builtin.unrealized_conversion_cast", first.type, second)
    first.replace_all_uses_with(held)
    second.replace_all_uses_with(first)
    held.replace_all_uses_with(second)
    held.owner.erase()
