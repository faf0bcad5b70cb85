"""Which dispatches add up products, and in which element type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.names import LIBRARY_PREFIX, op_signature

_PRODUCT = re.compile(
    r"linalg\.(\w*conv_|\w*matmul|\w*mmt4d|batch_matvec|batch_vecmat|contract|dot|matvec|vecmat)"
    r"|iree_linalg_ext\.(online_)?attention"
)
_MULTIPLICATIONS = ("arith.mulf", "arith.muli")
_ADDITIONS = ("arith.addf", "arith.addi")
_LOCATION = re.compile(r'"([^"]+)":(\d+):\d+')


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products in a dispatch.

    Attributes:
      function: dispatch function.
      op: its op signature.
      accumulator: MLIR element type of the sum.
      where: "model.py:42", or "".
    """

    function: str
    op: str
    accumulator: str
    where: str

    @property
    def is_integer(self) -> bool:
        return self.accumulator.startswith("i")


def read(module: Any) -> tuple[Product, ...]:
    """Returns the products of a module (phase executable-configurations), in program order."""
    found = []
    for function in ir_util.all_of(module, "func.func"):
        name = ir_util.string(function, "sym_name")
        for op in ir_util.walk(function):
            accumulator = _accumulator(op)
            if accumulator:
                found.append(Product(name, op_signature(name), accumulator, _line(op)))
    return tuple(found)


def _accumulator(op: ir_util.Op) -> str:
    """Element type in which a product is added up, "" if `op` is no product."""
    if _PRODUCT.match(op.name):
        return str(op.operands[len(op.operands) - 1].type.element_type)
    if op.name != "linalg.generic":
        return ""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    reductions = {
        f"d{loop}"
        for loop, kind in enumerate(op.attributes["iterator_types"])
        if "reduction" in str(kind)
    }
    block = op.regions[0].blocks[0]
    summed = {
        argument
        for argument, indexing in zip(block.arguments, maps, strict=True)
        if reductions & set(re.findall(r"d\d+", " ".join(map(str, indexing.results))))
    }
    yielded = list(list(block.operations)[-1].operands)
    outputs = list(block.arguments)[-len(yielded) :]
    for value, output in zip(yielded, outputs, strict=True):
        if any(_multiplies(term, summed) for term in _added_to(value, output)):
            return str(value.type)
    return ""


def _added_to(value: Any, output: Any) -> list[Any]:
    """Returns what `value` adds to the accumulator `output`."""
    definition = _definition(value)
    if definition is None or definition.name not in _ADDITIONS or output not in definition.operands:
        return []
    return [operand for operand in definition.operands if operand != output]


def _multiplies(value: Any, summed: set[Any]) -> bool:
    """True if `value` has a product of two different inputs that both vary along the sum.

    A square is no product of two inputs (variance); nor is the scale of an int32, which is a sum of
    products itself (requantisation).
    """
    definition = _definition(value)
    if definition is None:
        return False
    if definition.name in _MULTIPLICATIONS:
        left, right = (_inputs(operand, summed) for operand in definition.operands)
        if left and right and left != right:
            return True
    return any(_multiplies(operand, summed) for operand in definition.operands)


def _inputs(value: Any, summed: set[Any]) -> set[Any]:
    definition = _definition(value)
    if definition is None:
        return {value} & summed if str(value.type) != "i32" else set()
    return {found for operand in definition.operands for found in _inputs(operand, summed)}


def _definition(value: Any) -> Any:
    """The operation that computes `value`, None for an argument of the body."""
    return None if isinstance(value.owner, ir.Block) else value.owner


def _line(op: ir_util.Op) -> str:
    for file, line in _LOCATION.findall(str(op.location)):
        if not file.startswith(LIBRARY_PREFIX):
            return f"{file}:{line}"
    return ""
