"""Which rc files Bazel is told to read, and in which order."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import rc_files

OWN = Path("/cache/own.bazelrc")
NONE = ["--nosystem_rc", "--noworkspace_rc", "--nohome_rc"]


class RcFiles(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.system = self.root / "system.bazelrc"
        self.enterContext(mock.patch.object(rc_files, "OF_THE_SYSTEM", self.system))
        for name in ("home", "work/deep/er"):
            (self.root / name).mkdir(parents=True)
        for name in ("home/.bazelrc", "work/.bazelrc", "work/WORKSPACE", "work/deep/.bazelrc"):
            (self.root / name).touch()

    def files(self, *startup: str, folder: str = "work/deep/er") -> list[str]:
        env = {"HOME": str(self.root / "home")}
        options = rc_files.options(OWN, startup, self.root / folder, env)
        self.assertEqual(options[:3], NONE)
        return [option.removeprefix(f"--bazelrc={self.root}/") for option in options[3:]]

    def test_the_launchers_own_is_the_first_and_the_others_follow_in_bazels_order(self) -> None:
        own = f"--bazelrc={OWN}"
        self.assertEqual(self.files(), [own, "work/.bazelrc", "home/.bazelrc"])
        self.system.touch()
        self.assertEqual(self.files()[1:], ["system.bazelrc", "work/.bazelrc", "home/.bazelrc"])

    def test_what_the_user_turns_off_stays_off(self) -> None:
        self.system.touch()
        self.assertEqual(self.files("--nohome_rc")[1:], ["system.bazelrc", "work/.bazelrc"])
        self.assertEqual(self.files(*NONE)[1:], [])

    def test_without_a_workspace_there_is_none_of_it(self) -> None:
        self.assertEqual(self.files(folder="home")[1:], ["home/.bazelrc"])

    def test_every_marker_of_bazels_is_a_workspace(self) -> None:
        (self.root / "work/deep/REPO.bazel").touch()
        self.assertIn("work/deep/.bazelrc", self.files())

    def test_a_file_is_written_for_every_set_of_options(self) -> None:
        first = rc_files.write(self.root, ["--a=b c"])
        self.assertEqual(first.read_text(), 'common "--a=b c"\n')
        self.assertNotEqual(rc_files.write(self.root, ["--a=d"]), first)
        self.assertEqual(rc_files.write(self.root, ["--a=b c"]), first)

    def test_a_file_with_other_options_is_not_believed(self) -> None:
        rc = rc_files.write(self.root, ["--a=b c"])
        rc.write_text("startup --planted\n")
        self.assertEqual(rc_files.write(self.root, ["--a=b c"]), rc)
        self.assertEqual(rc.read_text(), 'common "--a=b c"\n')


if __name__ == "__main__":
    unittest.main()
