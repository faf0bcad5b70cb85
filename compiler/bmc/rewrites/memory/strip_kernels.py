"""Lets kernels of strips read and write rows in place, where these have gaps between them, as in planes.

IREE would copy such rows into a tensor of their own. Here a kernel is formed of what computes new rows and of what puts
them into the buffer with the rows that are kept.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names, permute
from bmc.rewrites.context import Context
from bmc.rewrites.layout import images

_GROUPED = (
    names.GENERIC,
    names.PAD,
    names.BROADCAST,
    names.EMPTY,
    names.FILL,
    names.EXTRACT_SLICE,
    *names.RESHAPES,
)


def apply(module: Any, _: Context) -> None:
    """Forms the kernels."""
    for op in ir_util.all_of(module, names.BARRIER):
        if not images.is_strip(op):
            continue
        rows = ir_util.defined_by(op.operands[0], names.EXTRACT_SLICE)
        if rows is not None and _has_gaps(rows.operands[0].type, rows.results[0].type):
            op.results[0].replace_all_uses_with(rows.results[0])
            op.erase()
            continue
        join = ir_util.defined_by(op.operands[0], names.INSERT_SLICE)
        if join is not None and _has_gaps(join.results[0].type, join.operands[0].type):
            _reuse(join)
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = _kernel(join)
            ir_util.erase_unread([join])


def _has_gaps(whole: Any, rows: Any) -> bool:
    """Whether some rows of an image are in several places, because rows are not along its first axis."""
    return bool(whole.shape[0] == rows.shape[0] and whole.shape[1:] != rows.shape[1:])


def _reuse(join: ir_util.Op) -> None:
    """Keeps rows in the buffer where they are, if the next strip's has the same size."""
    keeps = ir_util.defined_by(join.operands[1], names.INSERT_SLICE)
    if keeps is None:
        return
    rows = ir_util.defined_by(keeps.operands[0], names.EXTRACT_SLICE)
    if rows is not None and rows.operands[0].type == keeps.results[0].type:
        keeps.operands[1] = rows.operands[0]


def _kernel(join: ir_util.Op) -> Any:
    """Returns what a new kernel computes: the rows that `join` inserts, in the buffer that it inserts them into."""
    join.operands[1] = permute.apart(join.operands[1])
    region = ir.Operation.create(
        "flow.dispatch.region",
        [join.results[0].type],
        [],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0])},
        regions=2,
    )
    inside: dict[Any, Any] = {}
    group = _group(join)
    with ir.InsertionPoint(region.regions[0].blocks.append()):
        for op in (*group, join):
            new = op.clone()
            for place, operand in enumerate(op.operands):
                new.operands[place] = inside.get(operand, operand)
            inside[op.results[0]] = new.results[0]
        ir.Operation.create("flow.return", [], [inside[join.results[0]]])
    return region.results[0]


def _group(join: ir_util.Op) -> list[ir_util.Op]:
    """Returns what computes the rows that are inserted, in program order: one sum, and what is around it."""
    sums: dict[Any, ir_util.Op | None] = {}
    root = _sum_behind(join.operands[0], sums)
    found: list[ir_util.Op] = []

    def visit(value: Any, below: bool) -> None:
        maker = ir_util.defined_by(value, *_GROUPED)
        if maker is None or maker in found:
            return
        if maker.name == names.GENERIC and not images.is_marked(maker):
            behind = _sum_behind(value, sums)
            if below or (behind is not None and (root is None or behind != root)):
                return
        is_root = root is not None and maker == root
        for operand in maker.operands:
            visit(operand, below or is_root)
        found.append(maker)

    visit(join.operands[0], False)
    return found


def _sum_behind(value: Any, known: dict[Any, ir_util.Op | None]) -> ir_util.Op | None:
    """Returns the last sum that an image is computed from, with nothing apart from it in between."""
    if value not in known:
        maker = ir_util.defined_by(value, names.GENERIC, *names.RESHAPES)
        is_end = maker is None or (maker.name == names.GENERIC and ir_util.reduces(maker))
        found = [maker] if is_end else []
        for operand in maker.operands if maker is not None and not found else ():
            found.append(_sum_behind(operand, known))
        known[value] = next((each for each in reversed(found) if each is not None), None)
    return known[value]
