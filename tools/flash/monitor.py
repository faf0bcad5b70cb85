"""Follows a board's console to the record that ends it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tools.cli import UserError
from tools.flash.image import Image
from tools.flash.job import Console
from tools.run import result

_ENDS = ("PASS", "FAIL", "ERROR", "TRAP")
# A board has no exit status: what it says within this time after PASS still counts.
_AFTER_SECONDS = 1.0


def judge(outcome: result.Outcome, image: Image) -> result.Verdict:
    """Decides whether a run passed, and whether it was a run of this image: another may still be in the flash."""
    verdict = result.judge(outcome)
    boots, kernels = outcome.records("BOOT"), outcome.records("KERNEL")
    if not verdict.ok or not image.models or kernels:
        return verdict
    if not boots:
        return result.Verdict(False, "the firmware did not say what it is: it has no BOOT record")
    ran = tuple(outcome.models())
    board = boots[-1].field("board")
    if (board, ran) == (image.board, image.models):
        return verdict
    return result.Verdict(
        False,
        f"another image ran: {', '.join(ran) or 'no model'} for {board}, and not"
        f" {', '.join(image.models)} for {image.board}; check that the board boots what was flashed",
    )


def follow(
    console: Console, deadline_seconds: float, on_line: Callable[[str], None]
) -> result.Outcome:
    """Reads until a record says that the firmware has ended, or the deadline passes."""
    lines: list[str] = []
    rest = b""
    ended = False
    end = time.monotonic() + deadline_seconds
    while time.monotonic() < end:
        try:
            rest += console.read()
        except UserError:
            if not ended:
                raise
            break  # a board may switch itself off when it is done
        *whole, rest = rest.split(b"\n")
        for raw in whole:
            # A boot loader may end lines the other way around.
            line = raw.decode("utf-8", "replace").strip("\r")
            lines.append(line)
            on_line(line)
        if not ended and any(record.kind in _ENDS for record in result.parse(lines[-len(whole) :])):
            ended = True
            end = min(end, time.monotonic() + _AFTER_SECONDS)
    return result.Outcome(tuple(lines), 0 if ended else None)
