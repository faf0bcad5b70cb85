"""Inputs and outputs go through a debug probe: OpenOCD in front of Spike, which stands in for a board."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from bmc import artifacts
from tools.cli import UserError
from tools.run.debug import target_case
from tools.run.debug.program import Program
from tools.service.probe import ProbeLink

_PROBED = Path(os.environ["PROBED"])
_SESSION = json.loads(_PROBED.with_suffix(".json").read_text())
_GOLDEN = artifacts.load(Path(_SESSION["models"][0]["imported"])).golden


_SPIKE = json.loads(Path(os.environ["SPIKE"]).with_suffix(".json").read_text())["program"]
_ELF = Path(_SESSION["probe"]["elf"])


def _openocd() -> tuple[int, int]:
    """Returns the process of the OpenOCD that this process has started, and its port for Tcl."""
    for child in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, child.read_text().split()):
            words = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").split()
            if "tcl_port" in words:
                return pid, int(words[words.index("tcl_port") + 1].rstrip(";"))
    raise AssertionError("no OpenOCD is running")


def _tcl(port: int, command: str) -> str:
    """Has OpenOCD execute a command, beside the program that is tested."""
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.sendall(command.encode() + b"\x1a")
        return line.makefile("rb").read1().decode()


class LinkTest(unittest.TestCase):
    def setUp(self) -> None:
        port = target_case.started(self, _SPIKE, _ELF)
        link = ProbeLink(Program.of(_SESSION["probe"], str(port)))
        self.link = self.enterContext(contextlib.closing(link))

    def test_an_openocd_that_ends_is_a_sentence(self) -> None:
        self.assertEqual(self.link.read(0.1), b"")
        os.kill(_openocd()[0], signal.SIGKILL)
        for attempt in (lambda: self.link.read(1), lambda: self.link.write(b"a")):
            with self.assertRaisesRegex(UserError, r"^OpenOCD does not answer \(.*\): check probe"):
                attempt()

    def test_what_a_target_claims_to_have_sent_has_a_bound(self) -> None:
        with _ELF.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            assert isinstance(table, SymbolTableSection)
            found = table.get_symbol_by_name("bm_mailbox")
            assert found
            (mailbox,) = found
        port = _openocd()[1]
        _tcl(port, f"halt; write_memory {mailbox['st_value'] + 4:#x} 32 0xffffffff; resume")
        with self.assertRaisesRegex(
            UserError, "says that it sent 4294967295 bytes, and an answer has at most 1034"
        ):
            self.link.read(60)
        # It runs on.
        self.assertIn("running", _tcl(port, "[target current] curstate"))


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
        for expected, status, said in (
            ("right", 0, "all 2 samples are within"),
            ("wrong", 1, "1 of 2 samples are outside of the model's tolerance; the worst are 1"),
        ):
            port = target_case.started(self, _SPIKE, _ELF)
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
