"""Numbers of the runtime's headers, for programs that speak with it."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).absolute().parents[3]


def constants(header: str, prefix: str) -> dict[str, int]:
    """Returns the enumerators of a header that begin with `prefix` and are numbers, by the rest of their names.

    header: its path in the repository; the caller has it as data.
    """
    text = (_ROOT / header).read_text()
    return {name: int(value) for name, value in re.findall(rf"\b{prefix}(\w+) = (\d+),", text)}
