"""What must hold before anything is written."""

from __future__ import annotations

from tools.cli import UserError
from tools.flash.board import Board
from tools.flash.image import Image


def check_image(image: Image, board: Board) -> None:
    """Refuses an image that was built for another board, or does not fit this one's memory."""
    if image.board != board.name:
        raise UserError(
            f"{image.path.name} is built for {image.board}, not for {board.name}: "
            f"build it with the label of {board.name} as --board=LABEL"
        )
    # Where it is loaded, then what it takes when it runs.
    ranges = [(segment.address, len(segment.data)) for segment in image.segments]
    for address, size in (*ranges, *image.memory):
        if not any(r.holds(address, size) for r in board.regions):
            regions = ", ".join(f"{r.name} {r.origin:#x}+{r.length:#x}" for r in board.regions)
            raise UserError(
                f"{image.path.name} has {size} bytes for {address:#x}, which no memory of "
                f"{board.name} holds ({regions}): use a smaller model or quantize it"
            )


def check_room(image: Image, size: int, room: int, where: str) -> None:
    """Refuses an image that is larger than what it is written to."""
    if size > room:
        raise UserError(
            f"{image.path.name} takes {size} bytes and {where} has {room}: use a smaller model "
            "or quantize it"
        )
