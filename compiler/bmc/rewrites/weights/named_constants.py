"""Constants become named globals.

Every large tensor constant becomes a util.global, and iree-opt then moves the bytes of all globals into a
parameter archive. That leaves a few kilobytes of IR in which each weight is a key. Later phases take
milliseconds, and the host program names every weight it reads.
"""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir

from bmc.errors import BmcError
from bmc.ir import build, contraction, ir_util, names
from bmc.rewrites.model_context import RESET

# Smaller constants are better inlined into kernels, where IREE puts them by itself. There are two exceptions. IREE
# keeps resources as buffers, and VM bytecode loses their bytes. And later rewrites store the weights of convolutions in
# another order, however few they are.
_SMALLEST_WEIGHT_BYTES = 256


# The bindings cannot read attributes of complex numbers.
_IS_SPLAT = re.compile(r"arith\.constant dense<\(")


def apply(module: Any, _: object) -> None:
    """Rewrites constants to loads of globals."""
    first = module.body.operations[0]
    constants = [op for op in ir_util.walk(module.operation) if _is_weight(op)]
    for index, op in enumerate(constants):
        name = f"weight{index}"
        tensor_type = op.results[0].type
        with ir.InsertionPoint(first):
            ir.Operation.create(
                names.GLOBAL,
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "sym_visibility": ir.StringAttr.get("private"),
                    "type": ir.TypeAttr.get(tensor_type),
                    "initial_value": op.attributes["value"],
                },
            )
        with ir.InsertionPoint(op):
            load = build.load(ir.FlatSymbolRefAttr.get(name), tensor_type)
        op.results[0].replace_all_uses_with(load)
        op.erase()


def _is_weight(op: ir_util.Op) -> bool:
    if op.name != "arith.constant":
        return False
    tensor_type = op.results[0].type
    if not isinstance(tensor_type, ir.RankedTensorType):
        return False
    if isinstance(tensor_type.element_type, ir.ComplexType):
        _refuse_complex(op)
        return False
    if _function(op) == RESET and _is_splat(op.attributes["value"]):
        return False  # a state that starts as zeros takes no flash
    if ir_util.tensor_bytes(tensor_type) >= _SMALLEST_WEIGHT_BYTES:
        return True
    is_resource = str(op.attributes["value"]).startswith("dense_resource<")
    return is_resource or (_is_of_convolution(op) and not _is_splat(op.attributes["value"]))


def _refuse_complex(op: ir_util.Op) -> None:
    """Raises BmcError for a complex constant whose elements differ: neither bmc nor IREE's host program stores one."""
    if not _IS_SPLAT.search(str(op)):
        raise BmcError(
            "complex-constant",
            "the model has a constant tensor of complex numbers",
            where=ir_util.place([op]),
            hint="keep its real and imaginary parts in two constants, and make complex numbers of those",
        )


def _is_of_convolution(op: ir_util.Op) -> bool:
    readers = [reader for reader, place in ir_util.uses(op.results[0]) if place == 1]
    return any(
        contraction.read(reader) is not None and contraction.reads_windows(reader)
        for reader in readers
    )


def _function(op: ir_util.Op) -> str:
    """Name of the function that contains an operation, "" if there is none."""
    while op is not None and "sym_name" not in op.attributes:
        op = op.parent
    return ir_util.string(op, "sym_name") if op is not None else ""


def _is_splat(value: Any) -> bool:
    return isinstance(value, ir.DenseElementsAttr) and bool(value.is_splat)
