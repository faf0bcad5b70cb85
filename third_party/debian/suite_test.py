"""Runs the program of debian_suite_repo on a local mirror that the test makes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from third_party.debian import suite
from third_party.debian.errors import AptError
from third_party.debian.local_mirror import LocalMirror

SUITE = Path(__file__).absolute().with_name("suite.py")
LOADER = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
PROGRAM = "usr/lib/llvm/bin/tool"


@unittest.skipUnless(shutil.which("apt-get"), "this machine has no apt")
class Suite(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.mirror = LocalMirror(self.folder / "mirror")
        self.mirror.add("llvm", "2-1", {PROGRAM: "tool\n"}, depends=["libc6", "perl"])
        # A script instead of a loader shows what it is called with.
        self.mirror.add("libc6", "3-1", {LOADER: '#!/bin/sh\nprintf "%s\\n" "$@"\n'})
        self.mirror.add("perl", "5-1", {"usr/bin/perl": "perl\n"})
        # The release of the mirror that `deb MIRROR next main` names; nobody has signed it.
        release = self.folder / "mirror/dists/next"
        (release / "main/binary-amd64").mkdir(parents=True)
        packages = (self.folder / "mirror/Packages").read_bytes()
        (release / "main/binary-amd64/Packages").write_bytes(packages)
        (release / "Release").write_text(
            "Suite: next\nCodename: next\nArchitectures: amd64\nComponents: main\nSHA256:\n"
            f" {hashlib.sha256(packages).hexdigest()} {len(packages)} main/binary-amd64/Packages\n"
        )
        (self.folder / "sources.list").write_text(f"deb file:{self.mirror.folder} now main\n")
        config = self.folder / "apt.conf"
        self.environment = {
            "APT_CONFIG": str(config),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        config.write_text(
            f'Dir::Etc::SourceList "{self.folder}/sources.list"; '
            'Dir::Etc::SourceParts "/dev/null";\n'
        )

    def request(self, **changes: object) -> dict[str, object]:
        request: dict[str, object] = {
            "suite": "next",
            "root": str(self.folder / "root"),
            "packages": ["llvm"],
            "versions": {"llvm": "2-1"},
            "leave_out": ["perl"],
            "skip": [],
            "program": PROGRAM,
        }
        return {**request, **changes}

    def fetch(self, **changes: object) -> list[str]:
        """As if the mirror's signature were good."""

        def trusted(mirror: str, codename: str) -> str:
            return f"deb [trusted=yes] {mirror} {codename} main"

        with (
            mock.patch.dict(os.environ, self.environment),
            mock.patch.object(suite, "source", trusted),
        ):
            return suite.run(suite.Request(**self.request(**changes)))  # type: ignore[arg-type]

    def test_a_program_starts_with_its_own_loader_wherever_it_is(self) -> None:
        self.assertEqual(self.fetch(), [])
        self.assertFalse((self.folder / "root/usr/bin/perl").exists())
        moved = (self.folder / "root").rename(self.folder / "elsewhere")
        (moved / LOADER).chmod(0o755)
        link = self.folder / "link"
        link.symlink_to(moved / PROGRAM)
        done = subprocess.run([link, "-a", "b c"], capture_output=True, text=True, check=True)
        said = done.stdout.splitlines()
        paths = [os.path.realpath(said[1]), os.path.realpath(said[2])]
        self.assertEqual(said[0], "--library-path")
        self.assertEqual(paths, [str((moved / LOADER).parent), f"{moved / PROGRAM}.real"])
        self.assertEqual(Path(paths[1]).read_text(), "tool\n")
        self.assertEqual(said[3:], ["-a", "b c"])

    def test_drift_is_one_line_and_goes_on(self) -> None:
        (line,) = self.fetch(versions={"llvm": "1-9"})
        self.assertRegex(line, "^llvm is 2-1 on this machine's mirror.*with 1-9$")
        self.assertTrue((self.folder / "root" / PROGRAM).is_file())

    def test_a_release_without_the_programs_own_library_is_refused(self) -> None:
        with self.assertRaisesRegex(AptError, f"hold no {LOADER}: their layout"):
            self.fetch(leave_out=["perl|libc6"])
        with self.assertRaisesRegex(AptError, "hold no usr/bin/other: their layout"):
            self.fetch(program="usr/bin/other")

    def test_an_unsigned_release_is_one_line_and_a_status(self) -> None:
        if not suite.KEYRING.is_file():
            self.skipTest("this machine has no keys of Debian's archive")
        done = subprocess.run(
            [sys.executable, str(SUITE)],
            input=json.dumps(self.request()),
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*(not signed|could not download)[^\n]*\n\Z")
        self.assertFalse((self.folder / "root").exists())

    def test_without_debians_keys_nothing_is_asked_for(self) -> None:
        with (
            mock.patch.object(suite, "KEYRING", self.folder / "gone.gpg"),
            self.assertRaisesRegex(AptError, "gone.gpg is missing, so Debian's signatures"),
        ):
            suite.source("http://mirror.invalid/debian", "next")


if __name__ == "__main__":
    unittest.main()
