"""Outlines of small networks, for tests of what is computed in strips."""

from __future__ import annotations

from bmc.strips.outline import Kind, Op, Outline
from bmc.strips.segment import Window

_PADDED = Window(1, 3, -1)


def network(*channels: int, rows: int = 32) -> Outline:
    """3x3 convolutions of an image of 32x32 pixels and 3 channels of a byte, then one sum of everything."""
    ops = [Op(Kind.INPUT, rows, 32 * 3, (), False, True)]
    for count in channels:
        bytes_ = 32 * count
        ops.append(Op(Kind.FILLER, rows, 4 * bytes_, (), True, False))
        reads = ((len(ops) - 2, _PADDED), (len(ops) - 1, Window()))
        ops.append(Op(Kind.SUM, rows, 4 * bytes_, reads, True, True))
        ops.append(Op(Kind.ELEMENTWISE, rows, bytes_, ((len(ops) - 1, Window()),), True, True))
    ops.append(Op(Kind.SUM, 10, 4, ((len(ops) - 1, None),), False, True))
    return Outline(ops)
