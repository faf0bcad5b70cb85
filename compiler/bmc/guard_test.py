"""A crash in native code becomes one sentence that names the package. Other exits are unchanged."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import unittest

import support

from bmc import guard

_PACKAGE = """import ctypes
import os
import signal

def invoke(how):
    ctypes.string_at(0) if how == "fault" else os.kill(os.getpid(), getattr(signal, how))
"""
_MODEL = """import sys
sys.path.insert(0, {packages!r})
import litething

def fault():
    litething.invoke("fault")

def abort():
    litething.invoke("SIGABRT")

def kill():
    litething.invoke("SIGKILL")

def number():
    return 3
"""
_NETWORK = """import socket
import port
from bmc import spec

def cases():
    socket.create_connection(("127.0.0.1", port.PORT)).close()
    return spec.Cases((), ())
"""
_ROOT = """import os
import sys
from pathlib import Path
from bmc import spec

def cases():
    inside = (Path("inside"), Path(os.environ["TMPDIR"]))
    elsewhere = (Path("/proc/sys/kernel/core_pattern"), Path("../elsewhere"), Path("/usr/bin/new"))
    for path in (*inside, *elsewhere):
        try:
            (path / "file" if path.is_dir() else path).open("a").close()
        except OSError:
            continue
        print("writes", path.name, file=sys.stderr)
    Path("/dev/null").write_text("nothing")
    print("devices", *sorted(os.listdir("/dev")), file=sys.stderr)
    status = Path("/proc/self/status").read_text()
    print(*[line for line in status.splitlines() if line.startswith("CapEff")], file=sys.stderr)
    return spec.Cases((), ())
"""
# Makes Python's arguments root's of a user namespace with no other user.
_NAMESPACE = """import ctypes, os, sys
from pathlib import Path

group = os.getegid()
if ctypes.CDLL(None).unshare(0x10000000) == 0:
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text("0 0 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
# Tells whether a program may enter its own network and user namespaces on this machine.
_CAN_LEAVE = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x50000000) != 0)"


class GuardTest(support.FolderTest):
    def bmc(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return support.python("-m", "bmc", *arguments, cwd=self.folder)

    def test_a_crash_is_one_sentence(self) -> None:
        packages = self.folder / "site-packages"
        (packages / "litething").mkdir(parents=True)
        (packages / "litething" / "__init__.py").write_text(_PACKAGE, encoding="utf-8")
        self.write("model.py", _MODEL.format(packages=str(packages)))
        for factory, said in (
            ("fault", r"error\[crashed\]: the package litething crashed with SIGSEGV in invoke"),
            ("abort", r"error\[crashed\]: the package litething crashed with SIGABRT in invoke"),
            ("kill", r"error\[killed\]: .* SIGKILL, probably because memory ran out"),
            ("number", r"error\[bad-spec\]: model.py:number returned int"),
        ):
            done = self.bmc("import", f"model.py:{factory}", "--out", "out")
            self.assertEqual(done.returncode, 1, done)
            sentence = support.without_waiting(done.stderr)
            self.assertRegex(sentence, rf"\Abmc: {said}[^\n]*\n  hint: [^\n]*\n\Z")

    def test_other_ends(self) -> None:
        usage = self.bmc("frobnicate")
        self.assertEqual(usage.returncode, 2)
        self.assertIn("usage: bmc", usage.stderr)
        good = self.bmc("--help")
        self.assertEqual((good.returncode, good.stderr), (0, ""))
        self.assertIn("usage: bmc", good.stdout)

    def test_a_reader_may_leave(self) -> None:
        self.write("add.mlir", support.ADD)
        # The first writes as it goes, the second at its end.
        for arguments in (("check", "add.mlir"), ("import", "add.mlir", "--out", "out")):
            reader, writer = os.pipe()
            os.close(reader)
            with open(writer, "wb") as stdout:
                done = subprocess.run(
                    [sys.executable, "-m", "bmc", *arguments],
                    cwd=self.folder,
                    stdout=stdout,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            self.assertEqual(done.returncode, guard.NOBODY_READS, done)
            self.assertEqual(support.without_waiting(done.stderr), "")

    def test_a_model_file_is_imported_without_network(self) -> None:
        self.write("model.mlir", support.ADD)
        self.write("cases.py", _NETWORK)
        self.write("model.py", _NETWORK)
        self.addCleanup((server := socket.create_server(("127.0.0.1", 0))).close)
        port = server.getsockname()[1]
        self.write("port.py", f"PORT = {port}\n")
        done = self.bmc("import", "model.mlir", "--cases", "cases.py:cases", "--out", "out")
        if subprocess.run([sys.executable, "-c", _CAN_LEAVE]).returncode == 0:
            self.assertIn("OSError: [Errno 101]", done.stderr)
        # Python is code, which may use the network.
        done = self.bmc("import", "model.py:cases", "--out", "out")
        self.assertIn("returned Cases", done.stderr)

    @unittest.skipIf(os.geteuid(), "nobody else may write what is the system's")
    def test_a_model_file_is_imported_without_what_root_may(self) -> None:
        """In Bazel's sandbox root still is this machine's."""
        work = self.folder / "work"
        work.mkdir()
        (work / "model.mlir").write_text(support.ADD, encoding="utf-8")
        (work / "cases.py").write_text(_ROOT, encoding="utf-8")
        bmc = ("-m", "bmc", "import", "model.mlir", "--cases=cases.py:cases")
        for before, new in (((), "new/out"), (("-c", _NAMESPACE), "new again/out")):
            for out in (f"--out={self.folder}/{new}", "--out=out"):
                done = support.python(*before, *bmc, out, cwd=work)
                self.assertIn("CapEff:\t0000000000000000\n", done.stderr)
                self.assertIn("devices fd full null random shm urandom zero\n", done.stderr)
                said = re.findall("writes (.*)", done.stderr)
                self.assertEqual(said[0], "inside")
                self.assertNotIn("core_pattern", said)
                self.assertNotIn("new", said)
                # Beside `out`, which is not there yet.
                self.assertEqual("elsewhere" in said, "new" in out)

    def test_without_a_traceback(self) -> None:
        self.assertIn("a native library crashed with SIGABRT and", str(guard.crash(6, None)))
        self.assertNotIn("divides", str(guard.crash(6, None)))
        self.assertIn("divides constant integers by zero", str(guard.crash(8, None)))

    def test_a_broken_package_is_shown_not_swallowed(self) -> None:
        code = (
            "import sys; from bmc import guard;"
            " sys.exit(guard.run(lambda: __import__('a_package_that_is_missing')))"
        )
        done = support.python("-c", code)
        self.assertEqual(done.returncode, 70)
        self.assertIn("No module named 'a_package_that_is_missing'", done.stderr)


if __name__ == "__main__":
    unittest.main()
