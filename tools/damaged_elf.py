"""What an ELF with wrong numbers in it makes of its reader."""

from __future__ import annotations

import struct

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError

# What reading raises then. Their texts speak of the parser.
ERRORS = (
    ELFError,
    ConstructError,
    AttributeError,
    KeyError,
    IndexError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
