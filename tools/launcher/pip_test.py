"""When PyTorch's index of CPU builds is added, and when not."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import pip


class CpuIndex(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "pip.conf"
        only = mock.patch("third_party.python.cpu_builds.config_files", return_value=[self.file])
        only.start()  # this machine's own are left out
        self.addCleanup(only.stop)

    def ask(self, reachable: bool, **env: str) -> dict[str, str]:
        with mock.patch.object(pip, "reachable", return_value=reachable) as self.asked:
            return pip.cpu_index(env, self.folder)

    def test_it_is_added_for_an_unconfigured_pip_and_asked_for_once(self) -> None:
        self.assertEqual(self.ask(True), {"PIP_EXTRA_INDEX_URL": pip.CPU_INDEX})
        self.assertEqual(self.asked.call_args.args, (pip.CPU_INDEX,))
        self.assertEqual(self.ask(False), {"PIP_EXTRA_INDEX_URL": pip.CPU_INDEX})
        self.assertEqual(self.asked.call_count, 0)

    def test_out_of_reach_it_is_not_added(self) -> None:
        self.assertEqual(self.ask(False), {})

    def test_what_the_user_said_stands(self) -> None:
        self.assertEqual(self.ask(True, PIP_FIND_LINKS="/wheels"), {})
        self.assertEqual(self.asked.call_count, 0)
        self.file.write_text("[global]\nindex-url = https://index.invalid\n")
        self.assertEqual(self.ask(True), {})
        self.assertEqual(self.asked.call_count, 0)

    def test_a_configuration_of_other_things_is_no_such_word(self) -> None:
        self.file.write_text("[global]\ncert = /ca.pem\n")
        self.assertEqual(self.ask(True), {"PIP_EXTRA_INDEX_URL": pip.CPU_INDEX})


if __name__ == "__main__":
    unittest.main()
