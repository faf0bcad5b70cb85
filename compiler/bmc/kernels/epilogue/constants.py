"""Registers with what an epilogue needs all the time."""

from __future__ import annotations

import collections
import struct

from bmc.kernels.dtypes import FLOATS
from bmc.kernels.problem.product import Node
from bmc.kernels.tree import rvv
from bmc.kernels.tree.assembly import Assembly

# Registers by the type and the bits of what is in them.
Constants = dict[tuple[str, int], str]
# Operations that round as the register vxrm says.
_ROUNDING = {"requantize", "rounding_shift", "fixed_multiply"}


def floats(nodes: tuple[Node, ...]) -> list[tuple[str, int]]:
    """Returns the types and bits of the constants that are floats, each once."""
    constants = (node for node in nodes if node.op == "constant" and node.dtype in FLOATS)
    found = ((node.dtype, bits_of(node)) for node in constants)
    return list(dict.fromkeys(found))


def hoisted(
    out: Assembly, nodes: tuple[Node, ...], most: int, kept: int | None = None
) -> Constants:
    """Emits what an epilogue needs once: its rounding mode, and what sets registers to its constants.

    Args:
      out: receives the text.
      nodes: the epilogue.
      most: registers for floats, at most.
      kept: integer registers that stay free; None leaves all integers to be set where they are read.
    """
    if any(node.op in _ROUNDING for node in nodes):
        # To nearest, and up in the middle.
        out.emit(rvv.round_to_nearest_up())
    constants = {each: out.take_float() for each in floats(nodes)[:most]}
    for (dtype, bits), register in constants.items():
        set_float(out, register, dtype, bits)
    for value in _integers(nodes) if kept is not None else ():
        if out.left <= (kept or 0):
            break
        constants["i32", value] = out.register()
        out.set(constants["i32", value], value)
    return constants


def _integers(nodes: tuple[Node, ...]) -> list[int]:
    """Returns the integers that are in no instruction, those that most nodes read first."""
    found = collections.Counter(
        int(nodes[arg].value)
        for node in nodes
        for arg in node.args
        if nodes[arg].op == "constant" and nodes[arg].dtype == "i32"
    )
    return [value for value, _ in found.most_common() if not -16 <= value < 32]


def bits_of(constant: Node) -> int:
    """Returns the bits of a constant that is a float."""
    integer, number = ("<h", "<e") if constant.dtype == "f16" else ("<i", "<f")
    (bits,) = struct.unpack(integer, struct.pack(number, constant.value))
    return int(bits)


def set_float(out: Assembly, register: str, dtype: str, bits: int) -> None:
    """Emits a constant."""
    with out.registers(1) as (number,):
        out.set(number, bits)
        out.emit(rvv.float_of_bits(dtype, register, number))
