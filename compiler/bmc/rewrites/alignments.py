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
    for name in ("hal.interface.binding.subspan", "memref.assume_alignment"):
        for op in ir_util.all_of(module, name):
            if "alignment" in op.attributes:
                stated = ir.IntegerAttr(op.attributes["alignment"])
                if stated.value > ALIGNMENT:
                    op.attributes["alignment"] = ir.IntegerAttr.get(stated.type, ALIGNMENT)
