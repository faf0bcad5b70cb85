"""Reads a dispatch function on buffers as what a matcher is told about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from iree.compiler import ir

from bmc.ir import ir_util
from bmc.kernels.dtypes import WIDTHS
from bmc.kernels.problem.roles import needed
from bmc.kernels.read import product
from bmc.kernels.read.product import Computation
from bmc.kernels.read.views import root_of
from bmc.kernels.unsupported import Unsupported
from bmc.libraries.dispatch import Dispatch, Edge, Loop, Operand, Padding
from bmc.names import op_signature
from bmc.target import Target

_SUBSPAN = "hal.interface.binding.subspan"


def dispatch(function: ir_util.Op, target: Target) -> Dispatch:
    """Returns what a dispatch function computes.

    Raises:
      Unsupported: it is not one product with an epilogue of simple operations,
        or the place of an operand is known only at run time.
    """
    found = product.computation(function)
    steps = [
        tuple(_elements(loop.strides[number], dtype) for loop in found.loops)
        for number, dtype in enumerate(found.dtypes)
    ]
    operands = tuple(map(_operand, found.operands, found.dtypes, steps))
    return Dispatch(
        name=op_signature(ir_util.string(function, "sym_name")),
        isa=target.isa,
        vlen_bits=target.vlen_bits,
        loops=tuple(
            Loop(loop.extent, number in found.summed) for number, loop in enumerate(found.loops)
        ),
        operands=operands,
        initial=None if found.initial is None else operands[found.initial],
        windows=found.windows,
        padding=_padding(found, operands),
        epilogue=needed(list(found.epilogue)) if len(found.epilogue) > 1 else (),
    )


def _padding(found: Computation, operands: tuple[Operand, ...]) -> Padding | None:
    if found.padding is None:
        return None
    edges = tuple(
        Edge(edge.low, edge.extent, tuple(loop.steps[number] for loop in found.loops))
        for number, edge in enumerate(found.padding.edges)
    )
    return Padding(operands[found.padding.operand], found.padding.value, edges)


def _elements(stride: int, dtype: str) -> int:
    return stride // WIDTHS[dtype]


def _operand(value: Any, dtype: str, steps: tuple[int, ...]) -> Operand:
    if not isinstance(value.type, ir.MemRefType):
        values = np.array(ir.DenseElementsAttr(value.owner.attributes["value"]))
        return Operand(dtype, steps, values=np.broadcast_to(values, value.type.shape))
    owner = ir_util.definition(root_of(value))
    _, offset = value.type.get_strides_and_offset()
    if (
        owner is None
        or owner.name != _SUBSPAN
        or offset == ir.ShapedType.get_dynamic_stride_or_offset()
    ):
        raise Unsupported("an operand whose place is known only at run time")
    return Operand(
        dtype,
        steps,
        binding=int(ir.IntegerAttr(owner.attributes["binding"]).value),
        offset=offset * WIDTHS[dtype],
    )
