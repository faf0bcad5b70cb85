"""What reaches the root from this machine, and what the report says."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tools.cli import UserError
from tools.dev.fresh_machine.job import Job, Result, home_of, run, table
from tools.dev.fresh_machine.root import (
    apt_settings,
    private_certificates,
    sources,
    user_environment,
)


class Machine(unittest.TestCase):
    def test_sources_are_those_of_the_suite_on_this_machines_mirrors(self) -> None:
        mirrors = ["m://x/debian", "m://other/debian", "m://x/debian-security", "m://z/apt"]
        self.assertEqual(
            sources(mirrors, "trixie"),
            [
                "deb m://x/debian trixie main",
                "deb m://x/debian trixie-updates main",
                "deb m://x/debian-security trixie-security main",
            ],
        )
        self.assertEqual(len(sources(["m://x/debian"], "trixie")), 2)

    def test_a_machine_without_debians_archive_is_told_so(self) -> None:
        with self.assertRaisesRegex(UserError, "mirror of Debian"):
            sources(["m://x/ubuntu"], "trixie")

    def test_apt_keeps_the_way_to_the_mirror_and_nothing_else(self) -> None:
        kept = [
            'Acquire::http::Proxy "p://x:1";',
            'Acquire::https::Proxy::some.host "DIRECT";',
            'Acquire::Check-Valid-Until "false";',
        ]
        others = ['APT::Update::Post-Invoke:: "rm x";', 'Acquire::http "";', 'Dir "/";']
        dump = "\n".join([others[0], *kept, *others[1:]])
        self.assertEqual(apt_settings(dump).splitlines(), kept)

    def test_the_user_has_proxies_and_private_certificates_and_none_of_pips_settings(self) -> None:
        env = {"HTTPS_PROXY": "p://x:1", "no_proxy": "y", "PIP_FIND_LINKS": "/w", "HOME": "/root"}
        given = user_environment(False, env)
        self.assertEqual(sorted(given), ["HOME", "HTTPS_PROXY", "PATH", "no_proxy"])
        self.assertNotEqual(given["HOME"], "/root")
        self.assertIn("SSL_CERT_FILE", user_environment(True, env))

    def test_certificates_are_found_below_the_folder(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder, "place/own.crt")
            own.parent.mkdir()
            own.touch()
            Path(folder, "README").touch()
            self.assertEqual(private_certificates(Path(folder)), [own])


class Python(unittest.TestCase):
    def test_what_is_no_interpreter_or_the_systems_own_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for prefix, reason in [("/usr", "system"), (folder, "in its own folder")]:
                fake = Path(folder, "python3")
                fake.write_text(f"#!/bin/sh\necho {prefix}\n")
                fake.chmod(0o755)
                with self.assertRaisesRegex(UserError, reason):
                    home_of(fake)
            with self.assertRaisesRegex(UserError, "in its own folder"):
                home_of(Path(folder, "missing"))

    def test_an_interpreters_folder_holds_its_program(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder, "bin/python3")
            fake.parent.mkdir()
            fake.write_text(f"#!/bin/sh\necho {folder}\n")
            fake.chmod(0o755)
            self.assertEqual(home_of(fake), Path(folder))


class Report(unittest.TestCase):
    def test_results_are_read_even_if_the_rest_was_cut_off(self) -> None:
        line = '{"command": "a", "status": 3, "seconds": 1.5, "megabytes": 7}'
        stand_in = ["sh", "-c", f"echo '{line}' >&$4; exit 1", "stand-in"]
        # As inside.py is started: interpreter, -I, program, FD, job.
        job = Job("/r", "/c", [], {}, ["a", "b"])
        self.assertEqual(run(job, stand_in), [Result("a", 3, 1.5, 7)])

    def test_table_has_a_line_for_every_command(self) -> None:
        text = table("Debian x", [Result("a b", 0, 61.2, 1234), Result("c", 1, 1.0, 0)])
        self.assertRegex(text, r"(?m)^a b +61 +1234 +0$")
        self.assertRegex(text, r"(?m)^c +1 +0 +1$")


class Command(unittest.TestCase):
    def test_help_names_the_commands_of_the_readme(self) -> None:
        root = Path(__file__).absolute().parents[3]
        readme = (root / "README.md").read_text()
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from tools.dev.fresh_machine.__main__ import README; print(*README, sep='\\n')",
            ],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        for command in done.stdout.splitlines():
            self.assertIn(f"    {command}\n", readme)


if __name__ == "__main__":
    unittest.main()
