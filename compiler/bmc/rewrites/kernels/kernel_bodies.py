"""Puts kernels of bmc's own into dispatch functions, as inline assembly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import arith, build, constant_arrays, ir_util
from bmc.kernels.problem.product import LANES
from bmc.kernels.read.views import STORE, root_of
from bmc.kernels.schedule.workgroups import Split, Workgroups
from bmc.kernels.tree.assembly import Kernel

_CLOBBERED = [*(f"v{number}" for number in range(32)), "vl", "vtype", "vxrm", "vxsat", "memory"]
_SLICE = "iree_tensor_ext.dispatch.workgroup_count_from_slice"


def replace(
    function: ir_util.Op, values: tuple[Any, ...], kernel: Kernel | Workgroups, xlen: int
) -> None:
    """Makes a kernel the body of a dispatch function.

    Args:
      function: the dispatch.
      values: the kernel's operands: buffers, or constant tensors.
      kernel: the kernel, or the pieces that workgroups compute.
      xlen: bits of a register.
    """
    *operations, end = [op.operation for op in function.regions[0].blocks[0].operations]
    name = ir_util.string(function, "sym_name")
    word = ir.IntegerType.get_signless(xlen)
    with ir.InsertionPoint(end), function.location:
        addresses = [
            _address(value, f"{name}_constant_{number}", function, word)
            for number, value in enumerate(values)
        ]
        if isinstance(kernel, Workgroups):
            _set_workgroups(function, kernel.workgroups)
            _emit_shares(kernel, addresses, word)
        else:
            _emit(kernel, addresses, [], word)
    for op in reversed(operations):
        if op.name == STORE or not any(list(result.uses) for result in op.results):
            op.erase()
    ir_util.leave_as_it_is(function)


def _emit(kernel: Kernel, addresses: list[Any], start_offsets: list[Any], word: Any) -> None:
    operands = [_table(addresses, word)] if kernel.in_memory else [*addresses]
    if kernel.scratch:
        operands.append(_scratch(kernel.scratch, word))
    operands += start_offsets
    count = len(kernel.arguments)
    constraints = [f"=&{{{register}}}" for register in kernel.arguments]
    constraints += [str(number) for number in range(count)]
    constraints += [f"~{{{register}}}" for register in (*kernel.clobbered, *_CLOBBERED)]
    ir.Operation.create(
        "llvm.inline_asm",
        results=[ir.Type.parse(f"!llvm.struct<({', '.join([str(word)] * count)})>")],
        operands=operands,
        attributes={
            "asm_string": ir.StringAttr.get(kernel.text),
            "constraints": ir.StringAttr.get(",".join(constraints)),
            "has_side_effects": ir.UnitAttr.get(),
        },
    )


@dataclass(frozen=True)
class _Begun:
    """A loop that is cut: which of its pieces a workgroup computes, and how many iterations are before that."""

    cut: Split
    piece: Any
    first: Any


def _emit_shares(shares: Workgroups, addresses: list[Any], word: Any) -> None:
    """Emits the piece of the workgroup that runs."""
    workgroup = ir.Operation.create(
        "hal.interface.workgroup.id",
        [ir.IndexType.get()],
        attributes={"dimension": ir.IntegerAttr.get(ir.IndexType.get(), 0)},
    ).results[0]
    begun = []
    inside = shares.workgroups
    for cut in shares.cuts:
        inside //= cut.pieces
        piece = _create("arith.divui", [workgroup, _index(inside)])
        piece = _create("arith.remui", [piece, _index(cut.pieces)])
        first = _times(piece, cut.least)
        if cut.more:
            first = _create(
                "arith.addi", [first, _create("arith.minui", [piece, _index(cut.more)])]
            )
        begun.append(_Begun(cut, piece, first))
    # Operands of other kinds of kernels than products have numbers that begin after those of factors.
    skipped = len(shares.cuts[0].loop.strides) - len(addresses)
    moved = [
        _word(_sum(begun, [each.cut.loop.strides[number + skipped] for each in begun]), word)
        for number in range(len(addresses))
    ]
    addresses = [
        build.same("arith.addi", address, distance)
        for address, distance in zip(addresses, moved, strict=True)
    ]

    def emit(kernel: Kernel) -> None:
        _emit(
            kernel, addresses, [_word(_first(begun, n), word) for n in kernel.start_offsets], word
        )

    uneven = next((each for each in begun if each.cut.more), None)
    if uneven is None or shares.smaller is None:
        emit(shares.kernel)
        return
    is_large = arith.compared(arith.I_ULT, uneven.piece, _index(uneven.cut.more))
    branch = ir.Operation.create("scf.if", [], [is_large], regions=2)
    for region, kernel in zip(branch.regions, (shares.kernel, shares.smaller), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            emit(kernel)
            ir.Operation.create("scf.yield", [])


def _first(begun: list[_Begun], number: int) -> Any:
    """Returns how far a piece begins along an edge, or how many lanes are before it."""
    if number == LANES:
        # They are the last of the loops.
        return begun[-1].first
    steps = [each.cut.loop.steps for each in begun]
    return _sum(begun, [each[number] if each else 0 for each in steps])


def _sum(begun: list[_Begun], factors: list[int]) -> Any:
    """Returns how far all iterations that come before a piece move something, with a factor for each loop."""
    total = _index(0)
    for each, factor in zip(begun, factors, strict=True):
        total = _create("arith.addi", [total, _times(each.first, factor)])
    return total


def _times(value: Any, factor: int) -> Any:
    return _create("arith.muli", [value, _index(factor)])


def _index(value: int) -> Any:
    return build.number(value, ir.IndexType.get())


def _word(value: Any, word: Any) -> Any:
    return build.op("arith.index_cast", word, value)


def _set_workgroups(function: ir_util.Op, count: int) -> None:
    """Says how many workgroups a dispatch has."""
    # The one of its executable, whose table of exports says it, and so does what is beside the function.
    variant = function.parent.parent
    for op in [each for each in ir_util.walk(variant) if each.name == _SLICE]:
        with ir.InsertionPoint(op), op.location:
            for result, extent in zip(op.results, (count, 1, 1), strict=True):
                result.replace_all_uses_with(_index(extent))
        op.erase()


def _address(value: Any, name: str, function: ir_util.Op, word: Any) -> Any:
    """Returns the address of a buffer's first element, or of a constant's."""
    if not isinstance(value.type, ir.MemRefType):
        value = _global(value, name, function)
    root = root_of(value)
    # This is where the root begins, while an offset is that from the binding's beginning.
    address = _create("memref.extract_aligned_pointer_as_index", [root])
    if root != value:
        elements = _create("arith.subi", [_offset(value), _offset(root)])
        address = _create(
            "arith.addi", [address, _times(elements, value.type.element_type.width // 8)]
        )
    return _word(address, word)


def _table(addresses: list[Any], word: Any) -> Any:
    """Returns the address of memory on the stack with these addresses."""
    buffer = _on_stack(ir.MemRefType.get([len(addresses)], word))
    for number, address in enumerate(addresses):
        ir.Operation.create("memref.store", operands=[address, buffer, _index(number)])
    return _pointer(buffer, word)


def _scratch(size: int, word: Any) -> Any:
    """Returns the address of memory on the stack."""
    return _pointer(_on_stack(ir.MemRefType.get([size], ir.IntegerType.get_signless(8))), word)


def _on_stack(type_: Any) -> Any:
    return ir.Operation.create(
        "memref.alloca",
        [type_],
        attributes={
            "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 64),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
        },
    ).results[0]


def _pointer(buffer: Any, word: Any) -> Any:
    return _word(_create("memref.extract_aligned_pointer_as_index", [buffer]), word)


def _offset(value: Any) -> Any:
    """Returns a buffer's offset in elements."""
    index = ir.IndexType.get()
    type_ = value.type
    element = ir.MemRefType.get([], type_.element_type, None, type_.memory_space)
    results = [element, index, *[index] * (2 * type_.rank)]
    return ir.Operation.create("memref.extract_strided_metadata", results, [value]).results[1]


def _create(name: str, operands: list[Any], **attributes: Any) -> Any:
    """Returns the result of a new operation on indices."""
    return build.op(name, ir.IndexType.get(), *operands, **attributes)


def _global(value: Any, name: str, function: ir_util.Op) -> Any:
    """Returns a constant tensor as a buffer.

    IREE makes integers of buffers of bf16, but not of such globals. So a global has the bits of bf16 as integers.
    """
    element, initial = value.type.element_type, value.owner.attributes["value"]
    if isinstance(element, ir.BF16Type):
        element = ir.IntegerType.get_signless(16)
        bits = constant_arrays.brain_halves(value, None)
        initial = ir.DenseElementsAttr.get(
            bits, type=ir.RankedTensorType.get(value.type.shape, element)
        )
    type_ = ir.MemRefType.get(list(value.type.shape), element)
    with ir.InsertionPoint(function):
        ir.Operation.create(
            "memref.global",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(type_),
                "initial_value": initial,
                "constant": ir.UnitAttr.get(),
            },
        )
    return ir.Operation.create(
        "memref.get_global", [type_], attributes={"name": ir.FlatSymbolRefAttr.get(name)}
    ).results[0]
