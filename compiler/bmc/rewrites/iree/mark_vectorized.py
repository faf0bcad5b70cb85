"""Marks the kernels that bmc has vectorized.

IREE has no place for a rewrite between vectorization and LLVM, so bmc runs the first half of code
generation itself (iree/phases.py). Without the mark, IREE would run it again.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.rewrites.context import Context

_DONE = "#iree_codegen.translation_info<pipeline = #iree_codegen.no_pipeline>"


def apply(module: Any, _: Context) -> None:
    """Marks all kernels."""
    for op in ir_util.walk(module.operation):
        if "translation_info" in op.attributes:
            op.attributes["translation_info"] = ir.Attribute.parse(_DONE)
