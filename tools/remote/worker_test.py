"""Tests for worker.py: what it says when it cannot start. examples/consumer_test.py has it execute actions."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.remote import worker

PROGRAMS = sys.argv[1:]


class WorkerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Where the user typed the command.
        self.enterContext(
            mock.patch.dict(os.environ, {"BUILD_WORKING_DIRECTORY": str(self.folder)})
        )
        with socket.create_server(("127.0.0.1", 0)) as unused:
            self.listen = f"--listen=127.0.0.1:{unused.getsockname()[1]}"

    def refusal(self, *arguments: str, programs: list[str] = PROGRAMS) -> str:
        """Returns what a worker prints that does not start."""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            try:
                status = worker.main([*programs, self.listen, "--store=store", *arguments])
            except SystemExit as end:
                status = int(end.code or 0)
        self.assertEqual(status, 2)
        return said.getvalue()

    def test_starts_and_ends_when_it_is_told(self) -> None:
        started = subprocess.Popen(
            [sys.executable, worker.__file__, *PROGRAMS, self.listen, "--jobs=3", "--store=store"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert started.stdout is not None
        with started.stdout:
            said = started.stdout.readline()
            started.terminate()
        self.assertIn(
            f"executes 3 actions at a time, and keeps inputs and results in {self.folder}/store",
            said,
        )
        started.wait(30)

    def test_inputs_are_mounted_only_if_that_is_allowed(self) -> None:
        device = self.folder / "fuse"
        with mock.patch.object(worker, "FUSE", device):
            self.assertFalse(worker.may_mount())
            device.touch()
            with mock.patch.object(os, "geteuid", return_value=0):
                self.assertTrue(worker.may_mount())
            with mock.patch.object(os, "geteuid", return_value=1000):
                self.assertFalse(worker.may_mount())

    def test_a_port_in_use(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as used:
            address = f"127.0.0.1:{used.getsockname()[1]}"
            said = self.refusal(f"--listen={address}")
        self.assertEqual(
            said,
            f"worker: {address} cannot be listened on (Address already in use): give another with --listen\n",
        )

    def test_a_store_that_is_a_file(self) -> None:
        (self.folder / "store").write_text("")
        self.assertEqual(self.refusal(), f"worker: --store {self.folder}/store: File exists\n")

    def test_a_machine_without_sandboxes(self) -> None:
        refused = self.folder / "bwrap"
        refused.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
        refused.chmod(0o755)
        said = self.refusal(programs=[*PROGRAMS, f"--bwrap={refused}"])
        self.assertIn(
            "into a sandbox (No permissions to create new namespace): allow user namespaces", said
        )

    def test_values_that_mean_nothing(self) -> None:
        for argument, sentence in {
            "--jobs=0": "0 is not a number from 1 to 9999",
            "--jobs=many": "many is not a number from 1 to 9999",
            "--listen=8980": "8980 is not like 127.0.0.1:8980",
            "--listen=:8980": ":8980 is not like 127.0.0.1:8980",
            "--listen=localhost:70000": "localhost:70000 is not like 127.0.0.1:8980",
            "--size=50": "50 is not like 50G",
        }.items():
            with self.subTest(argument):
                self.assertIn(sentence, self.refusal(argument))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
