"""Tests for worker.py: what it says when it cannot start. examples/consumer_test.py has it execute actions."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest import mock

import grpc

from tools.actions.remote import action, privileges, worker
from tools.actions.remote.client import Storage, field, nested

PROGRAMS = sys.argv[1:]
WORKER = [sys.executable, worker.__file__]
BWRAP = next(word.partition("=")[2] for word in PROGRAMS if word.startswith("--bwrap="))
NOBODY = 65534
# What BuildBox gives bubblewrap, without the root folder.
INSIDE = shlex.split(
    "--unshare-pid --die-with-parent --unshare-net --unshare-uts --hostname box --unshare-ipc --chdir / "
    "--unshare-user --uid 0 --gid 0 --cap-drop ALL --unsetenv PATH --setenv PATH /bin:/usr/bin --proc /proc "
    "--tmpfs /tmp --ro-bind /bin /bin --ro-bind /usr /usr --ro-bind /lib /lib --ro-bind /lib64 /lib64 --dev /dev"
)
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")


def root_of_a_namespace() -> None:
    """Makes this process root of a user namespace in which there is no other user."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None).unshare(0x10000000) != 0:
        raise OSError("no user namespaces")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def as_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(4, 1)


class WorkerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Where the user typed the command.
        self.enterContext(
            mock.patch.dict(os.environ, {"BUILD_WORKING_DIRECTORY": str(self.folder)})
        )
        with socket.create_server(("127.0.0.1", 0)) as unused:
            self.listen = f"--listen=127.0.0.1:{unused.getsockname()[1]}"

    def refusal(
        self,
        *arguments: str,
        programs: list[str] = PROGRAMS,
        before: Callable[[], object] | None = None,
    ) -> str:
        """Returns what a worker prints that does not start."""
        done = subprocess.run(
            [*WORKER, *programs, self.listen, "--store=store", *arguments],
            capture_output=True,
            text=True,
            preexec_fn=before,
        )
        self.assertEqual(done.returncode, 2, done)
        return done.stderr

    def test_starts_and_ends_when_it_is_told(self) -> None:
        started = subprocess.Popen(
            [*WORKER, *PROGRAMS, self.listen, "--jobs=3", "--store=store"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert started.stdout is not None
        with started.stdout:
            said = started.stdout.readline()
            # Root's programs could change root's files.
            self.assertNotEqual(Path(f"/proc/{started.pid}").stat().st_uid, 0)
            self.assertEqual(self.seen_by_the_server(started.pid), (True, False))
            started.terminate()
        self.assertIn(
            f"executes 3 actions at a time, and keeps inputs and results in {self.folder}/store",
            said,
        )
        started.wait(30)
        # BuildBox itself starts nothing that is not looked at first.
        for name in ("bwrap", "run"):
            self.assertIn(
                "tools/actions/remote/", (self.folder / "store/action" / name).read_text()
            )

    def seen_by_the_server(self, started: int) -> tuple[bool, bool]:
        """Returns whether BuildBox sees its store, and a folder that everybody may read."""
        other_folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        other_folder.chmod(0o755)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for process in action.tree(started):
                # A process that ends meanwhile is none.
                with contextlib.suppress(OSError):
                    program = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[0]
                    store, other = (
                        Path(f"/proc/{process}/root{path}").exists()
                        for path in (self.folder / "store/cas", other_folder)
                    )
                    if program.endswith(b"casd") and store:
                        return store, other
            time.sleep(0.1)
        raise AssertionError("BuildBox does not start")

    def test_a_request_without_an_end_ends(self) -> None:
        """Also if its client has left."""
        short = "import sys; from tools.actions.remote import server, worker; server.BUSY_SECONDS = 2.0; "
        started = subprocess.Popen(
            [sys.executable, "-c", f"{short}sys.exit(worker.main(sys.argv[1:]))"]
            + [*PROGRAMS, self.listen, "--store=store"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            text=True,
        )
        assert started.stderr is not None
        with started.stderr:
            self.seen_by_the_server(started.pid)
            storage = Storage(self.listen.partition("=")[2])
            folder = nested(storage.put)
            with self.assertRaises(grpc.RpcError):
                storage.tree(folder, seconds=1)
            self.assertIn("a request has computed for 2 s", started.stderr.readline())
            again = Storage(self.listen.partition("=")[2])
            self.assertGreater(again.tree(again.put(field(3, field(1, b"l"))), seconds=30), 0)
            started.terminate()
            self.assertEqual(started.stderr.read(), "")
        self.assertEqual(started.wait(30), 128 + signal.SIGTERM)

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

    @unittest.skipIf(os.geteuid(), "only root may become another user")
    def test_root_becomes_an_ordinary_user_or_does_not_start(self) -> None:
        store = self.folder / "store"
        for arguments, before, sentence in (
            (["--user=root"], None, "--user root: actions would be this machine's root"),
            (["--user=x-y-z"], None, "--user x-y-z: there is no such user"),
            ([], root_of_a_namespace, "start the worker as an ordinary user"),
        ):
            said = self.refusal(*arguments, before=before)
            self.assertIn(sentence, said)
            self.assertEqual(said.count("\n"), 1)
        os.chown(store, 0, 0)
        (store / "cas").mkdir()
        self.assertIn("is not of the user nobody and not empty", self.refusal())

    @unittest.skipIf(os.geteuid(), "only root may become another user")
    def test_who_is_root(self) -> None:
        for steps, needed in (
            ([], True),
            ([root_of_a_namespace], True),
            ([as_nobody], False),
            ([as_nobody, root_of_a_namespace], False),
        ):
            with self.subTest(steps=steps):
                if (child := os.fork()) == 0:
                    found = 2
                    try:
                        for step in steps:
                            step()
                        found = privileges.are_needed()
                    finally:
                        os._exit(found)
                self.assertEqual(os.waitpid(child, 0)[1] >> 8, needed)

    def test_values_that_mean_nothing(self) -> None:
        for argument, sentence in {
            "--jobs=0": "0 is not a number from 1 to 9999999",
            "--jobs=many": "many is not a number from 1 to 9999999",
            "--listen=8980": "8980 is not like 127.0.0.1:8980",
            "--listen=:8980": ":8980 is not like 127.0.0.1:8980",
            "--listen=localhost:70000": "localhost:70000 is not like 127.0.0.1:8980",
            "--size=50": "50 is not like 50G",
            "--memory=8": "8 is not like 50G",
            "--processes=0": "0 is not a number from 1 to 9999999",
        }.items():
            with self.subTest(argument):
                self.assertIn(sentence, self.refusal(argument))


class ActionTest(unittest.TestCase):
    """Actions as BuildBox starts them, of whoever tests: in continuous integration that is root."""

    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def act(
        self,
        script: str,
        before: Callable[[], object] | None = None,
        program: str = "/bin/bash",
        more: Sequence[str] = (),
        **limits: int,
    ) -> tuple[int, str]:
        """Runs a script in an action; returns its status and what was said.

        Args:
          script: what the program gets behind -c.
          before: what the process does first that becomes the stand-in for bubblewrap.
          program: what runs the script.
          more: further arguments of bubblewrap.
          limits: those of the action.
        """
        stand_in = [sys.executable, "-I", action.__file__, BWRAP, json.dumps(limits)]
        inside = ["--bind", str(self.root), "/", *INSIDE, *more, program, "-c", script]
        done = subprocess.run(
            [*stand_in, *inside],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=before,
        )
        return done.returncode, done.stdout

    def test_what_an_action_takes_is_limited(self) -> None:
        mega = 1 << 20
        for script, limits, sentence in (
            (
                "head -c 3000000 /dev/zero > big",
                {"output": mega},
                "writes a file of more than 1 MiB",
            ),
            (
                "for i in 1 2 3 4; do head -c 900000 /dev/zero > $i; done; sleep 60",
                {"output": mega},
                "writes more than 1 MiB",
            ),
            (
                "for i in {1..30}; do sleep 60 & done; wait",
                {"processes": 20},
                "more than 20 processes",
            ),
            (
                "head -c 200000000 /dev/zero | tail -c 199999999 | (sleep 60; cat > /dev/null)",
                {"memory": 100 * mega},
                "takes more than 100 MiB of memory",
            ),
            ("sleep 60", {"seconds": 1}, "takes more than 1 s"),
            *(
                (
                    f"cd {place}; mkdir d; touch d/{{1..60}}; sleep 60",
                    {"files": 60},
                    "makes more than 60 files",
                )
                for place in ("/", "/tmp", "/dev/shm")
            ),
        ):
            with self.subTest(script):
                status, said = self.act(script, **limits)
                self.assertEqual(status, 1)
                (name,) = limits
                self.assertRegex(said, f"worker: the action (starts )?{sentence}")
                self.assertIn(f"--{name}", said)

    def test_what_is_no_file_is_limited_too(self) -> None:
        for place in ("/tmp/x", "/dev/shm/x", "/dev/x"):
            status, said = self.act(f"head -c 3000000 /dev/zero > {place}", output=2 << 20)
            self.assertNotEqual(status, 0, said)
            self.assertRegex(said, "No space left|Read-only|File size")

    def test_an_action_ends_as_its_program_does(self) -> None:
        self.assertEqual(self.act("echo said; exit 3"), (3, "said\n"))
        self.assertEqual(self.act("head -c 1000 /dev/zero > f")[0], 0)
        self.assertEqual(self.act("kill -9 $$")[0], 137)

    def test_an_action_sees_nothing_of_the_workers_environment(self) -> None:
        with mock.patch.dict(os.environ, {"SECRET": "of the worker"}):
            _, said = self.act("tr '\\0' '\\n' < /proc/1/environ; env")
        self.assertIn("PATH=", said)
        self.assertNotIn("SECRET", said)

    def test_no_variable_of_an_action_takes_its_limits_away(self) -> None:
        for name, value in (("BASH_FUNC_ulimit%%", "() { :; }"), ("BASH_ENV", "/e"), ("-u", "x")):
            (self.root / "e").write_text("ulimit() { :; }")
            status, said = self.act(
                "cat /proc/self/limits; env", more=["--setenv", name, value], processes=64
            )
            self.assertEqual(status, 0)
            self.assertRegex(said, "Max processes +64 ")
            self.assertIn(name, said)
        _, said = self.act("exit 0", program="/bin/a=b")
        self.assertIn("worker: the program '/bin/a=b' has a = in its name", said)

    def test_files_without_a_name_are_counted(self) -> None:
        mega = 1 << 20
        written = "for i in 3 4 5 6; do eval exec $i'<>x'; rm x; head -c 900000 /dev/zero >&$i; done; sleep 60"
        status, said = self.act(written, output=2 * mega)
        self.assertEqual(status, 1)
        self.assertIn("writes more than 2 MiB", said)
        code = "import os, time; os.write(os.memfd_create('m'), bytes(200_000_000)); time.sleep(60)"
        # This test's own Python, which an action of BuildBox has not.
        python = [
            word
            for path in dict.fromkeys((sys.base_prefix, sys.prefix))
            for word in ("--ro-bind", path, path)
        ]
        status, said = self.act(code, program=sys.executable, more=python, memory=150 * mega)
        self.assertEqual(status, 1)
        self.assertIn("takes more than 150 MiB of memory", said)

    def test_nothing_stays_in_memory_without_a_process(self) -> None:
        """Shared memory, semaphores and queues of System V."""
        _, said = self.act("ipcmk -M 100000000; ipcmk -S 1; ipcmk -Q; ipcs -m")
        self.assertEqual(said.count("Function not implemented"), 3, said)

    def test_closed_folders_are_opened_for_who_removes_them(self) -> None:
        self.assertEqual(self.act("mkdir -p a/b; chmod 0 a/b; chmod 0 a")[0], 0)
        for name in ("a", "a/b"):
            self.assertEqual((self.root / name).stat().st_mode & 0o777, 0o700)

    def test_nobody_writes_what_is_the_kernels(self) -> None:
        was = CORE_PATTERN.read_text()
        script = f"ls /sys 2>&1; (echo '{was.strip()}' > {CORE_PATTERN}) 2>&1; exit 0"
        for before in (None, root_of_a_namespace):
            _, said = self.act(script, before)
            self.assertRegex(said, "/sys.*No such file")
            self.assertRegex(said, "core_pattern: (Read-only file system|Permission denied)")

    def test_what_bubblewrap_is_told_is_known(self) -> None:
        with self.assertRaisesRegex(action.ActionError, "--share-net, which this worker does not"):
            action.confined(["--share-net", "/bin/true"], action.Limits())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
