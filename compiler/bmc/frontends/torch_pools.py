"""Makes a max pool find the places of -inf and NaN as PyTorch does.

PyTorch takes the first of the largest elements of a window, without its padding, and the last NaN. torch-mlir has two
ways. In StableHLO, it begins with -inf at place 0, and NaN is no number that it finds. In linalg, it looks for the
first element of the padded window that equals the largest, which NaN does not.

Where a pool has one window along a dimension, elements behind it are cut off: IREE would take the window for as large
as the operand, and reject it (docs/upstream/iree-one-window.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.ir import arith, build, contraction, ir_util, names, stablehlo

# The place that is none.
_NONE = -1
_BODY = ["compare", "select", "compare", "minimum", "select", "select", "return"]


def apply(path: Path) -> None:
    """Changes such searches in a file of MLIR."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(path)
        before = str(module)
        for op in ir_util.all_of(module, names.GENERIC):
            inner = list(op.regions[0].blocks[0].operations)
            found = [each.operation for each in inner if each.operation.name == names.EXTRACT]
            if len(found) == 1 and len(op.results) == 1:
                _search(op, found[0])
        for op in list(ir_util.walk(module.operation)):
            is_loops = op.name.startswith("linalg.") and len(op.regions)
            if is_loops and contraction.reads_windows(op):
                _cut(op)
        for op in ir_util.all_of(module, "stablehlo.reduce_window"):
            if [each.operation.name.partition(".")[2] for each in op.regions[0].blocks[0]] == _BODY:
                _reduction(op)
        if str(module) != before:
            ir_util.write(module, path)


def _cut(op: ir_util.Op) -> None:
    image, counts = op.operands[0], contraction.extents(op)
    sizes, read = list(image.type.shape), []
    for size, index in zip(sizes, linalg.get_indexing_maps(op)[0].value.results, strict=True):
        factors = contraction.terms(index) or {}
        last = sum(factor * (counts[loop] - 1) for loop, factor in factors.items())
        is_one = len(factors) == 2 and 1 in (counts[loop] for loop in factors)
        read.append(last + 1 if is_one else size)
    if read != sizes:
        with ir.InsertionPoint(op), op.location:
            op.operands[0] = build.sliced(image, [0] * len(read), read, [1] * len(read))


def _reduction(window: ir_util.Op) -> None:
    """The operations of the body are those of _BODY."""
    first, place, second, other = window.regions[0].blocks[0].arguments
    above, *_, chosen, end = (op.operation for op in window.regions[0].blocks[0])
    if not isinstance(ir_util.element_type(first.type), ir.FloatType):
        return
    # Behind all places, of which the least one counts.
    with ir.InsertionPoint(window), window.location:
        start = window.operands[3].type
        window.operands[3] = build.number(2**63 - 1, start)
    with ir.InsertionPoint(above), above.location:
        is_nan = stablehlo.compared("NE", first, first)
    arith.join(above, "stablehlo.or", is_nan)
    with ir.InsertionPoint(end), end.location:
        both = build.same("stablehlo.and", is_nan, stablehlo.compared("NE", second, second))
        later = build.same("stablehlo.maximum", place, other)
        chosen = chosen.results[0]
        end.operands[1] = build.op("stablehlo.select", chosen.type, both, later, chosen)


def _search(generic: ir_util.Op, extract: ir_util.Op) -> None:
    element, kept = extract.results[0], list(generic.regions[0].blocks[0].arguments)[-1]
    equal = [op for op, _ in ir_util.uses(element) if _compares(op, "arith.cmpf", arith.OEQ)]
    unset = [
        op
        for op, _ in ir_util.uses(kept)
        if _compares(op, "arith.cmpi", arith.I_EQ) and ir_util.constant(op.operands[1]) == _NONE
    ]
    if len(equal) != 1 or len(unset) != 1:
        return
    # All of it is computed before the first of the two comparisons.
    with ir.InsertionPoint(equal[0]), equal[0].location:
        is_nan = arith.compared(arith.UNE, element, element)
        within = _within(extract)
    arith.join(equal[0], "arith.ori", is_nan)
    if within is not None:
        (reader,) = (op for op, _ in ir_util.uses(equal[0].results[0]))
        arith.join(reader, "arith.andi", within)
    arith.join(unset[0], "arith.ori", is_nan)


def _compares(op: ir_util.Op, name: str, predicate: int) -> bool:
    return bool(op.name == name and arith.predicate(op) == predicate)


def _within(extract: ir_util.Op) -> Any:
    """Whether an element is none of the padding, None if there is none."""
    tensor, *places = extract.operands
    pad = ir_util.definition(tensor)
    if pad is None or pad.name != names.PAD:
        return None
    low = list(ir.DenseI64ArrayAttr(pad.attributes["static_low"]))
    sizes, padded = list(pad.operands[0].type.shape), list(tensor.type.shape)
    within = None
    for place, before, size, all_ in zip(places, low, sizes, padded, strict=True):
        if size == all_:
            continue
        place = build.same("arith.subi", place, _index(before))
        truth = arith.compared(arith.I_ULT, place, _index(size))
        within = truth if within is None else build.same("arith.andi", within, truth)
    return within


def _index(number: int) -> Any:
    return build.number(number, ir.IndexType.get())
