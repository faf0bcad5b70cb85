"""Archives for kernels of an ISA without floats: functions for the instructions it lacks.

They lie beside this file, a folder for each ISA, where a package was built with them. A source tree has none.
"""

from __future__ import annotations

from pathlib import Path


def archives(isa: str) -> tuple[Path, ...]:
    """Returns the archives for an ISA, first what is searched first; none if it needs none."""
    return tuple(sorted(Path(__file__).with_name(isa).glob("*.a")))
