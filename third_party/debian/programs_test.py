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
from third_party.debian.programs import mend_linker_scripts

PROGRAM = Path(__file__).absolute().with_name("programs.py")


@unittest.skipUnless(shutil.which("apt-get"), "this machine has no apt")
class Programs(unittest.TestCase):
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

    def root(self, base: str = "base") -> Path:
        """The folder that the rule fills, in an output base."""
        return self.folder / base / "external/debian_dtc/root"

    def unpack(self, base: str = "base", **changes: object) -> subprocess.CompletedProcess[str]:
        request: dict[str, object] = {
            "root": str(self.root(base)),
            "packages": ["dtc"],
            "versions": {"dtc": "1.6-1"},
            "leave_out": [],
            "skip": [],
            "programs": [],
        }
        env = {
            **os.environ,
            "APT_CONFIG": str(self.folder / "apt.conf"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        return subprocess.run(
            [sys.executable, str(PROGRAM)],
            input=json.dumps({**request, **changes}),
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def test_as_recorded_it_says_nothing(self) -> None:
        done = self.unpack()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.root() / "usr/bin/dtc").read_text(), "dtc\n")
        self.assertTrue((self.root() / "usr/lib/libfdt.so.1").is_file())

    def test_without_a_store_it_is_unpacked_all_the_same(self) -> None:
        store = self.folder / "cache/ironcast/packages"
        store.mkdir(parents=True)
        store.chmod(0o777)  # what is in there could be anybody's
        done = self.unpack()
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual((self.root() / "usr/bin/dtc").read_text(), "dtc\n")
        self.assertEqual(list(store.iterdir()), [])

    def test_drift_is_one_line_and_goes_on(self) -> None:
        done = self.unpack(versions={"dtc": "1.5-9", "libfdt1": "1.6-1", "gone": "1"})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(
            done.stdout, "dtc is 1.6-1 on this machine's mirror; this project was made with 1.5-9\n"
        )
        self.assertTrue((self.root() / "usr/bin/dtc").is_file())

    def test_the_second_output_base_needs_no_mirror_and_shares_the_files(self) -> None:
        self.unpack()
        shutil.rmtree(self.mirror.folder)
        done = self.unpack("second")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        first, second = (self.root(base) / "usr/bin/dtc" for base in ("base", "second"))
        self.assertTrue(first.samefile(second))

    def test_another_request_is_another_entry(self) -> None:
        self.unpack()
        self.unpack("second", skip=["./usr/lib"])
        self.assertTrue((self.root() / "usr/lib/libfdt.so.1").exists())
        self.assertFalse((self.root("second") / "usr/lib").exists())

    def test_lists_older_than_the_mirror_are_renewed(self) -> None:
        self.unpack("first", packages=["libfdt1"])
        # Another mirror, at the same address.
        shutil.rmtree(self.mirror.folder)
        LocalMirror(self.mirror.folder).add("dtc", "1.7-1", {"usr/bin/dtc": "newer\n"})
        done = self.unpack(versions={})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.root() / "usr/bin/dtc").read_text(), "newer\n")

    def test_the_first_package_that_there_is_is_taken(self) -> None:
        done = self.unpack(packages=["renamed|dtc"])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue((self.root() / "usr/bin/dtc").is_file())

    def test_an_unknown_package_is_one_line_and_a_status(self) -> None:
        done = self.unpack(packages=["nothing"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, r"\A[^\n]*nothing[^\n]*\n\Z")


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
