"""The page of links that makes pip prefer a CPU build it has in a folder."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from third_party.python.cpu_builds import config_files, link_folders, page

WHEEL = "torch-2.13.0+cpu-cp311-cp311-linux.whl"


class CpuBuilds(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name in ("a", "b", "c d"):
            (self.folder / name).mkdir()

    def config(self, text: str) -> dict[str, str]:
        (self.folder / "pip.conf").write_text(text)
        return {"PIP_CONFIG_FILE": str(self.folder / "pip.conf")}

    def test_folders_of_the_environment_and_of_the_configuration(self) -> None:
        env = self.config(
            f"[global]\nfind-links =\n    {self.folder}/b\n    "
            f"https://pages.invalid/links.html\n[wheel]\nfind-links = {self.folder}/a\n"
        )
        env["PIP_FIND_LINKS"] = f"file://{self.folder}/c%20d {self.folder}/gone"
        self.assertEqual(
            link_folders(env), [self.folder / "c d", self.folder / "b", self.folder / "a"]
        )

    def test_a_configuration_that_pip_itself_would_refuse_is_left_to_pip(self) -> None:
        self.assertEqual(link_folders(self.config("no section\n")), [])

    def test_where_pip_looks(self) -> None:
        files = [str(file) for file in config_files({"HOME": "/home/u"})]
        self.assertEqual(
            files, ["/etc/pip.conf", "/home/u/.pip/pip.conf", "/home/u/.config/pip/pip.conf"]
        )

    def test_only_files_that_are_there_and_known(self) -> None:
        (self.folder / "a" / WHEEL).write_text("")
        (self.folder / "a" / "other.whl").write_text("")
        text = page([self.folder / "b", self.folder / "a"], {WHEEL: "12ab", "gone.whl": "34cd"})
        self.assertIn(
            f'href="file://{self.folder}/a/torch-2.13.0%2Bcpu-cp311-cp311-linux.whl#sha256=12ab"',
            text,
        )
        self.assertEqual(text.count("<a "), 1)


if __name__ == "__main__":
    unittest.main()
