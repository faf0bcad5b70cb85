"""Runs the program of the repository rules on a local mirror that the test makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from third_party.debian.local_mirror import LocalMirror
from third_party.debian.tools import mend_linker_scripts

TOOLS = Path(__file__).absolute().with_name("tools.py")


@unittest.skipUnless(shutil.which("apt-get"), "this machine has no apt")
class Tools(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.mirror = LocalMirror(self.folder / "mirror")
        self.mirror.add("dtc", "1.6-1", {"usr/bin/dtc": "dtc\n"}, depends=["libfdt1"])
        self.mirror.add("libfdt1", "1.6-1", {"usr/lib/libfdt.so.1": "lib\n"})
        (self.folder / "sources.list").write_text(self.mirror.source + "\n")
        (self.folder / "apt.conf").write_text(
            f'Dir::Etc::SourceList "{self.folder}/sources.list"; '
            'Dir::Etc::SourceParts "/dev/null";\n'
        )

    def tools(self, *args: str, request: object = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf")}
        return subprocess.run(
            [sys.executable, str(TOOLS), *args],
            input=json.dumps(request),
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def request(self, **changes: object) -> dict[str, object]:
        request: dict[str, object] = {
            "lists": str(self.folder / "state/lists"),
            "root": str(self.folder / "root"),
            "packages": ["dtc"],
            "versions": {"dtc": "1.6-1"},
            "leave_out": [],
            "skip": [],
            "programs": [],
        }
        return {**request, **changes}

    def test_as_recorded_it_says_nothing(self) -> None:
        self.assertEqual(self.tools("lists", str(self.folder / "state")).returncode, 0)
        done = self.tools("unpack", request=self.request())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.folder / "root/usr/bin/dtc").read_text(), "dtc\n")
        self.assertTrue((self.folder / "root/usr/lib/libfdt.so.1").is_file())

    def test_drift_is_one_line_and_goes_on(self) -> None:
        self.tools("lists", str(self.folder / "state"))
        done = self.tools(
            "unpack",
            request=self.request(versions={"dtc": "1.5-9", "libfdt1": "1.6-1", "gone": "1"}),
        )
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            done.stdout, "dtc is 1.6-1 on this machine's mirror; this project was made with 1.5-9\n"
        )
        self.assertTrue((self.folder / "root/usr/bin/dtc").is_file())

    def test_lists_older_than_the_mirror_are_renewed(self) -> None:
        self.tools("lists", str(self.folder / "state"))
        # Another mirror, at the same address.
        shutil.rmtree(self.mirror.folder)
        LocalMirror(self.mirror.folder).add("dtc", "1.7-1", {"usr/bin/dtc": "newer\n"})
        done = self.tools("unpack", request=self.request(versions={}))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.folder / "root/usr/bin/dtc").read_text(), "newer\n")

    def test_the_first_package_that_there_is_is_taken(self) -> None:
        self.tools("lists", str(self.folder / "state"))
        done = self.tools("unpack", request=self.request(packages=["renamed|dtc"]))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.folder / "root/usr/bin/dtc").is_file())

    def test_an_unknown_package_is_one_line_and_a_status(self) -> None:
        self.tools("lists", str(self.folder / "state"))
        done = self.tools("unpack", request=self.request(packages=["nothing"]))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*nothing[^\n]*\n\Z")

    def test_a_wrong_call_is_told_the_right_one(self) -> None:
        done = self.tools("frobnicate")
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)


class LinkerScripts(unittest.TestCase):
    def test_files_are_named_where_they_are(self) -> None:
        script = (
            "GROUP ( /lib/x/libm.so.6 AS_NEEDED ( /lib64/ld.so.2 /lib/x/old.so /lib/gone.so ) )"
        )
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("usr/lib/x/libm.so.6", "usr/lib64/ld.so.2", "lib/x/old.so"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            (root / "usr/lib/x/libm.so").write_text(script)
            mend_linker_scripts(root)
            self.assertEqual(
                (root / "usr/lib/x/libm.so").read_text(),
                script.replace("/lib/x/libm", "/usr/lib/x/libm").replace("/lib64", "/usr/lib64"),
            )


if __name__ == "__main__":
    unittest.main()
