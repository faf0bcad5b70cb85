"""Who can enter the folder that Bazel writes to; with_bazel_test sees that Bazel leaves it so."""

from __future__ import annotations

import os
import stat
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import output_root


class OutputRoot(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bazels = self.folder / "bazel"

    def close(self) -> int:
        """Returns the mode that the folder has then."""
        output_root.close(self.folder / "ironcast")
        return stat.S_IMODE(self.bazels.stat().st_mode)

    def test_it_is_made_for_the_user_alone(self) -> None:
        self.addCleanup(os.umask, os.umask(0))
        self.assertEqual(self.close(), 0o700)

    def test_one_that_is_there_is_closed_if_it_is_the_users(self) -> None:
        self.bazels.mkdir()
        self.bazels.chmod(0o755)
        with mock.patch("os.geteuid", return_value=os.geteuid() + 1):
            self.assertEqual(self.close(), 0o755)
        self.assertEqual(self.close(), 0o700)

    def test_the_target_of_a_link_stays_open(self) -> None:
        target = self.folder / "target"
        target.mkdir()
        target.chmod(0o755)
        self.bazels.symlink_to(target)
        self.assertEqual(self.close(), 0o755)

    def test_what_cannot_be_made_is_left_to_bazel(self) -> None:
        output_root.close(Path("/proc/nothing/ironcast"))
        self.bazels.touch(0o644)
        self.assertEqual(self.close(), 0o644)


if __name__ == "__main__":
    unittest.main()
