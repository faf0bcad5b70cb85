"""Leaves dispatches to kernel libraries: their calls take the place of IREE's kernels in the plan.

What remains of such a dispatch in the ELF of kernels is an empty function. Everything before this point is as without
libraries, but for weights of int8 in 16 bits (wide_weights.py), so dispatches, tensors and their layouts are the same,
and answers can be compared one dispatch at a time.

Matchers decide, with an estimate of what the dispatch takes otherwise; an entry in tuning.json decides for them.
"""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import Any

from bmc.errors import BmcError
from bmc.ir import ir_util, names
from bmc.kernels.unsupported import Unsupported
from bmc.libraries import reading
from bmc.libraries.dispatch import Dispatch
from bmc.libraries.library import Taken
from bmc.names import op_signature
from bmc.rewrites.context import Context
from bmc.rewrites.kernels import own_kernels
from bmc.rewrites.layout import layouts

_LOG = logging.getLogger(__name__)

# Instructions for each multiply-accumulate of IREE's kernels without vectors, measured: docs/performance.md, "A matrix
# unit".
_IREE_SCALAR = 4


def apply(module: Any, context: Context) -> None:
    """Empties every dispatch function that a library takes, and notes its call in the context.

    Raises:
      BmcError: a matcher is wrong, or tuning.json wants a function that no library computes a dispatch with.
    """
    for function in ir_util.all_of(module, names.KERNEL_FUNCTION):
        name = ir_util.string(function, "sym_name")
        entry = context.tuning.of(name, op_signature(name))
        wanted = entry.library if entry else ""
        if wanted is None:
            continue
        try:
            dispatch = _read(function, name, wanted, context)
        except Unsupported as reason:
            _LOG.info("%s is not offered to kernel libraries: %s", name, reason)
            if wanted:
                why = f"it is not offered to them: {reason}"
                raise _refused(op_signature(name), wanted, context, why) from None
            continue
        if taken := _taken(dispatch, wanted, context):
            context.taken[name] = taken
            _empty(function)


def _read(function: ir_util.Op, name: str, wanted: str, context: Context) -> Dispatch:
    """Returns what matchers are told of a dispatch function; raises Unsupported if it is not offered to them."""
    if name in context.decisions.left:
        raise Unsupported("a weight that a library would pack is no constant")
    dispatch = reading.dispatch(function, context.target)
    return replace(dispatch, cost=math.inf if wanted else _cost(function, dispatch, context))


def _taken(dispatch: Dispatch, wanted: str, context: Context) -> Taken | None:
    """Returns the first call that a library offers, with the function that is wanted, if one is."""
    offered = []
    for library in context.libraries:
        call = library.call(dispatch)
        if call and wanted in ("", call.function):
            return Taken(library, dispatch, call)
        offered += [call.function] if call else []
    if wanted:
        has = f"they would use {', '.join(offered)}" if offered else "none of them takes it"
        raise _refused(dispatch.name, wanted, context, has)
    return None


def _refused(name: str, wanted: str, context: Context, reason: str) -> BmcError:
    return BmcError(
        "bad-tuning",
        f"the kernel libraries of the model do not compute '{name}' with '{wanted}': {reason}",
        where=context.tuning.file,
    )


def _cost(function: ir_util.Op, dispatch: Dispatch, context: Context) -> float:
    """Returns about how many instructions a dispatch takes without a library."""
    try:
        return own_kernels.cost(function, context)
    except Unsupported:
        each = layouts.IREE if context.target.vlen_bits else _IREE_SCALAR
        return each * math.prod(loop.extent for loop in dispatch.loops)


def _empty(function: ir_util.Op) -> None:
    *operations, _ = [op.operation for op in function.regions[0].blocks[0].operations]
    for op in reversed(operations):
        op.erase()
    ir_util.leave_as_it_is(function)
