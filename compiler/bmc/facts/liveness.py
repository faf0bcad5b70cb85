"""The smallest arena that a model could use, computed independently of the memory planner.

Looks at the tensors between kernels (flow dialect) before IREE packs them. A tensor counts from the kernel that
writes it to the last kernel that reads it, an input from the start, an output to the end. A kernel's operands and
results are alive together unless the flow IR says that a result reuses an operand. Sizes are rounded up to the multiple
of bytes at which every place in an arena begins.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util, names
from bmc.rewrites.iree.alignments import ALIGNMENT
from bmc.rewrites.model_context import States, Uses


def bound(module: Any, states: States) -> int:
    """Returns the bytes that the largest function needs, with kernels in the order of the IR.

    With control flow, inputs, outputs and the tensors that a loop carries count for the whole run of their function.
    States are not in the arena.
    """
    return max(
        (
            _bound(list(op.regions[0]), states.of(ir_util.string(op, "sym_name")))
            for op in ir_util.all_of(module, names.HOST_FUNCTION)
            if op.regions[0].blocks
        ),
        default=0,
    )


def _bound(blocks: list[Any], uses: Uses) -> int:
    # States come after the inputs, then storage for the new states.
    arguments = list(blocks[0].arguments)
    outside = set(arguments[len(arguments) - len(uses.read) - len(uses.written) :])
    operations = [child.operation for block in blocks for child in block]
    # SSA value -> number of the buffer that holds it. Values that take no arena are absent.
    buffer_of: dict[Any, int] = {}
    sizes: list[int] = []
    born: list[int] = []
    last_use: list[int] = []
    at_border: set[int] = set()

    def new_buffer(value: Any, position: int) -> None:
        buffer_of[value] = len(sizes)
        sizes.append(-(-ir_util.tensor_bytes(value.type) // ALIGNMENT) * ALIGNMENT)
        born.append(position)
        last_use.append(position)

    for block in blocks[1:]:
        for argument in block.arguments:
            if isinstance(argument.type, ir.RankedTensorType):
                new_buffer(argument, 0)
                last_use[buffer_of[argument]] = len(operations)
    for position, op in enumerate(operations):
        buffers = [buffer_of[operand] for operand in op.operands if operand in buffer_of]
        for buffer in buffers:
            last_use[buffer] = position
        if op.name in (names.GLOBAL_LOAD, "arith.constant", "flow.tensor.constant"):
            continue
        if op.name == "hal.tensor.alias":
            for buffer in buffers:  # the new state may be computed in the state's own memory
                sizes[buffer] = 0
            continue
        if op.name == "hal.tensor.import" and op.operands[0] in outside:
            continue
        if op.name == "hal.tensor.import":
            new_buffer(op.results[0], 0)
            at_border.add(buffer_of[op.results[0]])
            continue
        if op.name == "hal.tensor.export":
            at_border.update(buffers)
            for buffer in buffers:
                last_use[buffer] = len(operations)
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
    if len(blocks) > 1:
        for buffer in at_border:
            born[buffer], last_use[buffer] = 0, len(operations)
    return max(
        (
            sum(
                size
                for buffer, size in enumerate(sizes)
                if born[buffer] <= position <= last_use[buffer]
            )
            for position in range(len(operations))
        ),
        default=0,
    )


def _tied_operands(op: ir_util.Op) -> list[int]:
    """Returns for each result the number of the operand whose memory it reuses, -1 for none."""
    if op.name in ("flow.tensor.reshape", "flow.tensor.bitcast", "hal.tensor.barrier"):
        return list(range(len(op.results)))
    if "tied_operands" in op.attributes:
        return [ir.IntegerAttr(index).value for index in op.attributes["tied_operands"]]
    return [-1] * len(op.results)
