"""Makes the contents of a whole flash chip from an image: what emulators want for a file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ERASED = b"\xff"


class FlashImageError(Exception):
    """One sentence for the user."""


def chip_bytes(board: dict[str, Any]) -> int:
    """Returns the size of the chip that board.json describes."""
    try:
        return int(board["flash"]["methods"]["pflash"]["size"], 0)
    except (KeyError, TypeError, ValueError) as error:
        raise FlashImageError(
            f"board.json of {board.get('name', 'a board')} gives no size for its flash: set "
            "flash.methods.pflash.size"
        ) from error


def fill(image: bytes, size: int) -> bytes:
    """Returns `image` filled up to `size` bytes as erased flash reads."""
    if len(image) > size:
        raise FlashImageError(
            f"the image has {len(image):,} bytes and the flash {size:,}: use a smaller model or "
            "a board with more flash"
        )
    return image.ljust(size, ERASED)


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="flash_image", description=__doc__)
    parser.add_argument("--board", type=Path, required=True, help="board.json")
    parser.add_argument("--image", type=Path, required=True, help="raw image")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    try:
        size = chip_bytes(json.loads(options.board.read_text()))
        options.out.write_bytes(fill(options.image.read_bytes(), size))
    except FlashImageError as error:
        print(f"flash_image: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
