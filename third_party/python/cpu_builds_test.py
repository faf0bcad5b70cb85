"""Tests how pip's configuration is read, and the page of links that makes pip prefer a local CPU build."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from third_party.python.cpu_builds import (
    NO_CPU_BUILD,
    answer,
    choices,
    config_files,
    link_folders,
)

WHEEL = "torch-2.13.0+cpu-cp311-cp311-linux.whl"
HASHES = {WHEEL: "12ab", "gone-cp311-linux.whl": "34cd"}


class CpuBuilds(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a", "b", "c d"):
            (self.folder / name).mkdir()
        self.wheel = self.folder / "a" / WHEEL
        self.file = self.folder / "pip.conf"
        only = mock.patch("third_party.python.cpu_builds.config_files", return_value=[self.file])
        only.start()  # ignores this machine's own settings
        self.addCleanup(only.stop)

    def test_folders_of_the_environment_and_of_the_configuration(self) -> None:
        self.file.write_text(
            f"[global]\nfind-links =\n    {self.folder}/b\n    "
            f"https://pages.invalid/links.html\n[wheel]\nfind_links = {self.folder}/a\n"
        )
        env = {"PIP_FIND_LINKS": f"file://{self.folder}/c%20d {self.folder}/gone"}
        self.assertEqual(
            link_folders(choices(env)),
            [self.folder / "c d", self.folder / "b", self.folder / "a"],
        )

    def test_a_configuration_that_pip_itself_would_refuse_is_left_to_pip(self) -> None:
        for text in ("no section\n", "\udcff"):
            self.file.write_text(text, errors="surrogateescape")
            self.assertEqual(choices({}), {})

    def test_where_pip_looks(self) -> None:
        site = f"{sys.prefix}/pip.conf"
        shared = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"]
        self.assertEqual(
            [str(file) for file in config_files({"HOME": "/home/u"})],
            [*shared, "/home/u/.pip/pip.conf", "/home/u/.config/pip/pip.conf", site],
        )
        self.file.write_text("")
        named = str(self.file)
        env = {"PIP_CONFIG_FILE": named, "HOME": "/home/u", "XDG_CONFIG_DIRS": "/x:/y"}
        self.assertEqual(
            [str(file) for file in config_files(env)],
            ["/x/pip/pip.conf", "/y/pip/pip.conf", "/etc/pip.conf", site, named],
        )
        self.assertEqual(config_files({"PIP_CONFIG_FILE": "/dev/null"}), [])

    def test_a_folder_with_the_cpu_build_is_linked_to_and_nothing_is_said(self) -> None:
        self.wheel.write_text("")
        (self.folder / "a" / "other.whl").write_text("")
        env = {"PIP_FIND_LINKS": f"{self.folder}/b {self.folder}/a"}
        found = answer(env, HASHES, "cp311")
        self.assertIn(
            f'href="file://{self.folder}/a/torch-2.13.0%2Bcpu-cp311-cp311-linux.whl#sha256=12ab"',
            str(found["page"]),
        )
        self.assertEqual(str(found["page"]).count("<a "), 1)
        self.assertEqual(found["note"], "")

    def test_without_a_known_cpu_build_for_this_python_it_is_said_beforehand(self) -> None:
        self.file.write_text("[global]\ncert = /ca.pem\n")
        self.assertEqual(answer({}, HASHES, "cp311")["note"], NO_CPU_BUILD)
        env = {"PIP_EXTRA_INDEX_URL": "https://other.invalid https://index.invalid/whl/cpu/"}
        self.assertEqual(answer(env, HASHES, "cp311")["note"], "")
        cuda = {"PIP_EXTRA_INDEX_URL": "https://index.invalid/whl/cu130"}
        self.assertEqual(answer(cuda, HASHES, "cp311")["note"], NO_CPU_BUILD)
        self.assertEqual(
            answer(env, HASHES, "cp312")["note"], NO_CPU_BUILD, "its hash is not known"
        )

    def test_every_change_that_matters_is_noticed_and_no_other(self) -> None:
        self.file.write_text("[global]\ntimeout = 9\n")
        env = {"PIP_FIND_LINKS": str(self.folder / "a")}
        before = answer(env, HASHES, "cp311")
        self.assertEqual(answer({**env, "PIP_TIMEOUT": "8"}, HASHES, "cp311"), before)
        self.file.write_text("[global]\ntimeout = 10\n")
        self.assertEqual(answer(env, HASHES, "cp311"), before)
        self.assertIn(str(self.file), before["watch"])
        self.assertIn(str(self.wheel), before["watch"])
        seen = [before["choices"]]
        self.file.write_text("[global]\nextra-index-url = https://index.invalid\n")
        seen.append(answer(env, HASHES, "cp311")["choices"])
        self.wheel.write_text("")
        seen.append(answer(env, HASHES, "cp311")["choices"])
        seen.append(answer({**env, "PIP_NO_INDEX": "1"}, HASHES, "cp311")["choices"])
        self.assertEqual(len(set(map(str, seen))), 4, seen)


if __name__ == "__main__":
    unittest.main()
