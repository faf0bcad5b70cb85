"""What is joined or padded and then quantized is quantized before.

The kernels that compute the parts then store bytes, where they would store floats for one that quantizes the whole.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import build, ir_util, names, pad
from bmc.rewrites.quantization import quantizations

_MOVES = {names.CONCAT, names.PAD}


def apply(module: Any, _: object) -> None:
    """Rewrites what only quantizations read, all with the same scale and zero point."""
    # What is moved may have been moved before.
    for op in reversed([op for op in ir_util.walk(module.operation) if op.name in _MOVES]):
        readers = [reader for reader, _ in ir_util.uses(op.results[0])]
        if readers and all(map(quantizations.is_uniform, readers)):
            first, *others = readers
            if all(quantizations.are_alike(first, other) for other in others):
                _rewrite(op, readers)


def _rewrite(op: ir_util.Op, readers: list[ir_util.Op]) -> None:
    quantization = readers[0]
    with ir.InsertionPoint(op), op.location:
        if op.name == names.CONCAT:
            parts = [quantizations.of(quantization, part) for part in op.operands]
            moved = build.again(op, [quantization.results[0].type], parts).result
        else:
            number = _around(op)
            if number is None:
                return
            byte = quantizations.integer(quantization, number)
            edge = build.number(byte, ir.IntegerType.get_signless(8))
            low, high = (
                list(ir.DenseI64ArrayAttr(op.attributes[f"static_{s}"])) for s in ("low", "high")
            )
            moved = pad.padded(quantizations.of(quantization, op.operands[0]), low, high, edge)
    for reader in readers:
        reader.results[0].replace_all_uses_with(moved)
        reader.erase()
    op.erase()


def _around(op: ir_util.Op) -> float | None:
    """Returns the number that a tensor is padded with, if it is constant, and so is how far it is padded."""
    last = list(op.regions[0].blocks[0].operations)[-1].operation
    return ir_util.float_constant(last.operands[0]) if len(op.operands) == 1 else None
