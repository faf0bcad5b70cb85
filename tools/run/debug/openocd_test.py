"""gdb with OpenOCD between it and the hart: on Spike, and on a board that Spike stands in for."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np

from tools.run.debug import target_case


def debug(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    argv = [os.environ[name], "--batch", *options]
    return subprocess.run(argv, capture_output=True, text=True)


def program(name: str) -> dict[str, Any]:
    data = json.loads(Path(os.environ[name].removesuffix(".sh") + ".json").read_text())
    return dict(data["program"])


class OpenOcdTest(unittest.TestCase):
    def check_first_dispatch(self, done: subprocess.CompletedProcess[str]) -> None:
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Before command 0: main_dispatch_0_", done.stdout)
        self.assertRegex(done.stdout, r"#0 .*fixture_k_main_dispatch_0_\w+ \(\)")
        self.assertRegex(done.stdout, r"#\d .*bm_self_check_run \(")

    def check_refused(self, done: subprocess.CompletedProcess[str], sentence: str) -> None:
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, f"^debug: {sentence}\n$")
        self.assertEqual(done.stdout, "")

    def test_spike(self) -> None:
        for name in ("SPIKE_RV64", "SPIKE_RV32"):
            with self.subTest(name):
                self.check_first_dispatch(debug(name))

    def test_a_board_is_loaded_and_stops_at_the_dispatch(self) -> None:
        port = target_case.started(self, program("SPIKE_RV64"), Path(program("PROBE")["elf"]))
        with tempfile.TemporaryDirectory() as folder:
            self.check_first_dispatch(debug("PROBE", "--port", str(port), "--dump", folder))
            written = {path.name.split(".")[1]: np.load(path) for path in Path(folder).iterdir()}
        # The kernel ran there: f32[64] @ f32[64x64] + f32[64], then a ReLU.
        want = np.maximum(written["in0"] @ written["in1"] + written["in2"], 0)
        np.testing.assert_allclose(written["out3"], want, 1e-4, 1e-4)
        self.assertGreater(np.abs(want).max(), 0)

    def test_no_probe_is_a_sentence(self) -> None:
        done = debug("PROBE", "--port", "1")
        self.check_refused(done, r"OpenOCD cannot debug spike_rv64 \(.*\): check probe, wiring .*")
        for board in ("HIFIVE1_REVB", "ESP32C6", "ESP32P4"):
            name = board.lower()
            with self.subTest(name):
                self.check_refused(debug(board), rf"OpenOCD cannot debug {name} \(.*\): check .*")

    def test_no_configuration_is_a_sentence(self) -> None:
        self.check_refused(
            debug("VISIONFIVE2"),
            "visionfive2 has no debug probe configured: name a board that has one with --board, or .*"
            " in an emulator, `.debug` and `.validate` need none",
        )


if __name__ == "__main__":
    unittest.main()
