"""What is joined and then quantized is quantized before it is joined.

The kernels that compute the parts then store bytes, where they would store floats for one that quantizes the whole.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.rewrites import quantizations


def apply(module: Any, _: object) -> None:
    """Rewrites concatenations that only quantizations read, all with the same scale and zero point."""
    # A part may be a concatenation as well.
    for op in reversed(ir_util.all_of(module, "tensor.concat")):
        readers = [reader for reader, _ in ir_util.uses(op.results[0])]
        if readers and all(map(quantizations.is_uniform, readers)):
            first, *others = readers
            if all(quantizations.are_alike(first, other) for other in others):
                _rewrite(op, readers)


def _rewrite(op: ir_util.Op, readers: list[ir_util.Op]) -> None:
    with ir.InsertionPoint(op), op.location:
        parts = [quantizations.of(readers[0], part) for part in op.operands]
        joined = ir.Operation.create(
            op.name, [readers[0].results[0].type], parts, {"dim": op.attributes["dim"]}
        )
    for reader in readers:
        reader.results[0].replace_all_uses_with(joined.result)
        reader.erase()
    op.erase()
