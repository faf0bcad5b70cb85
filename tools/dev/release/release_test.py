"""The archive has what belongs into it, and the same bytes wherever it is made."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

from tools.cli import UserError
from tools.dev.release import release

CONTENTS = """\
10 3 tools/bazel
11 4 a b.txt
12 5 .ci/run
13 6 .mypy_cache/3.11/a.json
14 7 tools/__pycache__/a.pyc
15 8 models/bert_tiny/checkpoint/weights
16 9 .bazelversion
17 9 docs/README.md
"""


class ReleaseTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = Path(folder.name)

    def pack(self, time: int) -> bytes:
        names = release.files_of(CONTENTS)
        for name in names:
            file = self.tree / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(name)
            file.chmod(0o700 if name == "tools/bazel" else 0o600)
            os.utime(file, (time, time))
        return release.archive(self.tree, names)

    def test_what_is_in_it(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(self.pack(1))) as tar:
            found = {info.name: info.mode for info in tar}
        self.assertEqual(found, {".bazelversion": 0o644, "a b.txt": 0o644, "tools/bazel": 0o755})

    def test_the_same_bytes_at_another_time(self) -> None:
        packed = self.pack(1)
        self.assertEqual(packed, self.pack(1_000_000_000))
        (self.tree / "a b.txt").write_text("other")
        self.assertNotEqual(packed, release.archive(self.tree, release.files_of(CONTENTS)))

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", "-C", str(self.tree), *arguments], check=True, capture_output=True)

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_files_that_git_does_not_track_are_refused(self) -> None:
        self.pack(1)
        (self.tree / "WORKSPACE").touch()
        contents, out = self.tree / "contents.txt", self.tree / "out"
        contents.write_text(CONTENTS)
        out.mkdir()
        arguments = [f"--tree={self.tree}/WORKSPACE", f"--contents={contents}", f"--out={out}"]
        arguments.append("--version=1.2.3")
        # A tree without git has nothing else to go by.
        self.assertEqual(release.main([*arguments, "--tracked"]), 0)
        (out / release.NAME).unlink()
        self.git("init", "--quiet")
        self.git("add", "tools/bazel")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(release.main([*arguments, "--tracked"]), 1)
        self.assertIn("git does not track .bazelversion, a b.txt: add to git", said.getvalue())
        self.assertFalse((out / release.NAME).exists())
        self.assertEqual(release.main(arguments), 0)
        self.git("add", "a b.txt", ".bazelversion")
        self.assertEqual(release.main([*arguments, "--tracked"]), 0)

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_a_checkout_that_git_cannot_read_is_refused(self) -> None:
        (self.tree / ".git").write_text("gitdir: /nowhere\n")
        with self.assertRaisesRegex(UserError, "git does not list .*: fatal: .*nowhere"):
            release.require_tracked(self.tree, [])

    def test_a_name_too_long_for_the_format_is_an_error(self) -> None:
        (self.tree / ("x" * 120)).write_text("")
        with self.assertRaises(ValueError):
            release.archive(self.tree, ["x" * 120])


if __name__ == "__main__":
    unittest.main()
