"""The locale for paths with letters outside ASCII."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import latin1
from tools.launcher.errors import LauncherError


class Latin1(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)
        self.tools = self.cache / "bin"
        self.tools.mkdir()

    def localedef(self, script: str) -> None:
        tool = self.tools / "localedef"
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
        sources = self.cache / "i18n/charmaps"
        sources.mkdir(parents=True)
        (sources / "ISO-8859-1.gz").write_text("")

    def ask(self, *paths: str, known: bool = False) -> dict[str, str]:
        with (
            mock.patch.object(latin1, "known", return_value=known),
            mock.patch.object(latin1, "SOURCES", self.cache / "i18n"),
            mock.patch.dict("os.environ", PATH=f"{self.tools}:/usr/bin:/bin"),
        ):
            return latin1.environment([Path(path) for path in paths], self.cache)

    def test_nothing_is_done_for_ascii_or_where_the_locale_is_known(self) -> None:
        self.assertEqual(self.ask("/home/a", "/work"), {})
        self.assertEqual(self.ask("/home/ä", known=True), {})
        self.assertFalse((self.cache / "locale").exists())

    def test_it_is_made_once(self) -> None:
        self.localedef(
            f"echo $I18NPATH >> '{self.cache}/calls'\nfor last; do :; done\n"
            'mkdir -p "$last"; touch "$last/LC_CTYPE"; exit 1  # as it does after warnings'
        )
        for _ in range(2):
            self.assertEqual(
                self.ask("/home/a", "/work/ä"), {"LOCPATH": str(self.cache / "locale")}
            )
        self.assertTrue((self.cache / "locale/en_US.ISO-8859-1/LC_CTYPE").is_file())
        self.assertEqual((self.cache / "calls").read_text(), f"{self.cache}/i18n\n")

    def test_where_it_cannot_be_made_it_says_what_to_do(self) -> None:
        self.localedef("echo 'no charmap' >&2; exit 4")
        with self.assertRaisesRegex(
            LauncherError,
            "/work/ä has letters outside ASCII, .* en_US.ISO-8859-1, .*no charmap.*: install "
            "Debian's package `locales`, or move to a path with only ASCII letters",
        ):
            self.ask("/home/a", "/work/ä")
        self.assertFalse((self.cache / "locale").exists())


if __name__ == "__main__":
    unittest.main()
