"""OpenOCD loads, verifies and starts firmware in a running Spike, over its JTAG port."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import unittest
from pathlib import Path

from tools.flash.tests.rig import Rig, path_of
from tools.run import result

BOARD = "spike_rv64"


class OpenOcdTest(Rig):
    def spike(self) -> str:
        """Starts Spike halted, with an image that fails in its memory; returns its JTAG port."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        argv = [str(path_of("SPIKE")), f"--rbb-port={port}", "--halted", "--isa=rv64gc_zicntr"]
        argv += ["-m0x80000000:0x20000000", str(path_of("FAIL_SPIKE"))]
        path = f"{path_of('DTC').parent}:{os.environ.get('PATH', '')}"
        self.program = self.start(argv, env={**os.environ, "PATH": path})
        self.wait_until(lambda: "Listening" in self.log.read_text(), self.program)
        return port

    def outcome(self) -> result.Outcome:
        """What Spike printed, when it has ended."""
        status = self.program.wait()
        # OpenOCD's JTAG clock and the console share Spike's time; the records are whole lines.
        return result.Outcome(tuple(self.log.read_text().splitlines()), status)

    def test_load_verify_run_to_pass(self) -> None:
        port = self.spike()
        # Names that run a program if OpenOCD is not told that they are words.
        board = self.folder / "b} ; exec touch ran; {"
        shutil.copytree(Path("boards", BOARD), board)
        image = board / "m} ; exec touch ran; {.elf"
        shutil.copy(path_of("PASS_SPIKE"), image)
        more = ["--board", str(board / "board.json"), "--allow-code", "--port", port]
        done = self.flash(image, BOARD, *more)
        self.assertFalse(Path("ran").exists())
        self.assertEqual(done.status, 0, done.text)
        self.assertIn("verified by OpenOCD", done.text)
        verdict = result.judge(self.outcome())
        self.assertTrue(verdict.ok, verdict.sentence)

    def test_every_boards_configuration_is_understood(self) -> None:
        found = 0
        for config in sorted(Path("boards").glob("*/openocd.cfg")):
            found += 1
            argv = [str(path_of("OPENOCD")), "-f", str(config), "-c", "shutdown"]
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, f"{config}: {done.stdout}")
            self.assertNotIn("Error", done.stdout, config)
        self.assertGreaterEqual(found, 7)

    def test_nothing_listens(self) -> None:
        done = self.flash(path_of("PASS_SPIKE"), BOARD, "--port", "1")
        self.assert_refused(done, "openocd ended with status 1 .* check probe, wiring and power")
        self.assertIsNone(re.search("verified", done.text))


if __name__ == "__main__":
    unittest.main()
