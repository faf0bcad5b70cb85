"""Runs the real apt and dpkg on a local mirror that the test makes, without network or root."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from third_party.debian.apt import (
    Package,
    PrivateApt,
    backports,
    machine_mirrors,
    relative_symlinks,
    require_apt,
    unpack,
)
from third_party.debian.errors import AptError
from third_party.debian.local_mirror import LocalMirror


@unittest.skipUnless(shutil.which("apt-get"), "this machine has no apt")
class Apt(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.mirror = LocalMirror(self.folder / "mirror")
        self.mirror.add(
            "tool",
            "2.0-1",
            {"usr/bin/tool": "tool 2\n", "usr/share/doc/tool/README": "doc"},
            depends=["lib", "libc6"],
        )
        self.mirror.add("tool", "1.0-1", {"usr/bin/tool": "tool 1\n"}, depends=["lib"])
        self.mirror.add(
            "lib", "1.5", {"usr/lib/lib.so": "lib\n"}, links={"usr/lib/alias.so": "/usr/lib/lib.so"}
        )
        self.mirror.add("libc6", "2.36", {"lib/libc.so.6": "libc\n"})

    def apt(self, **options: object) -> PrivateApt:
        apt = PrivateApt(self.folder / "state", source=self.mirror.source, **options)  # type: ignore[arg-type]
        apt.update()
        return apt

    def test_a_name_that_would_end_a_setting_is_refused(self) -> None:
        for state, scratch in (('a"b', "c"), ("a", 'c"; x "')):
            with self.assertRaisesRegex(AptError, "has a quotation mark in its name: set XDG"):
                PrivateApt(self.folder / state, scratch=self.folder / scratch)
        PrivateApt(self.folder / "a'b", scratch=self.folder / "c; x")

    def test_resolve_download_unpack(self) -> None:
        apt = self.apt()
        self.assertEqual(apt.candidate("tool"), "2.0-1")
        self.assertIsNone(apt.candidate("nothing"))
        packages = apt.closure(["tool"], leave_out=["libc\\d"])
        self.assertEqual(packages, [Package("lib", "1.5"), Package("tool", "2.0-1")])
        apt.unpack(packages, self.folder / "root", skip=["./usr/share/*"])
        found = sorted(
            str(p.relative_to(self.folder / "root"))
            for p in (self.folder / "root").rglob("*")
            if not p.is_dir()
        )
        self.assertEqual(found, ["usr/bin/tool", "usr/lib/alias.so", "usr/lib/lib.so"])
        relative_symlinks(self.folder / "root")
        self.assertEqual(os.readlink(self.folder / "root/usr/lib/alias.so"), "lib.so")

    def test_what_is_downloaded_is_told(self) -> None:
        apt = self.apt()
        packages = apt.closure(["tool"])
        told: list[tuple[int, int]] = []

        def slowly(batch: list[Package], into: Path) -> list[Path]:
            into.mkdir()
            (into / "part.deb").write_bytes(bytes(7))
            time.sleep(0.8)
            return []

        with mock.patch.object(apt, "download", slowly):
            apt.unpack(packages, self.folder / "root", progress=lambda *seen: told.append(seen))
        self.assertEqual(told, [(7, sum(package.size for package in packages))])

    def test_a_recorded_version_is_preferred_while_it_can_be_had(self) -> None:
        self.assertEqual(self.apt(pins={"tool": "1.0-1"}).candidate("tool"), "1.0-1")
        self.assertEqual(self.apt(pins={"tool": "0.9-1"}).candidate("tool"), "2.0-1")

    def test_a_damaged_package_is_refused(self) -> None:
        apt = self.apt()
        deb = self.mirror.folder / "lib_1.5_amd64.deb"
        deb.write_bytes(deb.read_bytes()[:-1] + b"!")
        with self.assertRaisesRegex(AptError, "`apt-get download` failed: .*[Hh]ash"):
            apt.download([Package("lib", "1.5")], self.folder / "debs")

    def test_a_package_that_is_not_one_is_named(self) -> None:
        broken = self.folder / "broken.deb"
        broken.write_text("no package")
        with self.assertRaisesRegex(AptError, "unpacking broken.deb failed"):
            unpack(broken, self.folder / "root")

    def test_an_unknown_package_is_named(self) -> None:
        with self.assertRaisesRegex(AptError, "`apt-get install` failed: .*nothing"):
            self.apt().closure(["nothing"])

    def test_a_mirror_that_is_not_there_is_one_sentence(self) -> None:
        apt = PrivateApt(
            self.folder / "state", source=f"deb [trusted=yes] file:{self.folder}/gone ./"
        )
        with self.assertRaisesRegex(AptError, "apt") as caught:
            apt.update()
        self.assertNotIn("\n", str(caught.exception))

    def test_an_unsigned_mirror_is_refused(self) -> None:
        apt = PrivateApt(
            self.folder / "state", source=self.mirror.source.replace("[trusted=yes] ", "")
        )
        with self.assertRaisesRegex(AptError, "not signed|Release file|could not download"):
            apt.update()

    def test_the_machines_hooks_are_not_run(self) -> None:
        ran = self.folder / "ran"
        config = self.folder / "hooks.conf"
        config.write_text(
            f'APT::Update::Post-Invoke {{ "touch {ran}"; }}; '
            f'APT::Update::Pre-Invoke {{ "touch {ran}"; }};\n'
        )
        with mock.patch.dict(os.environ, APT_CONFIG=str(config)):
            self.apt()
        self.assertFalse(ran.exists())

    def test_the_machines_archive_comes_before_its_companions(self) -> None:
        config, sources = self.folder / "apt.conf", self.folder / "sources.list"
        sources.write_text(
            "deb http://mirror.invalid/debian-security bookworm-security main\n"
            "deb http://other.invalid/apt stable main\n"
            "deb http://mirror.invalid/debian bookworm main\n"
        )
        config.write_text(f'Dir::Etc::SourceList "{sources}"; Dir::Etc::SourceParts "/dev/null";\n')
        with mock.patch.dict(os.environ, APT_CONFIG=str(config)):
            mirrors = machine_mirrors(self.folder / "machine")
        self.assertEqual(mirrors[0], "http://mirror.invalid/debian")
        self.assertEqual(len(mirrors), 3)

    def test_backports_are_those_of_the_machines_release(self) -> None:
        config, release = self.folder / "apt.conf", self.folder / "os-release"
        sources = self.folder / "sources.list"
        sources.write_text("deb http://mirror.invalid/debian bookworm main\n")
        config.write_text(f'Dir::Etc::SourceList "{sources}"; Dir::Etc::SourceParts "/dev/null";\n')
        release.write_text("ID=debian\nVERSION_CODENAME=bookworm\n")
        with mock.patch.dict(os.environ, APT_CONFIG=str(config)):
            line = backports(self.folder / "a", release)
            assert line
            self.assertRegex(line, r"http://mirror.invalid/debian bookworm-backports main$")
            PrivateApt(self.folder / "both", also=line)
            both = (self.folder / "both/sources.list").read_text().splitlines()
            self.assertEqual([row for row in both if row], [sources.read_text().strip(), line])
            release.write_text("ID=ubuntu\nVERSION_CODENAME=noble\n")
            self.assertIsNone(backports(self.folder / "b", release))


class NoApt(unittest.TestCase):
    def test_a_machine_without_apt_is_told_so(self) -> None:
        with (
            mock.patch("shutil.which", return_value=None),
            self.assertRaisesRegex(AptError, "`apt-get` is not on PATH"),
        ):
            require_apt()


if __name__ == "__main__":
    unittest.main()
