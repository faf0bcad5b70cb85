"""Keeps paddings apart from kernels that do not read through them.

A convolution with a kernel of bmc's own needs no padded copy of its image: IREE puts the padding into the same
dispatch, and the kernel knows which pixels are not there (bmc/kernels/padding). IREE would do that with
everything that reads a padded image, and its own kernels are slow then.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import contraction, ir_util, names, permute
from bmc.rewrites.context import Context


def apply(module: Any, context: Context) -> None:
    """Puts a barrier behind every padding that is copied, and before one of an image in another shape."""
    for op in ir_util.all_of(module, names.PAD):
        if not all(value.type.has_static_shape for value in (op.operands[0], op.results[0])):
            # A barrier takes the sizes too; no kernel of bmc's own reads such an image.
            continue
        maker = ir_util.definition(op.operands[0])
        if maker is not None and maker.name in names.RESHAPES:
            # IREE would pad the image before its axes change, which is a dispatch of its own.
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = permute.apart(op.operands[0])
        if not is_read_through(op, context):
            with ir.InsertionPoint.after(op), op.location:
                barrier = permute.apart(op.results[0])
            op.results[0].replace_all_uses_except(barrier, barrier.owner.operation)


def is_read_through(padding: ir_util.Op, context: Context) -> bool:
    """Whether a padded image is read by a convolution that may get a kernel of bmc's own, and by nothing else."""
    image = padding.results[0]
    while len(list(image.uses)) == 1:
        ((reader, operand),) = ir_util.uses(image)
        if reader.name in names.RESHAPES:
            image = reader.results[0]
            continue
        found = contraction.read(reader) if operand == 0 else None
        return (
            found is not None
            and bool(found.windows)
            and contraction.shape(reader) not in context.decisions.copied
        )
    return False
