"""Spike as a board that only a probe reaches, for tests."""

from __future__ import annotations

import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from tools.flash import image
from tools.run import process
from tools.run.debug import target


def started(test: unittest.TestCase, spike: dict[str, Any], elf: Path) -> int:
    """Starts Spike without the image, which is still to be loaded; returns its JTAG port.

    Args:
      test: ends it.
      spike: the program of a bm_debug that runs on Spike.
      elf: the image.
    """
    port = target.free_port()
    options = [word.replace("{port}", str(port)) for word in spike["wait"][:-1]]
    board = process.start(
        [*options, _emptied(test, elf)],
        process.with_tools(spike["path_tools"]),
        subprocess.DEVNULL,
    )
    test.addCleanup(process.end, board)
    while not target.listens(port):
        test.assertIsNone(board.poll())
        time.sleep(0.05)
    return port


def _emptied(test: unittest.TestCase, elf: Path) -> str:
    """A copy whose segments are zeros. Its symbols stay: they tell Spike where the console is."""
    data = bytearray(elf.read_bytes())
    for segment in image.read(elf).segments:
        start = data.index(segment.data)
        data[start : start + len(segment.data)] = bytes(len(segment.data))
    copy = Path(test.enterContext(tempfile.TemporaryDirectory())) / elf.name
    copy.write_bytes(data)
    return str(copy)
