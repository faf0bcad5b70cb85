"""Types pictures on the console of the sensor example."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

CPU = "rv64,v=true,vext_spec=v1.0,vlen=256,elen=64"
ZERO = "  ####  \n" + " ##  ## \n" * 6 + "  ####  \n"
SEVEN = "  ##### \n    ##  \n    ##  \n  ##### \n   ##   \n   ##   \n  ##    \n  ##    \n"


def console(typed: str) -> tuple[list[str], int]:
    """Boots the example; returns what it prints and QEMU's exit status."""
    qemu = str(Path(os.environ["QEMU"]).absolute())
    argv = [qemu, "-machine", "virt", "-m", "512M", "-bios", "none", "-nographic"]
    argv += ["-monitor", "none", "-cpu", CPU, "-kernel", os.environ["ELF"]]
    done = subprocess.run(argv, input=typed, stdout=subprocess.PIPE, check=False, text=True)
    return done.stdout.splitlines(), done.returncode


class SensorTest(unittest.TestCase):
    def test_pictures_are_classified_as_they_arrive(self) -> None:
        lines, status = console(ZERO + SEVEN + ZERO + "q")
        self.assertEqual(lines, ["digit 0", "digit 7", "digit 0", "lost 0"])
        self.assertEqual(status, 0)

    def test_half_a_picture_is_not_classified(self) -> None:
        lines, status = console(SEVEN + ZERO[:30] + "q")
        self.assertEqual(lines, ["digit 7", "lost 0"])
        self.assertEqual(status, 0)


if __name__ == "__main__":
    unittest.main()
