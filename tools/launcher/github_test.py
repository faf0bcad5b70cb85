"""Downloads from a server on this machine that stands in for GitHub."""

from __future__ import annotations

import hashlib
import http.server
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import github
from tools.launcher.cache import fill_once
from tools.launcher.choose import wanted_version
from tools.launcher.errors import LauncherError
from tools.launcher.table import read_table

REPO = Path(__file__).absolute().parents[2]

BAZEL = b"#!/bin/sh\necho bazel 7.7.1\n"
SHA256 = hashlib.sha256(BAZEL).hexdigest()


class Github(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.work = Path(folder.name)
        self.files: dict[str, bytes] = {}
        files = self.files

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                content = files.get(self.path)
                self.send_response(200 if content is not None else 404)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.name = "bazel-7.7.1-linux-x86_64"
        names = mock.patch.object(github, "asset", return_value=self.name)
        names.start()
        self.addCleanup(names.stop)

    def fill(self, hashes: dict[str, str]) -> None:
        github.fill(self.work, "7.7.1", hashes, releases=self.url)

    def test_a_hash_we_know(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL
        self.fill({self.name: SHA256})
        self.assertEqual((self.work / "bazel").read_bytes(), BAZEL)
        self.assertEqual((self.work / "bazel").stat().st_mode & 0o777, 0o755)

    def test_a_file_without_a_hash_is_not_downloaded(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL
        self.files[f"/7.7.1/{self.name}.sha256"] = f"{SHA256}  {self.name}\n".encode()
        with self.assertRaisesRegex(LauncherError, f"no hash for {self.name}: add it to BAZEL_REL"):
            self.fill({"bazel-7.7.1-linux-arm64": SHA256})
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_wrong_hash_is_refused(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL + b"#"
        with self.assertRaisesRegex(LauncherError, f"has sha256 [0-9a-f]+ and not {SHA256}"):
            self.fill({self.name: SHA256})

    def test_a_disk_that_fills_during_the_download_is_named(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL * 1000

        def fill(work: Path) -> None:
            # A device that takes nothing, as a full disk does.
            (work / "bazel").symlink_to("/dev/full")
            github.fill(work, "7.7.1", {self.name: SHA256}, releases=self.url)

        with self.assertRaisesRegex(
            LauncherError, "The disk of .* is full: thing needs 7 MB there"
        ):
            fill_once(self.work / "thing", fill, megabytes=7)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_missing_release_is_one_sentence(self) -> None:
        with self.assertRaisesRegex(
            LauncherError, "Downloading .* failed .*404.*: try again, set IRONCAST_GITHUB=no"
        ):
            self.fill({self.name: SHA256})


class Asset(unittest.TestCase):
    def test_names(self) -> None:
        for system, machine, name in (
            ("Linux", "x86_64", "bazel-7.7.1-linux-x86_64"),
            ("Linux", "aarch64", "bazel-7.7.1-linux-arm64"),
            ("Darwin", "arm64", "bazel-7.7.1-darwin-arm64"),
        ):
            with (
                mock.patch("platform.system", return_value=system),
                mock.patch("platform.machine", return_value=machine),
            ):
                self.assertEqual(github.asset("7.7.1"), name)

    def test_the_table_has_every_file_of_the_version_wanted(self) -> None:
        version = wanted_version(REPO, REPO)
        names = {
            f"bazel-{version}-{system}-{machine}"
            for system in ("darwin", "linux")
            for machine in ("arm64", "x86_64")
        }
        hashes = read_table(REPO, "BAZEL_RELEASES")["sha256s"]
        self.assertEqual(set(hashes), names, "adjust BAZEL_RELEASES in third_party/versions.bzl")
        for sha256 in hashes.values():
            self.assertRegex(sha256, r"\A[0-9a-f]{64}\Z")
        self.assertEqual(len(set(hashes.values())), len(hashes))

    def test_a_machine_without_a_release_is_named(self) -> None:
        with (
            mock.patch("platform.machine", return_value="sparc"),
            self.assertRaisesRegex(LauncherError, "no release for .* on sparc"),
        ):
            github.asset("7.7.1")


if __name__ == "__main__":
    unittest.main()
