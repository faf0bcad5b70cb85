"""Tells kernels no more about the places of their bindings than the plan keeps.

IREE states the alignment of each binding from the place that it has chosen itself. The plan chooses other places.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.rewrites.context import Context

# The same as host.program.ALIGNMENT, which a test compares.
ALIGNMENT = 64


def apply(module: Any, _: Context) -> None:
    """Limits the alignment of all bindings to the plan's."""
    index = ir.IndexType.get()
    for op in ir_util.all_of(module, "hal.interface.binding.subspan"):
        if (
            "alignment" in op.attributes
            and ir.IntegerAttr(op.attributes["alignment"]).value > ALIGNMENT
        ):
            op.attributes["alignment"] = ir.IntegerAttr.get(index, ALIGNMENT)
