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
_STORE = "iree_codegen.store_to_buffer"
# Ops that compute every element of their result, besides linalg's.
_WHOLE = (
    "iree_codegen.load_from_buffer",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.pad",
)


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
      overwrites: bytes from the start of the binding that the kernel certainly writes without reading them.
      alignment: the start of the binding must be a multiple of this, on which the kernel relies.
    """

    binding: int
    offset: int | None
    dtype: str
    shape: tuple[int, ...] | None
    reads: bool
    writes: bool
    overwrites: int
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
    offset = ir_util.constant(op.operands[0]) if len(op.operands) else 0
    stored = writes and not reads and offset == 0 and _is_stored(buffer)
    shape = tuple(shaped.shape) if shaped.has_static_shape else None
    return Operand(
        binding=int(ir.IntegerAttr(op.attributes["binding"]).value),
        offset=offset,
        dtype=str(shaped.element_type),
        shape=shape,
        reads=reads,
        writes=writes,
        overwrites=ir_util.tensor_bytes(shaped) if stored else 0,
        alignment=alignment(op),
    )


def alignment(subspan: ir_util.Op) -> int:
    """Returns what IREE states about a binding, but at least what loads of single elements need."""
    op, element = subspan, subspan.results[0].type.element_type
    stated = ir.IntegerAttr(op.attributes["alignment"]).value if "alignment" in op.attributes else 1
    return int(max(stated, getattr(element, "width", 64) // 8))


def _is_stored(buffer: Any) -> bool:
    """Whether the only use of a buffer always writes all of it, with a value of which every element is computed."""
    uses = ir_util.uses(buffer)
    if len(uses) != 1:
        return False
    ((use, number),) = uses
    if use.name == "memref.assume_alignment":
        return _is_stored(use.results[0])
    if use.name != _STORE:
        return _is_copied(use, number)
    value = use.operands[0]
    maker = ir_util.definition(value)
    return bool(
        number == 1
        and use.parent.name == "func.func"
        and buffer.type.has_static_shape
        and list(value.type.shape) == list(buffer.type.shape)
        and maker is not None
        and (maker.name.startswith("linalg.") or maker.name in _WHOLE)
    )


def _is_copied(op: ir_util.Op, number: int) -> bool:
    """Whether a loop on buffers, and nothing else, writes every element of operand `number` without reading it."""
    if op.name != "linalg.generic" or op.results or op.parent.name != "func.func":
        return False
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    result = len(maps) - 1
    return bool(
        number == result
        and maps[result] == ir.AffineMap.get_identity(maps[result].n_dims)
        and not list(op.regions[0].blocks[0].arguments[result].uses)
    )
