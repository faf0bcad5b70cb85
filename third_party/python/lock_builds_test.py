"""What a lock runs of the packages that it locks, with a real uv, on an index that the test makes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from third_party.python import lock
from third_party.python.local_index import LocalIndex, source, wheel

UV = os.path.abspath(os.environ["UV"])


class LockBuilds(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def lock(self, index: LocalIndex, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Locks what requirements.txt names."""
        return subprocess.run(
            [sys.executable, lock.__file__, f"--uv={UV}", "--repository=@ironcast", *arguments],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HOME": str(self.folder),
                "BUILD_WORKSPACE_DIRECTORY": str(self.folder),
                "PIP_CONFIG_FILE": "/dev/null",
                "PIP_INDEX_URL": index.url,
                "PIP_RETRIES": "0",
            },
            capture_output=True,
            text=True,
        )

    def test_a_lock_runs_no_code_of_packages_unasked(self) -> None:
        index = LocalIndex(dict([wheel("top", "1.0", {"top.py": ""})]))
        self.addCleanup(index.close)
        # A backend that is part of the package, for a build without other packages.
        backend = (
            "import pathlib\n"
            "def get_requires_for_build_wheel(settings=None): return []\n"
            "def prepare_metadata_for_build_wheel(folder, settings=None):\n"
            f"    pathlib.Path({str(self.folder / 'ran')!r}).touch()\n"
            "    info = pathlib.Path(folder, 'built-1.0.dist-info')\n"
            "    info.mkdir()\n"
            "    (info / 'METADATA').write_text('Metadata-Version: 2.1\\nName: built\\nVersion: 1.0\\n')\n"
            "    return info.name\n"
        )
        project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
        index.files |= [source("built", "1.0", {"backend.py": backend, "pyproject.toml": project})]
        (self.folder / "requirements.txt").write_text("top\nbuilt\n")
        refused = "lock: built: to build a package without a wheel runs its code; name a version with a wheel, or "
        for arguments in ([], ["--build", "top1"]):
            done = self.lock(index, *arguments)
            self.assertEqual(done.returncode, 1, done)
            self.assertEqual(done.stderr, f"{refused}allow it with `-- --build built`\n")
            self.assertFalse((self.folder / "ran").exists())
        done = self.lock(index, "--build", "built")
        self.assertEqual(done.returncode, 0, done)
        self.assertTrue((self.folder / "ran").exists())
        locked = (self.folder / "requirements_lock.txt").read_text()
        self.assertIn("built==1.0", locked)
        self.assertIn("@ironcast//:lock -- --build built` from", locked)
        self.assertIn(":all:' is no name", self.lock(index, "--build=:all:").stderr)


if __name__ == "__main__":
    unittest.main()
