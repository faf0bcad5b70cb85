"""Writes .npy files without numpy, which gdb's Python does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

# MLIR element type -> numpy's. bfloat16, which numpy lacks, is stored as uint16.
_DESCRIPTIONS = {
    "bf16": "<u2", "f16": "<f2", "f32": "<f4", "f64": "<f8", "i1": "|u1", "i8": "|i1", "i16": "<i2",
    "i32": "<i4", "i64": "<i8", "u8": "|u1", "u16": "<u2", "u32": "<u4", "u64": "<u8", "bool": "|b1",
}  # fmt: skip

_MAGIC = b"\x93NUMPY\x01\x00"
_ALIGNMENT = 64


def item_bytes(dtype: str) -> int:
    """Returns the size of an element, or 0 for an unknown type."""
    return int(_DESCRIPTIONS.get(dtype, "0")[-1])


def write(path: Path, dtype: str, shape: Sequence[int], data: bytes) -> None:
    """Writes a dense row-major array; `dtype` must be known to item_bytes."""
    assert len(data) == math.prod(shape) * item_bytes(dtype)
    extents = "".join(f"{extent}, " for extent in shape)
    header = f"{{'descr': '{_DESCRIPTIONS[dtype]}', 'fortran_order': False, 'shape': ({extents})}}"
    length = -(-(len(_MAGIC) + 2 + len(header) + 1) // _ALIGNMENT) * _ALIGNMENT
    header = header.ljust(length - len(_MAGIC) - 3) + "\n"
    path.write_bytes(_MAGIC + len(header).to_bytes(2, "little") + header.encode() + data)
