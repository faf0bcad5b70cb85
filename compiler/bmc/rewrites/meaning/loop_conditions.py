"""Moves the test of a loop behind its body, because IREE mixes up what such a loop carries.

torch-mlir's loops carry their test as an i1, which their bodies do not get. IREE converts the arguments of a body as if
they were those of the test, and fails (docs/upstream/iree-while-arguments.md). With the test at the end, both get the
same:

    while (i1, x) { condition(i1) x } do (x) { ... yield i1, y }
    if i1 { while (x) { ... condition(i1) y } do (y) { yield y } } else { x }
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util


def apply(module: Any, _: object = None) -> None:
    """Rewrites the loops whose test is all that is computed before the body, and was computed before."""
    for op in ir_util.all_of(module, "scf.while"):
        (before,), (after,) = (region.blocks for region in op.regions)
        (*others, last) = before.operations
        types = [argument.type for argument in after.arguments]
        if not others and [operand.type for operand in op.operands] != types:
            _rotate(op, before, after, list(last.operands))


def _rotate(op: ir_util.Op, before: ir.Block, after: ir.Block, given: list[ir_util.Value]) -> None:
    """Rewrites the loop `op`, whose test hands on `given`: the i1, then what the body gets."""
    arguments = list(before.arguments)

    def of(values: Any) -> list[ir_util.Value]:
        """What the test would hand on if it got these values."""
        return [values[arguments.index(value)] if value in arguments else value for value in given]

    go, *first = of(list(op.operands))
    types = [value.type for value in first]
    with ir.InsertionPoint(op), op.location:
        choice = ir.Operation.create("scf.if", types, [go], regions=2)
        blocks = [ir.Block.create_at_start(region, []) for region in choice.regions]
        with ir.InsertionPoint(blocks[0]):
            loop = ir.Operation.create("scf.while", types, first, regions=2)
            ir.Operation.create("scf.yield", [], loop.results)
        with ir.InsertionPoint(blocks[1]):
            ir.Operation.create("scf.yield", [], first)
        body, end = (ir.Block.create_at_start(region, types) for region in loop.regions)
        with ir.InsertionPoint(end):
            ir.Operation.create("scf.yield", [], end.arguments)
    for old, new in zip(after.arguments, body.arguments, strict=True):
        old.replace_all_uses_with(new)
    *steps, last = after.operations
    for step in steps:
        body.append(step)
    with ir.InsertionPoint(body), last.location:
        ir.Operation.create("scf.condition", [], of(list(last.operands)))
    for old, new in zip(op.results, choice.results, strict=True):
        old.replace_all_uses_with(new)
    op.erase()
