"""Reads tuning.json, which replaces what IREE and bmc choose for the kernels of a model.

    {"rv64gcv_zvl256b": {"matmul_128x512x128_f32": {"vector_common_parallel": [3, 64, 0]},
                         "conv_16x32x32x3x3x16_f32": {"lmul": 4, "rows": 6},
                         "conv_8x8x64x3x3x64_f32": {"library": null},
                         "matvec_like_10x64_f32": {"kernel": "iree"}}}

The keys are instruction sets, then dispatch functions or their op signatures. An entry has tile sizes of IREE's
kernel by tiling level, or choices about bmc's own (bmc/kernels/schedule/choice.py), or says only that it shall be
IREE's, or which function of a kernel library computes it, null for none.

An instruction set may also have {"layout": "hwc"}, which keeps images channels-last, and {"wide_weights": BYTES},
the flash that weights of int8 in 16 bits may take more. X.tune writes such files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bmc import target as targets
from bmc.errors import BmcError
from bmc.kernels.schedule import choice
from bmc.kernels.schedule.choice import DEFAULT, Choice
from bmc.rewrites.iree.tiles.root import Levels
from bmc.target import Target

_KERNEL, _IREE, _INSTEAD_OF = "kernel", "iree", "instead_of"
_LIBRARY = "library"
_LAYOUT, _HWC = "layout", "hwc"
_WIDE_WEIGHTS = "wide_weights"
# Choices that had other names.
_RENAMED = {"shares": "reuses", "stages": "widens", "waits": "spills"}
# More than a loop of any kernel has, and fits IREE's attributes.
_LARGEST_SIZE = 2**31 - 1
# More than any flash has.
_MOST_BYTES = 2**40


@dataclass(frozen=True)
class Entry:
    """What a dispatch has instead of the defaults.

    Attributes:
      levels: tile sizes of IREE's kernel.
      choice: choices about a kernel of bmc's own; DEFAULT for an entry about IREE's.
      instead_of: digests of the kernels that its dispatches had without it when it was made; () if it does not say.
      library: function of a kernel library that computes it; None for no library, "" to leave that to matchers.
    """

    levels: Levels
    choice: Choice
    instead_of: tuple[str, ...]
    library: str | None = ""

    @property
    def is_own(self) -> bool:
        return self.choice != DEFAULT

    @property
    def is_iree(self) -> bool:
        """Whether it wants IREE's kernel. What is about a library leaves that to the compiler."""
        return not self.is_own and self.library == ""


@dataclass(frozen=True)
class Tuning:
    """The part of tuning.json for one instruction set.

    Attributes:
      file: name of the file, "" if there is none.
      pixels: whether images stay channels-last.
      wide_weights: bytes of flash that weights of int8 may take more in 16 bits; None for the default.
      entries: by dispatch function or op signature.
    """

    file: str = ""
    pixels: bool = False
    wide_weights: int | None = None
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def of(self, function: str, op: str) -> Entry | None:
        """Returns the entry of a dispatch: its own, or that of all with this op."""
        return self.entries.get(function, self.entries.get(op))

    def without_libraries(self) -> Tuning:
        """Returns what it has for a model that is compiled without kernel libraries."""
        left = {key: entry for key, entry in self.entries.items() if entry.library == ""}
        return replace(self, entries=left)


def digest(text: str) -> str:
    """Returns what an entry's `instead_of` has for the kernel that `text` describes."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def read(path: Path, target: Target) -> Tuning:
    """Returns what a file has for `target`; raises BmcError if it is malformed."""
    name = path.name
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise BmcError("bad-tuning", f"'{name}' is nested too deeply to be a tuning file") from None
    except ValueError as error:
        raise BmcError("bad-tuning", f"'{name}' is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise _bad(f"'{name}' is not a JSON object")
    for isa in data:
        if isa not in targets.ISA_NAMES:
            raise BmcError(
                "bad-tuning",
                f"'{isa}' in '{name}' is not an instruction set",
                hint=f"use {', '.join(targets.ISA_NAMES)}",
            )
    dispatches = data.get(target.isa, {})
    if not isinstance(dispatches, dict):
        raise _bad(f"'{target.isa}' in '{name}' is not an object of dispatches")
    layout = dispatches.get(_LAYOUT, "")
    if layout not in ("", _HWC):
        raise _bad(f"'{_LAYOUT}' in '{name}' is not \"{_HWC}\"")
    wide_weights = dispatches.get(_WIDE_WEIGHTS)
    if wide_weights is not None and not _is_number(wide_weights, _MOST_BYTES):
        raise _bad(
            f"'{_WIDE_WEIGHTS}' in '{name}' is not a number of bytes from 0 to {_MOST_BYTES:,}"
        )
    entries = {
        key: _entry(key, entry, name)
        for key, entry in dispatches.items()
        if key not in (_LAYOUT, _WIDE_WEIGHTS)
    }
    return Tuning(name, layout == _HWC, wide_weights, entries)


def _bad(message: str) -> BmcError:
    return BmcError("bad-tuning", message, hint="see compiler/bmc/rewrites/kernels/tuning.py")


def _is_number(value: Any, most: int) -> bool:
    # True is 1 in Python, but not in JSON.
    return type(value) is int and 0 <= value <= most


def _entry(key: str, data: Any, file: str) -> Entry:
    if not isinstance(data, dict):
        raise _bad(f"'{key}' in '{file}' is not an object of tile sizes or choices")
    left = dict(data)
    instead_of = left.pop(_INSTEAD_OF, [])
    if not isinstance(instead_of, list) or not all(isinstance(each, str) for each in instead_of):
        raise _bad(f"'{_INSTEAD_OF}' of '{key}' in '{file}' is not a list of strings")
    if _LIBRARY in left:
        return _of_library(key, left, tuple(instead_of), file)
    kernel = left.pop(_KERNEL, "")
    if kernel not in ("", _IREE):
        raise _bad(f"'{_KERNEL}' of '{key}' in '{file}' is not \"{_IREE}\"")
    chosen = {name: left.pop(name) for name in choice.VALUES if name in left}
    for name, value in chosen.items():
        _check(name, value, key, file)
    for name in left:
        if name in _RENAMED:
            raise _bad(f"'{name}' of '{key}' in '{file}' is called '{_RENAMED[name]}' now")
    for level, sizes in left.items():
        if not isinstance(sizes, list) or not all(
            _is_number(size, _LARGEST_SIZE) for size in sizes
        ):
            raise _bad(
                f"'{level}' of '{key}' in '{file}' is not a list of sizes from 0 to {_LARGEST_SIZE:,}, and no choice:"
                f" those are {', '.join(choice.VALUES)}"
            )
    if chosen and (left or kernel):
        raise _bad(
            f"'{key}' in '{file}' has both '{next(iter(chosen))}', which is about a kernel of bmc's own,"
            f" and '{next(iter(left), _KERNEL)}', which is about IREE's"
        )
    if not (chosen or left or kernel):
        raise _bad(f"'{key}' in '{file}' chooses nothing")
    return Entry(
        {level: tuple(sizes) for level, sizes in left.items()}, Choice(**chosen), tuple(instead_of)
    )


def _of_library(key: str, data: dict[str, Any], instead_of: tuple[str, ...], file: str) -> Entry:
    library = data.pop(_LIBRARY)
    # It is a function of C.
    if library is not None and not (
        isinstance(library, str) and library.isascii() and library.isidentifier()
    ):
        raise _bad(
            f"'{_LIBRARY}' of '{key}' in '{file}' is neither the name of a function nor null"
        )
    if data:
        raise _bad(
            f"'{key}' in '{file}' has both '{_LIBRARY}' and '{next(iter(data))}', which is about a kernel"
        )
    return Entry({}, DEFAULT, instead_of, library)


def _check(name: str, value: Any, key: str, file: str) -> None:
    """Raises BmcError for a value that a choice cannot have."""
    values = choice.VALUES[name]
    # True is 1 in Python, but not in JSON.
    if type(value) is type(values[0]) and value in values:
        return
    if values == (False, True):
        allowed = "true or false"
    elif name == "lmul":
        allowed = ", ".join(map(str, values))
    else:
        allowed = f"{values[0]} to {values[-1]}"
    raise _bad(f"'{name}' of '{key}' in '{file}' is not one of its values: {allowed}")
