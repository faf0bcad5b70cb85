"""Downloads from a server on this machine that stands in for GitHub."""

from __future__ import annotations

import hashlib
import http.server
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import github
from tools.launcher.errors import LauncherError

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

    def test_a_hash_the_release_publishes(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL
        self.files[f"/7.7.1/{self.name}.sha256"] = f"{SHA256}  {self.name}\n".encode()
        self.fill({})
        self.assertEqual((self.work / "bazel").read_bytes(), BAZEL)

    def test_a_wrong_hash_is_refused(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL + b"#"
        with self.assertRaisesRegex(LauncherError, f"has sha256 [0-9a-f]+ and not {SHA256}"):
            self.fill({self.name: SHA256})

    def test_a_page_in_place_of_a_hash_is_refused(self) -> None:
        self.files[f"/7.7.1/{self.name}"] = BAZEL
        self.files[f"/7.7.1/{self.name}.sha256"] = b"<html>sign in</html>"
        with self.assertRaisesRegex(LauncherError, "does not hold a sha256"):
            self.fill({})

    def test_a_missing_release_is_one_sentence(self) -> None:
        with self.assertRaisesRegex(
            LauncherError, "Downloading .* failed .*404.*: try again, or set BAZEL_REAL"
        ):
            self.fill({self.name: SHA256})

    def test_reachable_or_not(self) -> None:
        self.files["/there"] = b"x"
        self.assertTrue(github.reachable(f"{self.url}/there"))
        self.assertFalse(github.reachable(f"{self.url}/gone"))

    def test_a_server_that_never_answers_costs_seconds(self) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            mock.patch.object(github, "DEADLINE_SECONDS", 0.3),
        ):
            self.assertFalse(github.reachable(f"http://127.0.0.1:{silent.getsockname()[1]}/"))

    def test_a_slow_resolver_costs_seconds(self) -> None:
        answer = threading.Event()
        self.addCleanup(answer.set)
        with (
            mock.patch.object(github, "DEADLINE_SECONDS", 0.3),
            mock.patch("socket.getaddrinfo", side_effect=lambda *_, **__: answer.wait()),
        ):
            self.assertFalse(github.reachable("http://name.invalid/"))


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

    def test_a_machine_without_a_release_is_named(self) -> None:
        with (
            mock.patch("platform.machine", return_value="sparc"),
            self.assertRaisesRegex(LauncherError, "no release for .* on sparc"),
        ):
            github.asset("7.7.1")


if __name__ == "__main__":
    unittest.main()
