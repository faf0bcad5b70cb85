"""A crash in native code becomes one sentence that names the package. Other exits are unchanged."""

from __future__ import annotations

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

    def test_without_a_traceback(self) -> None:
        self.assertIn("a native library crashed with SIGABRT and", str(guard.crash(6, "")))
        self.assertNotIn("divides", str(guard.crash(6, "")))
        self.assertIn("divides constant integers by zero", str(guard.crash(8, "")))

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
