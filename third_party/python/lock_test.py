"""The lock, its source and the table agree."""

from __future__ import annotations

import re
import tempfile
import unittest
from pathlib import Path

from third_party.python.lock import add_cpu_builds, entries, leave_out, requirements_of, with_needs
from tools.cli import UserError
from tools.launcher.table import read_table

ROOT = Path(__file__).absolute().parents[2]
LOCK = (ROOT / "third_party/python/requirements_lock.txt").read_text()
WANTED = (ROOT / "third_party/python/requirements.in").read_text()


class Lock(unittest.TestCase):
    def setUp(self) -> None:
        self.locked = dict(re.findall(r"^(\S+)==(\S+)", LOCK, re.MULTILINE))

    def test_every_package_is_in_the_table_with_license_and_reason(self) -> None:
        table = read_table(ROOT, "PYTHON_PACKAGES")
        self.assertEqual(
            sorted(table), sorted(self.locked), "adjust PYTHON_PACKAGES in third_party/versions.bzl"
        )
        for name, package in table.items():
            self.assertTrue(package["license"] and package["why"], name)

    def test_what_is_wanted_is_locked_at_that_version(self) -> None:
        for name, version in re.findall(r"^([^#\s=]+)==(\S+)", WANTED, re.MULTILINE):
            self.assertEqual(self.locked.get(name), version, "run `tools/bazel run //:lock`")

    def test_every_package_has_hashes(self) -> None:
        for entry in re.split(r"^(?=\S+==)", LOCK, flags=re.MULTILINE)[1:]:
            self.assertRegex(entry, r"--hash=sha256:[0-9a-f]{64}")

    def test_cpu_builds_are_among_them(self) -> None:
        for sha256 in read_table(ROOT, "PYTHON_CPU_BUILDS").values():
            self.assertIn(sha256, LOCK)

    def test_a_cpu_build_of_another_version_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "torch==1.0 is not in the lock"):
            add_cpu_builds(
                "torch==2.0 \\\n    --hash=sha256:00\n", {"torch-1.0+cpu-cp311.whl": "12"}
            )

    def test_nothing_of_cuda_is_in_it(self) -> None:
        self.assertEqual(leave_out(LOCK), LOCK, "run `tools/bazel run //:lock`")
        lock = "a==1 \\\n    --hash=sha256:00\n"
        for name in ("nvidia-nccl-cu13", "cuda-toolkit", "triton"):
            self.assertEqual(leave_out(lock + lock.replace("a", name, 1) + lock), lock + lock)

    def test_what_a_package_needs_is_in_it(self) -> None:
        needed = re.findall(r"^    # needs (.*)$", LOCK, re.MULTILINE)
        self.assertGreater(len(needed), 40)
        self.assertEqual({n for line in needed for n in line.split()} - set(entries(LOCK)), set())

    def test_needs_are_written_where_uv_writes_who_needs_it(self) -> None:
        uv = (
            "a==1 \\\n    --hash=sha256:00\nb==2 \\\n    --hash=sha256:11\n    # via\n    #   a\n    #   c\n"
            "c-d==3 \\\n    --hash=sha256:22\n    # via a\n    # via -c lock.txt\n"
        )
        self.assertEqual(
            with_needs(uv),
            "a==1 \\\n    --hash=sha256:00\n    # needs b c-d\n"
            "b==2 \\\n    --hash=sha256:11\nc-d==3 \\\n    --hash=sha256:22\n",
        )

    def test_what_is_no_package_is_refused(self) -> None:
        """Options read other files or ask other indexes, and paths and addresses would be missing in the lock."""
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "requirements.txt"
        packages = ["a", "a==1.2", "a[x, y]>=1,<2 ; python_version < '3.12'", "a-b~=1.0  # why"]
        file.write_text("# these\n\n" + "\n".join(packages))
        self.assertEqual(requirements_of(file), packages)
        for line in (
            *("-e here", "-r more.txt", "--index-url http://a", "a @ file:///a.tar.gz", "./a.whl"),
            *("http://a/a.whl", "git+https://a", "a==1 --no-binary :all:", "a==1 \\", "a; b @ c"),
        ):
            file.write_text(f"a==1\n{line}\n")
            with (
                self.subTest(line),
                self.assertRaisesRegex(UserError, "is no package: write its name"),
            ):
                requirements_of(file)

    def test_no_index_is_named(self) -> None:
        self.assertNotRegex(LOCK, r"https?://|--index-url|--extra-index-url|--find-links")


if __name__ == "__main__":
    unittest.main()
