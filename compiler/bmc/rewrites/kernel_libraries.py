"""Leaves dispatches to kernel libraries: their calls take the place of IREE's kernels in the plan.

What remains of such a dispatch in the ELF of kernels is an empty function. Everything before this point is as without
libraries, but for weights of int8 in 16 bits (wide_weights.py), so dispatches, tensors and their layouts are the same,
and answers can be compared one dispatch at a time.
"""

from __future__ import annotations

import logging
from typing import Any

from bmc.ir import ir_util
from bmc.kernels.product import Unsupported
from bmc.libraries import reading
from bmc.libraries.library import Taken
from bmc.rewrites.context import Context

_LOG = logging.getLogger(__name__)


def apply(module: Any, context: Context) -> None:
    """Empties every dispatch function that a library takes, and notes its call in the context.

    Raises:
      BmcError: a matcher is wrong.
    """
    for function in ir_util.all_of(module, "func.func"):
        name = ir_util.string(function, "sym_name")
        if name in context.left:
            continue
        try:
            dispatch = reading.dispatch(function, context.target)
        except Unsupported as reason:
            _LOG.info("%s is not offered to kernel libraries: %s", name, reason)
            continue
        for library in context.libraries:
            if call := library.call(dispatch):
                context.taken[name] = Taken(library, dispatch, call)
                _empty(function)
                break


def _empty(function: ir_util.Op) -> None:
    *operations, _ = [op.operation for op in function.regions[0].blocks[0].operations]
    for op in reversed(operations):
        op.erase()
    ir_util.leave_as_it_is(function)
