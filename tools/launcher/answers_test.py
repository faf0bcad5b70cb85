"""Questions to the network, against servers on this machine; which answers are remembered."""

from __future__ import annotations

import http.server
import socket
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

from tools.launcher import answers


class Reachable(unittest.TestCase):
    def test_reachable_or_not(self) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/there" else 404)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"http://127.0.0.1:{server.server_port}"
        self.assertTrue(answers.reachable(f"{url}/there"))
        self.assertFalse(answers.reachable(f"{url}/gone"))

    def test_a_server_that_never_answers_costs_seconds(self) -> None:
        with (
            socket.create_server(("127.0.0.1", 0)) as silent,
            mock.patch.object(answers, "DEADLINE_SECONDS", 0.3),
        ):
            self.assertFalse(answers.reachable(f"http://127.0.0.1:{silent.getsockname()[1]}/"))

    def test_a_slow_resolver_costs_seconds(self) -> None:
        answer = threading.Event()
        self.addCleanup(answer.set)
        with (
            mock.patch.object(answers, "DEADLINE_SECONDS", 0.3),
            mock.patch("socket.getaddrinfo", side_effect=lambda *_, **__: answer.wait() and []),
        ):
            self.assertFalse(answers.reachable("http://name.invalid/"))


class KeptAnswer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = Path(folder.name)
        self.asked = 0

    def ask(self, answer: bool) -> bool:
        def asked() -> bool:
            self.asked += 1
            return answer

        return answers.kept_answer(self.cache, "it", asked)

    def test_a_yes_lasts_until_it_is_forgotten(self) -> None:
        self.assertTrue(self.ask(True))
        self.assertTrue(self.ask(False))
        self.assertEqual(self.asked, 1)
        answers.forget(self.cache, "it")
        self.assertFalse(self.ask(False))

    def test_a_no_is_not_kept(self) -> None:
        self.assertFalse(self.ask(False))
        self.assertEqual(list(self.cache.iterdir()), [])
        self.assertTrue(self.ask(True))

    def test_what_cannot_be_believed_is_asked_anew(self) -> None:
        for text in ("no\n", "no 1999999999", "", "\udcff"):
            (self.cache / "it").write_text(text, errors="surrogateescape")
            self.assertTrue(self.ask(True), text)


if __name__ == "__main__":
    unittest.main()
