"""Stage: the least arena the model could do with, computed independently of how memory is planned.

Looks at the tensors between kernels (flow dialect) before IREE packs them. Inputs and outputs count
for the whole run, every other tensor from the kernel that writes it to the last one that reads it;
a kernel's operands and results are alive together unless the flow IR says a result reuses an operand.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.stages import ir_util

_ENTRY = "main"


def bound(flow_module: Path) -> int:
    """Returns bytes; kernels run in the order of the IR."""
    with ir.Context():
        module = ir_util.read(flow_module)
        for op in ir_util.walk(module.operation):
            if op.name == "util.func" and ir_util.string(op, "sym_name") == _ENTRY:
                return _bound([child.operation for child in op.regions[0].blocks[0]])
    return 0


def _bound(operations: list[ir_util.Op]) -> int:
    # SSA value -> number of the buffer it is stored in; values that take no arena have none.
    buffer_of: dict[Any, int] = {}
    sizes: list[int] = []
    born: list[int] = []
    last_use: list[int] = []
    at_border: set[int] = set()

    def new_buffer(value: Any, position: int) -> None:
        buffer_of[value] = len(sizes)
        sizes.append(ir_util.tensor_bytes(value.type))
        born.append(position)
        last_use.append(position)

    for position, op in enumerate(operations):
        buffers = [buffer_of[operand] for operand in op.operands if operand in buffer_of]
        for buffer in buffers:
            last_use[buffer] = position
        if op.name in ("util.global.load", "arith.constant", "flow.tensor.constant"):
            continue
        if op.name == "hal.tensor.import":
            new_buffer(op.results[0], position)
            at_border.add(buffer_of[op.results[0]])
            continue
        if op.name == "hal.tensor.export":
            at_border.update(buffers)
            continue
        tied = _tied_operands(op)
        for index, result in enumerate(op.results):
            if not isinstance(result.type, ir.RankedTensorType):
                continue
            source = op.operands[tied[index]] if tied[index] >= 0 else None
            if source is None:
                new_buffer(result, position)
            elif source in buffer_of:
                buffer_of[result] = buffer_of[source]
    inner = [buffer for buffer in range(len(sizes)) if buffer not in at_border]
    peak = max(
        (
            sum(sizes[buffer] for buffer in inner if born[buffer] <= position <= last_use[buffer])
            for position in range(len(operations))
        ),
        default=0,
    )
    return peak + sum(sizes[buffer] for buffer in at_border)


def _tied_operands(op: ir_util.Op) -> list[int]:
    """Returns, per result, the number of the operand whose memory it is in, or -1."""
    if op.name in ("flow.tensor.reshape", "flow.tensor.bitcast", "hal.tensor.barrier"):
        return list(range(len(op.results)))
    if "tied_operands" in op.attributes:
        return [ir.IntegerAttr(index).value for index in op.attributes["tied_operands"]]
    return [-1] * len(op.results)
