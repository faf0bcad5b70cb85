"""Registers with what an epilogue needs all the time."""

from __future__ import annotations

import struct

from bmc.kernels.assembly import Assembly
from bmc.kernels.product import Node

# Operations that round as the register vxrm says.
_ROUNDING = {"clipped", "rounded", "scaled"}


def floats(nodes: tuple[Node, ...]) -> list[int]:
    """Returns the bits of the constants that are floats, each once."""
    found = (bits_of(node) for node in nodes if node.op == "constant" and node.dtype == "f32")
    return list(dict.fromkeys(found))


def hoisted(out: Assembly, nodes: tuple[Node, ...], most: int) -> dict[int, str]:
    """Emits what an epilogue needs once: its rounding mode, and what sets registers to its floats.

    Returns:
      at most so many registers, by the bits in them.
    """
    if any(node.op in _ROUNDING for node in nodes):
        # To nearest, and up in the middle.
        out.emit("csrwi vxrm, 0")
    constants = {bits: out.take_float() for bits in floats(nodes)[:most]}
    for bits, register in constants.items():
        set_float(out, register, bits)
    return constants


def bits_of(constant: Node) -> int:
    """Returns the bits of a constant that is a float."""
    (bits,) = struct.unpack("<i", struct.pack("<f", constant.value))
    return int(bits)


def set_float(out: Assembly, register: str, bits: int) -> None:
    """Emits a constant."""
    with out.registers(1) as (number,):
        out.set(number, bits)
        out.emit(f"fmv.w.x {register}, {number}")
