"""The contents of each kernel's bindings, its multiply-accumulates, and the model line that it comes from.

The plan states the accesses: what a kernel may write is exactly what IREE does not mark read-only, and a writable
tensor counts as read if a load of it is seen. Debuggers show memory with the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.facts import macs
from bmc.ir import contraction, ir_util, names

_READ_ONLY = 1  # bit of its descriptor_flags
# Ops that compute every element of their result, besides linalg's.
_WHOLE = (
    names.LOAD_FROM_BUFFER,
    names.COLLAPSE_SHAPE,
    names.EXPAND_SHAPE,
    names.EXTRACT_SLICE,
    names.PAD,
)


@dataclass(frozen=True, slots=True)
class Written:
    """The bytes [first, end) of each row of a table, from the start of a binding.

    Attributes:
      length: bytes of the table.
      row: bytes of a row.
    """

    length: int
    row: int
    first: int
    end: int

    @property
    def is_whole(self) -> bool:
        return (self.first, self.end) == (0, self.row)


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
      overwrites: what the kernel certainly writes without reading anything of the tensor, None if that is unknown.
      alignment: the start of the binding must be a multiple of this, on which the kernel relies.
    """

    binding: int
    offset: int | None
    dtype: str
    shape: tuple[int, ...] | None
    reads: bool
    writes: bool
    overwrites: Written | None
    alignment: int


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
        for function in ir_util.all_of(executable, names.KERNEL_FUNCTION)
    }


def _kernel(function: ir_util.Op) -> Kernel:
    ops = list(ir_util.walk(function))
    operands = {_operand(op): None for op in ops if op.name == names.SUBSPAN}
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
    offset = ir_util.constant(op.operands[0]) if len(op.operands) else 0
    is_written = writes and not reads and offset == 0 and shaped.has_static_shape
    shape = tuple(shaped.shape) if shaped.has_static_shape else None
    return Operand(
        binding=int(ir.IntegerAttr(op.attributes["binding"]).value),
        offset=offset,
        dtype=str(shaped.element_type),
        shape=shape,
        reads=reads,
        writes=writes,
        overwrites=_written(buffer) if is_written else None,
        alignment=alignment(op),
    )


def alignment(subspan: ir_util.Op) -> int:
    """Returns what IREE states about a binding, but at least what loads of single elements need."""
    op, element = subspan, subspan.results[0].type.element_type
    stated = ir.IntegerAttr(op.attributes["alignment"]).value if "alignment" in op.attributes else 1
    return int(max(stated, getattr(element, "width", 64) // 8))


def _written(buffer: Any) -> Written | None:
    """Returns what the only use of a buffer always writes, None if it may leave elements out or do more."""
    uses = ir_util.uses(buffer)
    if len(uses) != 1:
        return None
    ((use, number),) = uses
    if use.name == names.ASSUME_ALIGNMENT:
        return _written(use.results[0])
    if use.name == "memref.subview" and len(use.operands) == 1:
        return _columns(use) if _is_stored(use.results[0]) else None
    if not _is_stored(buffer):
        return None
    length = ir_util.tensor_bytes(buffer.type)
    return Written(length, length, 0, length)


def _columns(view: ir_util.Op) -> Written | None:
    """Returns the part of a buffer that a view is, if it leaves out elements of one axis only."""
    shape = list(view.operands[0].type.shape)
    starts, sizes, strides = (
        list(ir.DenseI64ArrayAttr(view.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    cut = [axis for axis, extent in enumerate(shape) if sizes[axis] != extent]
    if len(cut) != 1 or len(sizes) != len(shape) or set(strides) != {1}:
        return None
    (axis,) = cut
    length = ir_util.tensor_bytes(view.operands[0].type)
    row = length // math.prod(shape[:axis])
    step = row // shape[axis]
    return Written(length, row, starts[axis] * step, (starts[axis] + sizes[axis]) * step)


def _is_stored(buffer: Any) -> bool:
    """Whether the only use of a buffer always writes all of it, with a value of which every element is computed."""
    uses = ir_util.uses(buffer)
    if len(uses) != 1:
        return False
    ((use, number),) = uses
    if use.name != names.STORE_TO_BUFFER:
        return _is_copied(use, number)
    value = use.operands[0]
    maker = ir_util.definition(value)
    return bool(
        number == 1
        and use.parent.name == names.KERNEL_FUNCTION
        and list(value.type.shape) == list(buffer.type.shape)
        and maker is not None
        and (maker.name.startswith("linalg.") or maker.name in _WHOLE)
    )


def _is_copied(op: ir_util.Op, number: int) -> bool:
    """Whether a loop on buffers, and nothing else, writes every element of operand `number` without reading it."""
    if op.name != names.GENERIC or op.results or op.parent.name != names.KERNEL_FUNCTION:
        return False
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    result = len(maps) - 1
    return bool(
        number == result
        and maps[result] == ir.AffineMap.get_identity(maps[result].n_dims)
        and not list(op.regions[0].blocks[0].arguments[result].uses)
    )
