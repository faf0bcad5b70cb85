"""Lists the dispatches that add up products, and the element type of each sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bmc.ir import contraction, ir_util, names
from bmc.names import op_signature


@dataclass(frozen=True, slots=True)
class ProductDispatch:
    """A sum of products in a dispatch.

    Attributes:
      function: name of the dispatch function.
      op: its op signature.
      accumulator: MLIR element type of the sum.
      where: the model line, such as "model.py:42"; "" if unknown.
    """

    function: str
    op: str
    accumulator: str
    where: str

    @property
    def is_integer(self) -> bool:
        return self.accumulator.startswith("i")


def read(module: Any) -> tuple[ProductDispatch, ...]:
    """Returns the products of a module (phase executable-configurations), in program order."""
    found = []
    for function in ir_util.all_of(module, names.KERNEL_FUNCTION):
        name = ir_util.string(function, "sym_name")
        for op in ir_util.walk(function):
            accumulator = contraction.accumulator(op)
            if accumulator:
                found.append(
                    ProductDispatch(name, op_signature(name), accumulator, ir_util.place([op]))
                )
    return tuple(found)
