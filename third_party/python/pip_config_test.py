"""How pip's configuration is read, and what uv is told of it."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from third_party.python.pip_config import (
    config_files,
    link_folders,
    settings,
    uv_environment,
    uv_flags,
)


class PipConfig(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.files = [self.folder / "first.conf", self.folder / "second.conf"]
        only = mock.patch("third_party.python.pip_config.config_files", return_value=self.files)
        only.start()  # ignores this machine's own settings
        self.addCleanup(only.stop)

    def test_where_pip_looks(self) -> None:
        site = f"{sys.prefix}/pip.conf"
        shared = ["/etc/xdg/pip/pip.conf", "/etc/pip.conf"]
        self.assertEqual(
            [str(file) for file in config_files({"HOME": "/home/u"})],
            [*shared, "/home/u/.pip/pip.conf", "/home/u/.config/pip/pip.conf", site],
        )
        self.files[0].write_text("")
        named = str(self.files[0])
        env = {"PIP_CONFIG_FILE": named, "HOME": "/home/u", "XDG_CONFIG_DIRS": "/x:/y"}
        self.assertEqual(
            [str(file) for file in config_files(env)],
            ["/x/pip/pip.conf", "/y/pip/pip.conf", "/etc/pip.conf", site, named],
        )
        self.assertEqual(config_files({"PIP_CONFIG_FILE": "/dev/null"}), [])

    def test_a_later_file_wins_and_the_environment_over_all(self) -> None:
        self.files[0].write_text("[global]\nindex-url = first\ncert = /first.pem\nproxy = p\n")
        self.files[1].write_text("[install]\nindex_url = second\n[global]\ncert = /second.pem\n")
        self.assertEqual(
            settings({"PIP_CERT": "/env.pem"}),
            {"index-url": ["second"], "cert": ["/env.pem"], "proxy": ["p"]},
        )

    def test_a_configuration_that_pip_itself_would_refuse_is_left_to_pip(self) -> None:
        for text in ("no section\n", "\udcff"):
            self.files[0].write_text(text, errors="surrogateescape")
            self.assertEqual(settings({}), {})

    def test_folders_of_wheels(self) -> None:
        for name in ("a", "c d"):
            (self.folder / name).mkdir()
        self.files[0].write_text(
            f"[global]\nfind-links =\n    {self.folder}/a\n    https://pages.invalid/links.html\n"
        )
        self.assertEqual(link_folders(settings({})), [self.folder / "a"])
        env = {"PIP_FIND_LINKS": f"file://{self.folder}/c%20d {self.folder}/gone"}
        self.assertEqual(link_folders(settings(env)), [self.folder / "c d"])
        self.assertEqual(
            uv_flags({"PIP_FIND_LINKS": "/a https://b.invalid", "PIP_NO_INDEX": "off"}),
            ["--find-links=/a", "--find-links=https://b.invalid"],
        )

    def test_uvs_own_variables_win_over_pips_and_pips_over_the_rest(self) -> None:
        env = {
            "PIP_INDEX_URL": "https://pip.invalid",
            "PIP_EXTRA_INDEX_URL": "https://a.invalid https://b.invalid",
            "PIP_CERT": "/pip.pem",
            "PIP_PROXY": "http://pip.invalid",
            "UV_DEFAULT_INDEX": "https://uv.invalid",
            "SSL_CERT_FILE": "/machine.pem",
            "https_proxy": "http://machine.invalid",
            "HOME": "/home/u",
        }
        told = uv_environment(env)
        self.assertEqual(told["UV_DEFAULT_INDEX"], "https://uv.invalid")
        self.assertEqual(told["UV_INDEX"], "https://a.invalid https://b.invalid")
        self.assertEqual(told["SSL_CERT_FILE"], "/pip.pem")
        self.assertEqual(told["https_proxy"], "http://pip.invalid")
        self.assertEqual(told["HOME"], "/home/u")
        self.assertEqual([name for name in told if name.startswith("PIP_")], [])


if __name__ == "__main__":
    unittest.main()
