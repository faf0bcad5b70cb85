"""Reads and checks the part of board.json that flashing needs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tools.flash.errors import FlashError

Settings = Mapping[str, object]


def _number(value: object) -> bool:
    try:
        return int(str(value), 0) >= 0
    except ValueError:
        return False


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _texts(value: object) -> bool:
    return isinstance(value, list) and value != [] and all(_text(item) for item in value)


def _one_of(*choices: str) -> Callable[[object], bool]:
    return lambda value: value in choices


# The last is Kendryte's, which starts the K230's other core.
_START = _one_of("go", "boot_baremetal 1")

# Method -> setting -> (must be there, check).
METHODS: dict[str, dict[str, tuple[bool, Callable[[object], bool]]]] = {
    "openocd": {
        "config": (True, _texts),
        "kind": (True, _one_of("flash", "ram")),
        "address": (False, _number),
    },
    "uboot-serial": {
        "baud": (True, _number),
        "load": (True, _number),
        "start": (True, _START),
        "protocol": (True, _one_of("ymodem")),
        "prompt": (False, _text),
        "stop": (False, _text),
    },
    "uboot-tftp": {
        "baud": (False, _number),
        "load": (True, _number),
        "start": (True, _START),
        "prompt": (False, _text),
        "stop": (False, _text),
    },
    "litex-serial": {"baud": (True, _number), "load": (True, _number)},
    "fastboot": {"partition": (True, _text)},
    "dfu": {"alt": (True, _text), "device": (False, _text)},
    "sdcard": {
        "size": (True, _number),
        "stage": (True, _number),
        "interface": (False, _text),
    },
    "esptool": {"chip": (True, _text), "offset": (True, _number)},
    "copy": {"label": (True, _text)},
    "pflash": {"size": (True, _number)},
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
        """Settings of a method; FlashError when the board has no such method."""
        if method not in self.methods:
            raise FlashError(
                f"{self.name} cannot be flashed by {method}: its methods are "
                f"{', '.join(self.methods)}"
            )
        return self.methods[method]


def number(settings: Settings, key: str, default: int = 0) -> int:
    """A setting that board.json may write as a number or as "0x..." text."""
    return int(str(settings.get(key, default)), 0)


def read(path: Path) -> Board:
    """Reads board.json; FlashError names the first thing that is wrong with it."""
    try:
        text = path.read_text()
    except OSError as error:
        raise FlashError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FlashError(f"{path} is not text: {error}") from error
    try:
        data = json.loads(text)
    # A number with thousands of digits is a ValueError, deep nesting a RecursionError.
    except (ValueError, RecursionError) as error:
        raise FlashError(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict) or "name" not in data:
        raise FlashError(f"{path} does not describe a board: it has no `name`")
    name = str(data["name"])
    flash = data.get("flash")
    if not isinstance(flash, dict) or not flash.get("methods"):
        raise FlashError(
            f"{name} has no `flash` in its board.json: it only runs in an emulator "
            "(`bazel run` without .flash); choose another board with --board=LABEL"
        )
    methods = flash["methods"]
    if not isinstance(methods, dict):
        raise FlashError(f"{path}: flash.methods is not an object")
    for method, settings in methods.items():
        _check(path, method, settings)
    default = flash.get("default")
    if not isinstance(default, str) or default not in methods:
        raise FlashError(f"{path}: flash.default is {default!r}, not one of {', '.join(methods)}")
    try:
        regions = tuple(
            Region(r["name"], int(r["origin"], 0), int(r["length"], 0)) for r in data["memory"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FlashError(f"{path}: `memory` needs name, origin and length: {error}") from error
    return Board(name, str(data.get("title", name)), path.parent, regions, default, methods)


def _check(path: Path, method: str, settings: object) -> None:
    if method not in METHODS:
        raise FlashError(f"{path}: {method} is no flashing method: use {', '.join(METHODS)}")
    known = METHODS[method]
    if not isinstance(settings, dict):
        raise FlashError(f"{path}: flash.methods.{method} is not an object")
    for key in settings:
        if key not in known:
            raise FlashError(f"{path}: {method} has no setting {key}: use {', '.join(known)}")
    for key, (required, check) in known.items():
        if key not in settings:
            if required:
                raise FlashError(f"{path}: {method} lacks its setting {key}")
        elif not check(settings[key]):
            raise FlashError(f"{path}: {method}.{key} cannot be {settings[key]!r}")
