"""Reads and checks the part of board.json that flashing needs."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.cli import UserError

Settings = Mapping[str, object]


@dataclasses.dataclass(frozen=True, slots=True)
class _Kind:
    """What a setting may be: `what` completes "use ..."."""

    what: str
    holds: Callable[[object], bool]


def _number(low: int, high: int, multiple: int = 1) -> _Kind:
    def holds(value: object) -> bool:
        try:
            found = int(str(value), 0)
        except ValueError:
            return False
        return low <= found <= high and found % multiple == 0

    of = f" that {multiple} divides" if multiple > 1 else ""
    return _Kind(f"a number from {low:#x} to {high:#x}{of}", holds)


def _text(pattern: str, what: str) -> _Kind:
    def holds(value: object) -> bool:
        return isinstance(value, str) and re.fullmatch(pattern, value) is not None

    return _Kind(what, holds)


def _one_of(*choices: str) -> _Kind:
    return _Kind(" or ".join(choices), lambda value: value in choices)


CODE_SUFFIXES = (".cfg", ".tcl")
_MAX_FILES = 16
_MAX_REGIONS = 64
_MAX_FILE_BYTES = 1 << 20
# Sizes are held in memory.
_GIB = 1 << 30
_NAME = _text(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}", "at most 64 letters, digits and _.+-")
# A hyphen at the beginning would be an option of the program that is given it.
_WORD = _text(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,63}", "at most 64 letters, digits and _.:-")
_TYPED = _text(r"[ -~]{1,32}", "1 to 32 characters of ASCII that print")
_TITLE = _text(r"[^\x00-\x1f]{1,200}", "1 to 200 characters")
_CONFIG = _text(
    r"(?=.{1,200}$)[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*\.(cfg|tcl)",
    "names of .cfg or .tcl files in the board's folder or below",
)
_CONFIGS = _Kind(
    f"a list of 1 to {_MAX_FILES} {_CONFIG.what}",
    lambda value: (
        isinstance(value, list) and 1 <= len(value) <= _MAX_FILES and all(map(_CONFIG.holds, value))
    ),
)
_ADDRESS = _number(0, 2**64 - 1)
_BAUD = _number(50, 100_000_000)

# The last is Kendryte's, which starts the K230's other core.
_START = _one_of("go", "boot_baremetal 1")

# Method -> setting -> (must be there, what it may be).
METHODS: dict[str, dict[str, tuple[bool, _Kind]]] = {
    "openocd": {
        "config": (True, _CONFIGS),
        "kind": (True, _one_of("flash", "ram")),
        "address": (False, _ADDRESS),
    },
    "uboot-serial": {
        "baud": (True, _BAUD),
        "load": (True, _ADDRESS),
        "start": (True, _START),
        "protocol": (True, _one_of("ymodem")),
        "prompt": (False, _TYPED),
        "stop": (False, _TYPED),
    },
    "uboot-tftp": {
        "baud": (False, _BAUD),
        "load": (True, _ADDRESS),
        "start": (True, _START),
        "prompt": (False, _TYPED),
        "stop": (False, _TYPED),
    },
    "litex-serial": {"baud": (True, _BAUD), "load": (True, _number(0, 2**32 - 1))},
    "fastboot": {"partition": (True, _WORD)},
    "dfu": {
        "alt": (True, _text(r"[!-,.-~][ -~]{0,127}", "1 to 128 characters, the first no hyphen")),
        "device": (
            False,
            _text(r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}", "VENDOR:PRODUCT in hexadecimal"),
        ),
    },
    "sdcard": {
        # Its partition begins at 1 MiB.
        "size": (True, _number(2 << 20, 2 * _GIB, 512)),
        "stage": (True, _ADDRESS),
        # It is written into U-Boot's script.
        "interface": (
            False,
            _text(r"[a-z]{1,16} [0-9a-f]{1,4}(:[0-9a-f]{1,4})?", "INTERFACE DEVICE:PARTITION"),
        ),
    },
    "esptool": {"chip": (True, _WORD), "offset": (True, _number(0, 2**32 - 1))},
    "copy": {"label": (True, _text(r"[^/\x00-\x1f]{1,64}", "1 to 64 characters without /"))},
    "pflash": {"size": (True, _number(1, _GIB))},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Region:
    """Memory of the board, in bytes."""

    name: str
    origin: int
    length: int

    def holds(self, address: int, size: int) -> bool:
        """Whether [address, address + size) lies inside."""
        return self.origin <= address and size <= self.length - (address - self.origin)


@dataclasses.dataclass(frozen=True, slots=True)
class Board:
    """A board as flashing sees it; `folder` is where its other files lie."""

    name: str
    title: str
    folder: Path
    regions: tuple[Region, ...]
    default: str
    methods: Mapping[str, Settings]

    def settings(self, method: str) -> Settings:
        """Settings of a method; UserError when the board has no such method."""
        if method not in self.methods:
            raise UserError(
                f"{self.name} cannot be flashed by {method}: its methods are "
                f"{', '.join(self.methods)}"
            )
        return self.methods[method]


def number(settings: Settings, key: str, default: int = 0) -> int:
    """A setting that board.json may write as a number or as "0x..." text."""
    return int(str(settings.get(key, default)), 0)


def read(path: Path) -> Board:
    """Reads board.json; UserError names the first thing that is wrong with it."""
    try:
        if not path.is_file() and path.exists():
            raise UserError(f"{path} is no file: name a board.json")
        with path.open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > _MAX_FILE_BYTES:
        raise UserError(f"{path} has more than {_MAX_FILE_BYTES} bytes: no board.json is so large")
    try:
        data = json.loads(content.decode())
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text: {error}") from error
    # A number with thousands of digits is a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or "name" not in data:
        raise UserError(f"{path} does not describe a board: it has no `name`")
    name, title = data["name"], data.get("title", data["name"])
    for key, value, kind in (("name", name, _NAME), ("title", title, _TITLE)):
        if not kind.holds(value):
            raise UserError(f"{path}: {key} cannot be {_short(value)}: use {kind.what}")
    flash = data.get("flash")
    if not isinstance(flash, dict) or not flash.get("methods"):
        raise UserError(
            f"{name} has no `flash` in its board.json: it only runs in an emulator "
            "(`tools/bazel run --board=LABEL X` boots it there); choose another board with --board=LABEL"
        )
    methods = flash["methods"]
    if not isinstance(methods, dict):
        raise UserError(f"{path}: flash.methods is not an object")
    for method, settings in methods.items():
        _check(path, method, settings)
    default = flash.get("default")
    if not isinstance(default, str) or default not in methods:
        raise UserError(
            f"{path}: flash.default is {_short(default)}, not one of {', '.join(methods)}"
        )
    return Board(name, title, path.parent, _regions(path, data.get("memory")), default, methods)


def _regions(path: Path, memory: object) -> tuple[Region, ...]:
    if not isinstance(memory, list) or len(memory) > _MAX_REGIONS:
        raise UserError(f"{path}: `memory` is not a list of at most {_MAX_REGIONS} regions")
    regions = []
    for region in memory:
        if not isinstance(region, dict) or not {"name", "origin", "length"} <= set(region):
            raise UserError(f"{path}: `memory` needs name, origin and length, not {_short(region)}")
        origin, length = region["origin"], region["length"]
        if not (
            _NAME.holds(region["name"])
            and _ADDRESS.holds(origin)
            and _number(1, 2**64).holds(length)
            and int(str(origin), 0) + int(str(length), 0) <= 2**64
        ):
            raise UserError(
                f"{path}: `memory` has no such region as {_short(region)}: use a name of {_NAME.what}, and "
                "an origin and a length within 64 bits"
            )
        regions.append(Region(region["name"], int(str(origin), 0), int(str(length), 0)))
    return tuple(regions)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _check(path: Path, method: str, settings: object) -> None:
    if method not in METHODS:
        raise UserError(
            f"{path}: {_short(method)[1:-1]} is no flashing method: use {', '.join(METHODS)}"
        )
    known = METHODS[method]
    if not isinstance(settings, dict):
        raise UserError(f"{path}: flash.methods.{method} is not an object")
    for key in settings:
        if key not in known:
            raise UserError(
                f"{path}: {method} has no setting {_short(key)[1:-1]}: use {', '.join(known)}"
            )
    for key, (required, kind) in known.items():
        if key not in settings:
            if required:
                raise UserError(f"{path}: {method} lacks its setting {key}")
        elif not kind.holds(settings[key]):
            raise UserError(
                f"{path}: {method}.{key} cannot be {_short(settings[key])}: use {kind.what}"
            )
