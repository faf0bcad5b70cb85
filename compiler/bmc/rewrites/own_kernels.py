"""Replaces the bodies of dispatches by kernels that bmc writes itself.

IREE's code generator spills groups of eight vector registers, and falls off a cliff where channels or pixels are not
divisible by its tiles. A product with an epilogue of simple operations becomes inline assembly instead, and so does a
scatter of rows, which IREE copies one number at a time (bmc/kernels). Everything else about the dispatch stays as IREE
made it: its bindings, its entry in the table of kernels, and its place in their ELF.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import contraction, ir_util
from bmc.kernels import elementwise, fastest, reductions, scatter
from bmc.kernels.assembly import Kernel
from bmc.kernels.choice import DEFAULT, Choice, Proposal, proposals
from bmc.kernels.product import Unsupported
from bmc.kernels.read import read
from bmc.kernels.views import STORE, root_of
from bmc.rewrites import tuning
from bmc.rewrites.context import Config, Context, Shape
from bmc.rewrites.rewrite import Again
from bmc.rewrites.tuning import Entry

_LOG = logging.getLogger(__name__)
_MOST_PROPOSALS = 24
_CLOBBERED = [*(f"v{number}" for number in range(32)), "vl", "vtype", "vxrm", "vxsat", "memory"]


def applies(context: Context) -> bool:
    """Whether the target has such kernels."""
    return context.has_own_kernels


def apply(module: Any, context: Context) -> None:
    """Replaces the body of every dispatch that has a kernel, except where tuning.json wants IREE's.

    Raises:
      Again: IREE would have to write the kernel of a convolution of planes, one number at a time, or one of a
        convolution with its padding, or of an image with one channel, or with weights of int8 in 16 bits.
      BmcError: tuning.json has a choice that a dispatch does not have.
    """
    configs = {config.function: config for config in context.configs}
    kept: set[Shape] = set()
    padded: set[Shape] = set()
    wide: set[Shape] = set()
    for function in ir_util.all_of(module, "func.func"):
        name = ir_util.string(function, "sym_name")
        config = configs.get(name, Config(name, "", "", {}, {}, "iree"))
        entry = context.tuning.of(name, config.op)
        shapes = {contraction.shape(op) for op in ir_util.walk(function) if contraction.read(op)}
        pads = any(op.name == "tensor.pad" for op in ir_util.walk(function))
        try:
            operands, kernel = _kernel(function, context)
            config = replace(config, digest=tuning.digest(kernel.text))
            if entry and entry.is_iree:
                raise Unsupported("tuning.json wants it")
        except Unsupported as reason:
            _LOG.info("%s keeps IREE's kernel: %s", name, reason)
            if entry and entry.is_own:
                raise _refused(config, entry, context, reason) from None
            (padded if pads else kept).update(shapes)
            wide |= shapes & context.wide if entry is None else set()
        else:
            if context.proposes:
                found = _proposals(function, context)
                alone = not pads and not shapes & (context.planes | context.wide)
                config = replace(config, proposals=found, replaceable=alone)
            if entry and entry.is_own:
                try:
                    operands, kernel = _kernel(function, context, entry.choice)
                except Unsupported as reason:
                    raise _refused(config, entry, context, reason) from None
            if (
                entry is None
                and shapes & context.wide
                and is_better_narrow(function, context, kernel)
            ):
                wide |= shapes & context.wide
            _replace(function, operands, kernel, context.target.xlen)
            config = replace(config, own=True)
        configs[name] = config
    if wide:
        raise Again(narrow=frozenset(wide))
    if padded - context.copied:
        raise Again(copied=frozenset(padded))
    if kept & (context.planes | context.single):
        raise Again(
            pixels=frozenset(kept & context.planes), gathered=frozenset(kept & context.single)
        )
    context.configs = tuple(configs[config.function] for config in context.configs)


def is_better_narrow(function: ir_util.Op, context: Context, kernel: Kernel) -> bool:
    """Whether a kernel would take fewer instructions with weights in 8 bits, as where its lanes are pixels then."""
    try:
        product = read(function, narrow=True).product
        return fastest.write(product, context.target.vlen_bits).cost < kernel.cost
    except Unsupported:
        return False


def cost(function: ir_util.Op, context: Context) -> float:
    """Returns about how many instructions the kernel of a dispatch executes; raises Unsupported if it has none."""
    if not applies(context):
        raise Unsupported("an instruction set without such kernels")
    return _kernel(function, context)[1].cost


def _kernel(
    function: ir_util.Op, context: Context, choice: Choice = DEFAULT
) -> tuple[tuple[Any, ...], Kernel]:
    """Returns the operands of a dispatch and its kernel; raises Unsupported if it has none, or no such choice."""
    try:
        operands, write = _read(function, context, choice.lanes or 0)
        return operands, write(choice)
    except Unsupported as reason:
        products = [op for op in ir_util.walk(function) if contraction.read(op)]
        in_planes = not context.planes.isdisjoint(map(contraction.shape, products))
        if choice != DEFAULT or not products or in_planes:
            raise
        try:
            operands, write = _reduced(function, context.target.vlen_bits)
            return operands, write(choice)
        except Unsupported:
            raise reason from None


def _read(
    function: ir_util.Op, context: Context, lanes: int
) -> tuple[tuple[Any, ...], Callable[[Choice], Kernel]]:
    """Returns the operands of a dispatch, and what writes kernels whose lanes are one of the possible loops."""
    vlen, xlen = context.target.vlen_bits, context.target.xlen
    if any(op.name == "iree_linalg_ext.scatter" for op in ir_util.walk(function)):
        found, operands = scatter.read(function)

        def write(choice: Choice) -> Kernel:
            choice.require()
            return scatter.write(found, vlen, xlen)

        return operands, write
    if any(contraction.read(op) for op in ir_util.walk(function)):
        dispatch = read(function, lanes)
        if dispatch.product.has_long_lines:
            with contextlib.suppress(Unsupported):
                return _reduced(function, vlen)
        return dispatch.operands, lambda choice: fastest.write(dispatch.product, vlen, choice)
    if any(reductions.is_reduction(op) for op in ir_util.walk(function)):
        return _reduced(function, vlen)
    moved, operands = elementwise.read(function, lanes)

    def move(choice: Choice) -> Kernel:
        choice.require("lanes", "lmul")
        return elementwise.write(moved, vlen, xlen, choice)

    return operands, move


def _reduced(function: ir_util.Op, vlen: int) -> tuple[tuple[Any, ...], Callable[[Choice], Kernel]]:
    """Returns the same of a dispatch that is computed as a reduction."""
    reduced, operands = reductions.reduction(function)

    def write(choice: Choice) -> Kernel:
        choice.require()
        return reductions.write(reduced, vlen)

    return operands, write


def _proposals(function: ir_util.Op, context: Context) -> tuple[Proposal, ...]:
    """Returns the kernel of a dispatch, and others that are worth trying; none if it has no choices."""
    read_once = functools.cache(lambda lanes: _read(function, context, lanes)[1])
    try:
        return proposals(lambda choice: read_once(choice.lanes or 0)(choice), _MOST_PROPOSALS)
    except Unsupported:
        return ()


def _refused(config: Config, entry: Entry, context: Context, reason: Unsupported) -> BmcError:
    chosen = ", ".join(f"{name} = {value}" for name, value in entry.choice.described().items())
    return BmcError(
        "bad-tuning",
        f"'{config.op}' has no kernel of bmc's own with {chosen}: {reason}",
        where=context.tuning.file,
    )


def _replace(function: ir_util.Op, values: tuple[Any, ...], kernel: Kernel, xlen: int) -> None:
    *operations, end = [op.operation for op in function.regions[0].blocks[0].operations]
    name = ir_util.string(function, "sym_name")
    word = ir.IntegerType.get_signless(xlen)
    count = len(kernel.arguments)
    constraints = [f"=&{{{register}}}" for register in kernel.arguments]
    constraints += [str(number) for number in range(count)]
    constraints += [f"~{{{register}}}" for register in (*kernel.clobbered, *_CLOBBERED)]
    with ir.InsertionPoint(end), function.location:
        addresses = [
            _address(value, f"{name}_constant_{number}", function, word)
            for number, value in enumerate(values)
        ]
        if kernel.in_memory:
            addresses = [_table(addresses, word)]
        if kernel.scratch:
            addresses.append(_scratch(kernel.scratch, word))
        ir.Operation.create(
            "llvm.inline_asm",
            results=[ir.Type.parse(f"!llvm.struct<({', '.join([str(word)] * count)})>")],
            operands=addresses,
            attributes={
                "asm_string": ir.StringAttr.get(kernel.text),
                "constraints": ir.StringAttr.get(",".join(constraints)),
                "has_side_effects": ir.UnitAttr.get(),
            },
        )
    for op in reversed(operations):
        if op.name == STORE or not any(list(result.uses) for result in op.results):
            op.erase()
    ir_util.leave_as_it_is(function)


def _address(value: Any, name: str, function: ir_util.Op, word: Any) -> Any:
    """Returns the address of a buffer's first element, or of a constant's."""
    if not isinstance(value.type, ir.MemRefType):
        value = _global(value, name, function)
    root = root_of(value)
    # This is where the root begins, while an offset is that from the binding's beginning.
    address = _create("memref.extract_aligned_pointer_as_index", [root])
    if root != value:
        elements = _create("arith.subi", [_offset(value), _offset(root)])
        width = ir.IntegerAttr.get(ir.IndexType.get(), value.type.element_type.width // 8)
        bytes_ = _create("arith.muli", [elements, _create("arith.constant", [], value=width)])
        address = _create("arith.addi", [address, bytes_])
    return ir.Operation.create("arith.index_cast", [word], [address]).results[0]


def _table(addresses: list[Any], word: Any) -> Any:
    """Returns the address of memory on the stack with these addresses."""
    buffer = _on_stack(ir.MemRefType.get([len(addresses)], word))
    for number, address in enumerate(addresses):
        index = ir.IntegerAttr.get(ir.IndexType.get(), number)
        place = _create("arith.constant", [], value=index)
        ir.Operation.create("memref.store", operands=[address, buffer, place])
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
    address = _create("memref.extract_aligned_pointer_as_index", [buffer])
    return ir.Operation.create("arith.index_cast", [word], [address]).results[0]


def _offset(value: Any) -> Any:
    """Returns a buffer's offset in elements."""
    index = ir.IndexType.get()
    type_ = value.type
    element = ir.MemRefType.get([], type_.element_type, None, type_.memory_space)
    results = [element, index, *[index] * (2 * type_.rank)]
    return ir.Operation.create("memref.extract_strided_metadata", results, [value]).results[1]


def _create(name: str, operands: list[Any], **attributes: Any) -> Any:
    """Returns the result of a new operation on indices."""
    return ir.Operation.create(name, [ir.IndexType.get()], operands, attributes=attributes).results[
        0
    ]


def _global(value: Any, name: str, function: ir_util.Op) -> Any:
    """Returns a constant tensor as a buffer."""
    type_ = ir.MemRefType.get(list(value.type.shape), value.type.element_type)
    with ir.InsertionPoint(function):
        ir.Operation.create(
            "memref.global",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(type_),
                "initial_value": value.owner.attributes["value"],
                "constant": ir.UnitAttr.get(),
            },
        )
    return ir.Operation.create(
        "memref.get_global", [type_], attributes={"name": ir.FlatSymbolRefAttr.get(name)}
    ).results[0]
