"""Scalar registers with the constants of an epilogue, which are set once, before all loops."""

from __future__ import annotations

import collections

from bmc.kernels.dtypes import FLOATS
from bmc.kernels.problem.product import Node
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly, Constants

# Operations whose rounding mode is in the CSR vxrm.
_ROUNDING = {"requantize", "rounding_shift", "fixed_multiply"}


def floats(nodes: tuple[Node, ...]) -> list[tuple[str, int]]:
    """Returns the distinct float constants, as their dtype and bits."""
    constants = (node for node in nodes if node.op == "constant" and node.dtype in FLOATS)
    return list(dict.fromkeys((node.dtype, node.bits) for node in constants))


def hoisted(
    out: Assembly, nodes: tuple[Node, ...], max_floats: int, reserved: int | None = None
) -> Constants:
    """Emits the rounding mode and the constants of an epilogue.

    Args:
      out: receives the instructions.
      nodes: the epilogue.
      max_floats: float registers for constants, at most. Other floats are set where they are read.
      reserved: integer registers that must stay free. None sets all integers where they are read.

    Returns:
      the registers of the constants.
    """
    if any(node.op in _ROUNDING for node in nodes):
        out.emit(rvv.round_to_nearest_up())
    constants = {each: out.take_float() for each in floats(nodes)[:max_floats]}
    for (dtype, bits), register in constants.items():
        out.set_float(register, dtype, bits)
    for value in _integers(nodes) if reserved is not None else ():
        if out.left <= (reserved or 0):
            break
        constants["i32", value] = out.register()
        out.set(constants["i32", value], value)
    return constants


def _integers(nodes: tuple[Node, ...]) -> list[int]:
    """Returns the integer constants that do not fit into immediates, the most used one first."""
    uses = collections.Counter(
        int(nodes[arg].value)
        for node in nodes
        for arg in node.args
        if nodes[arg].op == "constant" and nodes[arg].dtype == "i32"
    )
    return [value for value, _ in uses.most_common() if not -16 <= value < 32]
