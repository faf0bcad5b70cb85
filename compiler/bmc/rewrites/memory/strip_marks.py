"""Removes the marks by which equal operations of strips differed, so that equal kernels become one."""

from __future__ import annotations

from typing import Any

from bmc.ir import ir_util
from bmc.rewrites.context import Context
from bmc.rewrites.layout import images


def apply(module: Any, _: Context) -> None:
    """Removes all marks."""
    for op in ir_util.walk(module.operation):
        images.unmark(op)
