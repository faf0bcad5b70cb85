"""Writes a requantize, the last node of an int8 epilogue: for several rows at once, which share the changes of SEW."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bmc.kernels.problem.product import Node
from bmc.kernels.tree import rvv

if TYPE_CHECKING:
    from bmc.kernels.epilogue.one_row import Epilogue


def requantize(rows: list[Epilogue], number: int) -> None:
    """Emits a requantize node for several rows, which share the changes of SEW; SEW is 8 afterwards."""
    first = rows[0]
    out, lanes, nodes = first.out, first.lanes, first.nodes
    shift, zero, low, high = (nodes[arg] for arg in nodes[number].args[1:])
    registers = []
    for row in rows:
        register, shifts = row.begin_requantize(number)
        registers.append(register)
        if shifts:
            out.emit(rvv.binary("vssra", register, register, shifts))
            shift = Node("constant", "i32", value=0)

    def each_row(instruction: Callable[[str], str]) -> None:
        for register in registers:
            out.emit(instruction(register))

    lanes.use(out, 16)
    if shift.op == "constant":
        bits = int(shift.value)
        each_row(lambda register: rvv.clip(register, register, bits))
    else:
        for row, register in zip(rows, registers, strict=True):
            out.emit(rvv.clip(register, register, row.scalar(shift)))
    if -16 <= zero.value < 16:
        if zero.value:
            added = int(zero.value)
            each_row(lambda register: rvv.binary_immediate("vsadd", register, register, added))
    else:
        offset = first.scalar(zero)
        each_row(lambda register: rvv.binary("vsadd", register, register, offset))
    lanes.use(out, 8)
    each_row(lambda register: rvv.clip(register, register, 0))
    # vnclip has limited the values to the range of int8.
    if low.value > -128:
        lower = first.scalar(low)
        each_row(lambda register: rvv.binary("vmax", register, register, lower))
    if high.value < 127:
        upper = first.scalar(high)
        each_row(lambda register: rvv.binary("vmin", register, register, upper))
