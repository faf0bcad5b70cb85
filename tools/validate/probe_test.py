"""Inputs and outputs go through a debug probe: OpenOCD in front of Spike, which stands in for a board."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

from bmc import artifacts
from tools.debug import target_case

_PROBED = Path(os.environ["PROBED"])
_SESSION = json.loads(_PROBED.with_suffix(".json").read_text())
_GOLDEN = artifacts.load(Path(_SESSION["models"][0]["imported"])).golden


class ProbeTest(unittest.TestCase):
    def run_it(self, *args: object) -> tuple[int, str]:
        done = subprocess.run(
            [str(_PROBED.absolute()), *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def test_a_board_without_a_console(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        want = np.stack([case[0] for case in _GOLDEN.outputs[:2]])
        np.savez(folder / "data.npz", image=np.stack([case[0] for case in _GOLDEN.inputs[:2]]))
        np.savez(folder / "right.npz", logits=want)
        want[1] += 1
        np.savez(folder / "wrong.npz", logits=want)
        spike = json.loads(Path(os.environ["SPIKE"]).with_suffix(".json").read_text())["program"]
        elf = Path(_SESSION["probe"]["elf"])
        for expected, status, said in (
            ("right", 0, "all 2 samples are within"),
            ("wrong", 1, "1 of 2 samples are outside of the model's tolerance; the worst are 1"),
        ):
            port = target_case.started(self, spike, elf)
            args = ("--data", folder / "data.npz", "--expected", folder / f"{expected}.npz")
            layers = ("--per-layer", 1) if expected == "right" else ()
            code, text = self.run_it(*args, "--port", port, *layers)
            self.assertEqual(code, status, text)
            self.assertIn(said, text)
            self.assertIn("all 3 compared dispatches agree" if layers else "instructions", text)

    def test_no_probe_is_a_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            data, want = Path(folder) / "data.npy", Path(folder) / "want.npy"
            np.save(data, np.stack([_GOLDEN.inputs[0][0]]))
            np.save(want, np.stack([_GOLDEN.outputs[0][0]]))
            code, text = self.run_it("--data", data, "--expected", want, "--port", 1)
        self.assertEqual(code, 2, text)
        self.assertRegex(
            text, r"^validate: OpenOCD cannot debug spike_rv64 \(.*\): check probe, .*\n$"
        )


if __name__ == "__main__":
    unittest.main()
