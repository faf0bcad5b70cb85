"""The contents of each kernel's bindings, its multiply-accumulates, and the model line that it comes from.

The plan states the accesses: what a kernel may write is exactly what IREE does not mark read-only, and a writable
tensor counts as read if a load of it is seen. Debuggers show memory with the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.facts import macs
from bmc.ir import contraction, ir_util

_SUBSPAN = "hal.interface.binding.subspan"
_READ_ONLY = 1  # bit of its descriptor_flags


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that a kernel reads or writes.

    Attributes:
      binding: number of its binding.
      offset: bytes from the start of the binding, None if only the target knows it.
      dtype: MLIR's name for the element type, such as "f32".
      shape: extents, None if only the target knows them.
      reads: whether the kernel reads the tensor.
      writes: whether the kernel writes the tensor.
    """

    binding: int
    offset: int | None
    dtype: str
    shape: tuple[int, ...] | None
    reads: bool
    writes: bool


@dataclass(frozen=True)
class Kernel:
    """A dispatch function.

    Attributes:
      operands: what it reads and writes.
      source: its model line, such as "model.py:12"; "" if unknown.
      macs: multiply-accumulates of one launch.
      accumulator: MLIR's name for the type of their sums, "" if there are none.
    """

    operands: tuple[Operand, ...]
    source: str
    macs: int
    accumulator: str


def read(module: Any) -> dict[str, Kernel]:
    """Returns the kernels of a module (phase executable-configurations) by dispatch function."""
    return {
        ir_util.string(function, "sym_name"): _kernel(function)
        for executable in ir_util.all_of(module, "hal.executable")
        for function in ir_util.all_of(executable, "func.func")
    }


def _kernel(function: ir_util.Op) -> Kernel:
    ops = list(ir_util.walk(function))
    operands = {_operand(op): None for op in ops if op.name == _SUBSPAN}
    computations = [op for op in ops if op.name.startswith(("linalg.", "iree_linalg_ext."))]
    products = [(count, op) for op in computations if (count := macs.of(op))]
    largest = max(products, key=lambda product: product[0])[1] if products else None
    return Kernel(
        operands=tuple(operands),
        source=ir_util.place([*computations, function]),
        macs=sum(count for count, _ in products),
        accumulator=contraction.accumulator(largest) if largest else "",
    )


def _operand(op: ir_util.Op) -> Operand:
    buffer = op.results[0]
    flags = ir.IntegerAttr(op.attributes["descriptor_flags"]).value
    writes = not flags & _READ_ONLY
    reads = not writes or any("load" in use.name for use, _ in ir_util.uses(buffer))
    shaped = buffer.type
    shape = tuple(shaped.shape) if shaped.has_static_shape else None
    return Operand(
        binding=int(ir.IntegerAttr(op.attributes["binding"]).value),
        offset=ir_util.constant(op.operands[0]) if len(op.operands) else 0,
        dtype=str(shaped.element_type),
        shape=shape,
        reads=reads,
        writes=writes,
    )
