"""The program of npm_pack, with a script instead of npm, which needs the network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(__file__).absolute().with_name("pack.py")
# npm writes into its cache and the working folder, and prints the archive's name last.
_NPM = """#!{python} -IS
import shutil, sys
if sys.argv[-1] == "gone@1":
    sys.exit("npm error 404")
shutil.copy("{archive}", "made.tgz")
print("a notice")
print("made.tgz")
"""


class Pack(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        source = self.folder / "package/dist/d3.js"
        source.parent.mkdir(parents=True)
        source.write_text("script")
        (self.folder / "package/link").symlink_to("/etc/passwd")
        self.archive = self.folder / "archive.tgz"
        with tarfile.open(self.archive, "w:gz") as tar:
            tar.add(self.folder / "package", "package")
            tar.add(source, "package/../../outside.js")
        self.node = self.folder / "node"
        self.node.write_text(_NPM.format(python=sys.executable, archive=self.archive))
        self.node.chmod(0o755)

    def pack(self, base: str, package: str = "@scope/d3@7", content: str = "script") -> str:
        root = self.folder / base
        request = {
            "node": str(self.node),
            "npm": "npm-cli.js",
            "package": package,
            "file": "dist/d3.js",
            "sha256": hashlib.sha256(content.encode()).hexdigest(),
            "root": str(root),
        }
        done = subprocess.run(
            [sys.executable, PROGRAM],
            input=json.dumps(request),
            env={**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode != 0, bool(done.stderr))
        return done.stderr

    def test_it_is_downloaded_once_and_only_files_of_the_package_are_written(self) -> None:
        self.assertEqual(self.pack("first"), "")
        self.node.unlink()
        self.assertEqual(self.pack("second"), "")
        files = [p for p in (self.folder / "second").rglob("*") if not p.is_dir()]
        self.assertEqual(files, [self.folder / "second/dist/d3.js"])
        self.assertTrue(files[0].samefile(self.folder / "first/dist/d3.js"))
        self.assertEqual(list(self.folder.rglob("outside.js")), [])

    def test_another_content_is_refused_and_not_kept(self) -> None:
        self.assertRegex(self.pack("first", content="other"), "d3.js of @scope/d3@7 has sha256")
        self.assertFalse((self.folder / "first").exists())
        self.assertEqual(list((self.folder / "cache/ironcast/packages").glob("npm_d3-*")), [])

    def test_what_npm_says_is_said(self) -> None:
        self.assertRegex(self.pack("first", "gone@1"), "could not download gone@1 .npm error 404")


if __name__ == "__main__":
    unittest.main()
