"""Tests that the IREE in use is the pinned one."""

from __future__ import annotations

import unittest
from unittest import mock

import support

from bmc.iree import version


class VersionTest(support.FolderTest):
    def test_the_installed_iree_is_the_pinned_one(self) -> None:
        self.assertEqual(version.installed_version(), version.PINNED)
        version.check(any_version=False)

    def test_another_one_is_refused_until_the_user_insists(self) -> None:
        with mock.patch.object(version, "installed_version", return_value="9.0.0"):
            self.refuses(
                "iree-version",
                "9.0.0",
                f"iree-base-compiler=={version.PINNED}",
                "--any-iree",
                call=lambda: version.check(any_version=False),
            )
            version.check(any_version=True)
            result = support.bmc(
                "compile", "--src", "x.mlir", "--isa", "rv64gc", "--name", "m", "--out", "o"
            )
            self.assertEqual(result.status, 1)
            self.assertIn("error[iree-version]", result.err)


if __name__ == "__main__":
    unittest.main()
