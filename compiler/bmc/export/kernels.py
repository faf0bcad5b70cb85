"""Kernel libraries of exported models: their sources and headers, and how they are compiled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bmc.errors import BmcError

_LANGUAGES = {".c": "C", ".cc": "CXX", ".cpp": "CXX", ".S": "ASM"}


@dataclass(frozen=True)
class KernelLibrary:
    """A kernel library.

    Attributes:
      sources, headers: files by the path that `#include` would give.
      options: more options for the compiler.
      devices: what its code drives, by name.
    """

    sources: Mapping[str, Path]
    headers: Mapping[str, Path]
    options: tuple[str, ...]
    devices: tuple[str, ...]

    @property
    def languages(self) -> frozenset[str]:
        """The languages of its sources, as CMake names them."""
        return frozenset(_LANGUAGES[Path(place).suffix] for place in self.sources)


def read_libraries(description: Path) -> tuple[KernelLibrary, ...]:
    """Reads what bm_export wrote about a model's libraries; raises BmcError if an export cannot carry one.

    Args:
      description: JSON, with paths relative to the working directory.
    """
    libraries = tuple(
        KernelLibrary(
            {place: Path(path) for place, path in each["sources"].items()},
            {place: Path(path) for place, path in each["headers"].items()},
            tuple(each["options"]),
            tuple(each["devices"]),
        )
        for each in json.loads(description.read_text(encoding="utf-8"))
    )
    for place in (place for library in libraries for place in library.sources):
        if Path(place).suffix not in _LANGUAGES:
            known = ", ".join(_LANGUAGES)
            raise BmcError(
                "not-exported",
                f"'{place}' of a kernel library is no source that an export builds",
                hint=f"its name must end in one of {known}",
            )
    return libraries
