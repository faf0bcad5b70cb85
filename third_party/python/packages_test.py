"""The program of package_repo, with a real uv, on an index that the test makes."""

from __future__ import annotations

import ctypes
import datetime
import hashlib
import ipaddress
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from third_party.python import lock, packages
from third_party.python.local_index import LocalIndex, wheel

PROGRAM = Path(__file__).absolute().with_name("packages.py")
UV = os.path.abspath(os.environ["UV"])
WHEELS = dict(
    [
        wheel("top", "1.0", {"top/__init__.py": "import base\n", "bin/top": "#!python\n"}),
        wheel(
            "base",
            "2.0",
            {
                "base/__init__.py": "",
                "base/tests/test.py": "",
                "base/data": "1",
                "base/include/a.h": "",
            },
        ),
        wheel("base", "2.0+other", {"base/__init__.py": "other"}),
        wheel("apart", "1", {"apart.py": ""}),
    ]
)
NEEDS = {"top": ["base"], "base": [], "apart": []}
SKIP = {"base": ["base/include"]}


def locked() -> dict[str, dict[str, object]]:
    """What @pypi writes of a lock with these packages."""
    table = {}
    for name, needs in NEEDS.items():
        file = next(file for file in WHEELS if file.startswith(name + "-") and "+" not in file)
        sha256 = hashlib.sha256(WHEELS[file]).hexdigest()
        line = f"{name}=={file.split('-')[1]} --hash=sha256:{sha256}"
        table[name] = {"line": line, "needs": needs, "skip": SKIP.get(name, [])}
    return table


def certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody else trusts, and a server's side of it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    public, private = folder / "ca.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(pem))
    private.write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return public, context


class Base(unittest.TestCase):
    # What the program's process does before it starts.
    before: Callable[[], object] | None = None

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.table = self.folder / "packages.json"
        self.table.write_text(json.dumps(locked()))

    def index(self, tls: ssl.SSLContext | None = None) -> LocalIndex:
        index = LocalIndex(WHEELS, tls)
        self.addCleanup(index.close)
        return index

    def root(self, name: str, base: str = "base") -> Path:
        root = self.folder / base / name
        root.mkdir(parents=True, exist_ok=True)
        return root

    def start(self, name: str, base: str = "base", **env: str) -> subprocess.Popen[str]:
        request = {
            "name": name,
            "packages": str(self.table),
            "root": str(self.root(name, base)),
            "uv": UV,
        }
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "PIP_CONFIG_FILE": "/dev/null",  # not this machine's
            "PIP_RETRIES": "0",
        }
        process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            preexec_fn=self.before,
            env=environment | env,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stdin
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        process.stdin = None
        return process

    def fetch(self, name: str, base: str = "base", **env: str) -> str:
        """Fetches a package; returns what was said about a failure."""
        with self.start(name, base, **env) as process:
            said = process.communicate()[1]
        self.assertEqual(process.returncode != 0, bool(said), said)
        return said


class Packages(Base):
    def test_a_package_comes_with_what_it_needs_and_a_second_base_needs_no_index(self) -> None:
        index = self.index()
        self.assertEqual(self.fetch("top", PIP_INDEX_URL=index.url), "")
        self.assertEqual(len(index.asked), 2)
        self.assertEqual((self.root("top") / "bin/top").stat().st_mode & 0o111, 0o111)
        self.assertFalse((self.root("top") / "site-packages/base").exists())
        self.assertEqual(self.fetch("base", PIP_NO_INDEX="1"), "")
        self.assertEqual(self.fetch("base", "second", PIP_NO_INDEX="1"), "")
        first, second = (
            self.root("base", base) / "site-packages/base/data" for base in ("base", "second")
        )
        self.assertTrue(first.samefile(second))

    def test_what_nobody_uses_is_left_out(self) -> None:
        self.fetch("base", PIP_INDEX_URL=self.index().url)
        (record,) = self.root("base").glob("site-packages/*.dist-info/RECORD")
        self.assertTrue((self.root("base") / "site-packages/base/data").exists())
        self.assertFalse((self.root("base") / "site-packages/base/include").exists())
        self.assertNotIn("include", record.read_text())

    def test_exactly_the_locked_version_is_taken(self) -> None:
        index = self.index()
        self.fetch("base", PIP_INDEX_URL=index.url)
        self.assertEqual((self.root("base") / "site-packages/base/__init__.py").read_text(), "")
        self.assertEqual([name for name in index.asked if "+" in name], [])

    def test_another_content_is_refused(self) -> None:
        index = self.index()
        index.files |= [wheel("apart", "1", {"apart.py": "changed"})]
        self.assertRegex(
            self.fetch("apart", PIP_INDEX_URL=index.url), "(?i)hash.*apart|apart.*hash"
        )
        self.assertFalse((self.root("apart") / "site-packages").exists())

    def test_modules_are_compiled_with_the_hash_of_their_source_and_tests_are_not(self) -> None:
        self.fetch("base", PIP_INDEX_URL=self.index().url)
        folder = self.root("base") / "site-packages/base"
        (compiled,) = folder.rglob("*.pyc")
        self.assertEqual(compiled.parent.parent, folder)
        self.assertEqual(compiled.read_bytes()[4:8], (3).to_bytes(4, "little"))

    def test_nothing_of_this_machine_is_in_it(self) -> None:
        self.fetch("top", PIP_INDEX_URL=self.index().url)
        for file in (self.root("top") / "site-packages").rglob("*"):
            self.assertTrue(
                file.is_dir() or str(self.folder).encode() not in file.read_bytes(), file
            )
        (record,) = self.root("top").glob("site-packages/*.dist-info/RECORD")
        self.assertEqual(
            sorted(
                line.split(",")[0].rpartition("/")[2] for line in record.read_text().splitlines()
            ),
            ["METADATA", "RECORD", "WHEEL", "__init__.py", "top"],
        )

    def test_what_is_loaded_stays_after_an_interruption(self) -> None:
        index = self.index()
        (slow,) = [name for name in WHEELS if name.startswith("top-")]
        index.slow[slow] = 30
        with self.start("top", PIP_INDEX_URL=index.url) as process:
            while len(index.asked) < 2:
                self.assertIsNone(process.poll())
                time.sleep(0.05)
            time.sleep(1)
            os.killpg(process.pid, signal.SIGKILL)
        index.slow.clear()
        index.asked.clear()
        self.assertEqual(self.fetch("top", PIP_INDEX_URL=index.url), "")
        self.assertEqual(index.asked, [slow])

    def test_two_at_once_load_everything_once(self) -> None:
        index = self.index()
        index.slow |= dict.fromkeys(WHEELS, 1.0)
        with (
            self.start("top", PIP_INDEX_URL=index.url) as first,
            self.start("base", "second", PIP_INDEX_URL=index.url) as second,
        ):
            said = [process.communicate()[1] for process in (first, second)]
        self.assertEqual([first.returncode, second.returncode], [0, 0], said)
        self.assertEqual(len(index.asked), len(set(index.asked)))

    def test_a_preferred_build_is_taken_and_where_there_is_none_the_locked_one(self) -> None:
        (other,) = [name for name in WHEELS if "+other" in name]
        sha256 = hashlib.sha256(WHEELS[other]).hexdigest()
        ways = [f"base===2.0+other --hash=sha256:{sha256}"]
        index = self.index()
        env = {"PIP_INDEX_URL": index.url, "XDG_CACHE_HOME": str(self.folder / "cache")}
        for content in ("other", ""):
            with (
                mock.patch.dict(os.environ, env),
                mock.patch.object(packages.cpu_builds, "requirements", return_value=ways),
                mock.patch.object(packages.cpu_builds, "choice", return_value=content),
                mock.patch.object(packages, "read_table", return_value={"base-2.0+other": ""}),
            ):
                root = self.root("base", content or "without")
                packages.fetch(packages.Request("base", str(self.table), str(root), UV))
            self.assertEqual((root / "site-packages/base/__init__.py").read_text(), content)
            index.files.pop(other, None)


class Settings(Base):
    """Each setting of pip that decides whom uv asks, and how."""

    def test_indexes(self) -> None:
        first, second = self.index(), self.index()
        del first.files[next(name for name in WHEELS if name.startswith("base-2.0-"))]
        self.assertEqual(
            self.fetch("top", PIP_INDEX_URL=first.url, PIP_EXTRA_INDEX_URL=second.url), ""
        )

    def test_a_configuration_file(self) -> None:
        file = self.folder / "pip.conf"
        file.write_text(f"[global]\nindex-url = {self.index().url}\n")
        self.assertEqual(self.fetch("top", PIP_CONFIG_FILE=str(file)), "")

    def test_folders_of_wheels_without_an_index(self) -> None:
        for name in WHEELS:
            (self.folder / name).write_bytes(WHEELS[name])
        self.assertEqual(
            self.fetch("top", PIP_FIND_LINKS=str(self.folder), PIP_NO_INDEX="true"), ""
        )
        self.assertNotEqual(self.fetch("apart", PIP_NO_INDEX="true"), "")

    def test_certificates(self) -> None:
        public, server = certificate(self.folder)
        index = self.index(server)
        self.assertRegex(self.fetch("top", PIP_INDEX_URL=index.url), "(?i)certificate|connect")
        self.assertEqual(self.fetch("top", PIP_INDEX_URL=index.url, PIP_CERT=str(public)), "")
        told = {"PIP_INDEX_URL": index.url, "REQUESTS_CA_BUNDLE": str(public)}
        self.assertEqual(self.fetch("apart", **told), "")

    def test_a_disk_that_fills_while_a_package_is_fetched(self) -> None:
        name, big = wheel("apart", "1", {"apart.py": "".join(map(str, range(300_000)))})
        index = self.index()
        index.files[name] = big
        table = locked()
        table["apart"]["line"] = f"apart==1 --hash=sha256:{hashlib.sha256(big).hexdigest()}"
        self.table.write_text(json.dumps(table))
        cache = self.folder / "cache"
        cache.mkdir()

        def on_a_disk_of_a_megabyte() -> None:
            libc = ctypes.CDLL(None)
            user, group = os.geteuid(), os.getegid()
            if libc.unshare(0x10020000) == 0:
                Path("/proc/self/setgroups").write_text("deny")
                Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
                Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
            if libc.mount(b"none", os.fsencode(cache), b"tmpfs", 0, b"size=1m") != 0:
                raise OSError("this machine lets nobody mount a disk")

        self.before = on_a_disk_of_a_megabyte
        try:
            said = self.fetch("apart", PIP_INDEX_URL=index.url)
        except subprocess.SubprocessError:
            self.skipTest("this machine lets nobody mount a disk")
        self.assertEqual(
            said,
            f"The disk of {cache}/ironcast/packages is full: make room, or set XDG_CACHE_HOME to a folder on a "
            "larger disk, and run the same command again.\n",
        )

    def test_a_lock_with_pips_certificate(self) -> None:
        public, server = certificate(self.folder)
        index = self.index(server)
        workspace = self.folder / "workspace"
        (workspace / "my certificates").mkdir(parents=True)
        (workspace / "requirements.txt").write_text("top\n")
        shutil.copy(public, workspace / "my certificates")
        pip = self.folder / "pip.conf"
        pip.write_text("[global]\ncert = ~/my certificates/ca.pem\n")
        for told, sentence in (
            ({"PIP_CERT": str(public)}, ""),
            ({"PIP_CONFIG_FILE": str(pip)}, ""),
            ({"PIP_CERT": "/none.pem"}, "there is no /none.pem: correct PIP_CERT"),
            ({}, "certificate.*: name its certificate with PIP_CERT, or as `cert` in pip.conf"),
        ):
            env = {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOME": str(workspace),
                "BUILD_WORKSPACE_DIRECTORY": str(workspace),
                "PIP_CONFIG_FILE": "/dev/null",
                "PIP_INDEX_URL": index.url,
                "PIP_RETRIES": "0",
            }
            done = subprocess.run(
                [sys.executable, lock.__file__, f"--uv={UV}", "--repository=@ironcast"],
                env=env | told,
                capture_output=True,
                text=True,
            )
            with self.subTest(**told):
                self.assertEqual(done.returncode, 1 if sentence else 0, done.stderr)
                self.assertRegex(done.stderr, sentence or "^$")
                self.assertEqual(done.stderr.count("\n"), 1 if sentence else 0)
        self.assertIn("top==1.0", (workspace / "requirements_lock.txt").read_text())

    def test_a_host_that_is_trusted_without_a_certificate(self) -> None:
        index = self.index(certificate(self.folder)[1])
        told = {"PIP_INDEX_URL": index.url, "PIP_TRUSTED_HOST": index.host}
        self.assertEqual(self.fetch("top", **told), "")

    def test_a_proxy(self) -> None:
        told = {
            "PIP_INDEX_URL": "http://index.invalid/simple/",
            "PIP_PROXY": f"http://{self.index().host}",
        }
        self.assertEqual(self.fetch("top", **told), "")

    def test_a_time_limit(self) -> None:
        index = self.index()
        index.slow |= dict.fromkeys(WHEELS, 10.0)
        began = time.monotonic()
        self.assertNotEqual(self.fetch("apart", PIP_INDEX_URL=index.url, PIP_TIMEOUT="1"), "")
        self.assertLess(time.monotonic() - began, 9)

    def test_passwords_of_netrc(self) -> None:
        (self.folder / "home").mkdir()
        netrc = self.folder / "home/.netrc"
        netrc.write_text("machine 127.0.0.1 login me password secret\n")
        netrc.chmod(0o600)
        index = self.index()
        index.authorization = "Basic bWU6c2VjcmV0"
        self.assertEqual(self.fetch("top", PIP_INDEX_URL=index.url), "")
        netrc.unlink()
        self.assertNotEqual(self.fetch("apart", PIP_INDEX_URL=index.url), "")


if __name__ == "__main__":
    unittest.main()
