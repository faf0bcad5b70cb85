"""Requests to a demo whose firmware runs as a program on this machine, or behind a serial port."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pty
import signal
import subprocess
import tempfile
import tty
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bmc import artifacts
from tools.run import process
from tools.service.demo import running, server

_SESSION_FILE = Path(os.environ["HOST"]).with_suffix(".json")
_SESSION = json.loads(_SESSION_FILE.read_text())
_GOLDEN = artifacts.load(Path(_SESSION["models"][0]["imported"])).golden
_INPUT = {"inputs": {"image": _GOLDEN.inputs[0][0].tolist()}}
_REPORT = Path(os.environ["REPORT"]).with_suffix(".json")
_DEMO = os.environ["DEMO"]
_PAGE = os.environ["PAGE"]


def _argv(*more: str) -> list[str]:
    files = ["--session", str(_SESSION_FILE), "--report", str(_REPORT), "--page", _PAGE]
    return [_DEMO, *files, *more]


class _Asking(unittest.TestCase):
    demo: running.Demo

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        """Sends a request whose headers may lie."""
        host = self.demo.url.removeprefix("http://").rstrip("/")
        connection = http.client.HTTPConnection(host, timeout=60)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True)
            given = {"Host": host, "Content-Length": str(len(body))} | {
                name.replace("_", "-"): value for name, value in headers.items()
            }
            for name, value in given.items():
                connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers

    def run_model(self, request: Any, **headers: str) -> tuple[int, Any]:
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        given = {"Content_Type": "application/json"} | headers
        status, data, _ = self.ask("POST", "/run", body, **given)
        return status, json.loads(data)


class ServerTest(_Asking):
    @classmethod
    def setUpClass(cls) -> None:
        cls.demo = cls.enterClassContext(running.demo(_argv()))

    def test_the_models_answer(self) -> None:
        for origin in ({}, {"Origin": self.demo.url.rstrip("/")}):
            status, answer = self.run_model(_INPUT, **origin)
            self.assertEqual(status, 200)
            want = _GOLDEN.outputs[0][0]
            np.testing.assert_allclose(answer["outputs"]["logits"], want, 1e-4, 1e-4)

    def test_files(self) -> None:
        status, data, headers = self.ask("GET", "/")
        self.assertEqual((status, data), (200, Path(_PAGE).read_bytes()))
        self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertEqual(self.ask("GET", "/facts.json")[0], 200)
        for path in ("/etc/passwd", "/../demo.py", "/%2e%2e/demo.py", "/page/", "/common.css/"):
            self.assertEqual(self.ask("GET", path)[0], 404, path)

    def test_a_request_that_is_for_another_server(self) -> None:
        port = self.demo.url.rsplit(":", 1)[1].rstrip("/")
        for host in ("example.com", f"example.com:{port}", "127.0.0.1", f"127.0.0.1:{port}x", ""):
            for method, path in (("GET", "/"), ("GET", "/facts.json"), ("POST", "/run")):
                status, data, _ = self.ask(method, path, Host=host)
                self.assertEqual(status, 403, host)
                self.assertIn("this server is http://127.0.0.1:", json.loads(data)["error"])

    def test_a_page_of_another_server(self) -> None:
        for origin in ("http://example.com", "null", self.demo.url, "http://127.0.0.1:1"):
            status, answer = self.run_model(_INPUT, Origin=origin)
            self.assertEqual(
                (status, answer), (403, {"error": "only this server's own page may ask"})
            )
        # What a form of another page can send without being asked first.
        status, _ = self.run_model(_INPUT, Content_Type="text/plain")
        self.assertEqual(status, 415)

    def test_sizes(self) -> None:
        for length, wanted in (
            ("4194305", 413),
            ("9" * 5000, 413),
            ("-1", 411),
            ("+5", 411),
            ("", 411),
            ("²", 411),
        ):
            status, _, _ = self.ask(
                "POST", "/run", Content_Type="application/json", Content_Length=length
            )
            self.assertEqual(status, wanted, length)

    def test_a_request_that_is_too_large_gets_its_answer(self) -> None:
        for size in (server.MOST_BYTES + 1, 5 * server.MOST_BYTES):
            status, answer = self.run_model(b" " * size)
            self.assertEqual(
                (status, answer), (413, {"error": "a request has at most 4,194,304 bytes"})
            )
        # One that is not read for another reason, too.
        self.assertEqual(
            self.run_model(b" " * server.MOST_BYTES, Content_Type="text/plain")[0], 415
        )

    def test_what_is_no_request(self) -> None:
        image = _INPUT["inputs"]["image"]
        for request, sentence in (
            (b"{", "a request is JSON"),
            (b"\xff", "a request is JSON"),
            (b"[" * 100_000, "a request is JSON"),
            (b'{"inputs": {"image": [NaN]}}', "a request is JSON"),
            ([], "a request is an object"),
            ({}, "`inputs` is an object with image"),
            ({"inputs": {"other": image}}, "`inputs` is an object with image"),
            ({"inputs": {"image": image[0][:63]}}, "image is 1x64 numbers of type float32, and"),
            ({"inputs": {"image": [[1, 2], [3]]}}, "different lengths"),
            ({"inputs": {"image": ["1"] * 64}}, "no number"),
            ({"inputs": {"image": {"a": 1}}}, "no number"),
            ({**_INPUT, "entry": "decode"}, "the model has no entry point decode: it has main"),
            ({**_INPUT, "entry": ["main"]}, "the model has no entry point"),
            ({**_INPUT, "sequence": 7}, "another window has started the model anew"),
        ):
            status, answer = self.run_model(request)
            self.assertEqual((status, list(answer)), (400, ["error"]), request)
            self.assertIn(sentence, answer["error"])
        # Nothing of this stops it.
        self.assertEqual(self.run_model(_INPUT)[0], 200)

    def test_other_addresses_of_this_machine_do_not_answer(self) -> None:
        port = int(self.demo.url.rsplit(":", 1)[1].rstrip("/"))
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        self.assertEqual(
            [address for address in listening if address.endswith(f":{port:04X}")][:1],
            [f"0100007F:{port:04X}"],
        )


class EndTest(_Asking):
    def test_the_program_ends_with_the_demo(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with running.demo(_argv()) as self.demo:
                (program,) = self.demo.emulators()
                self.assertEqual(self.run_model(_INPUT)[0], 200)
                self.demo.process.send_signal(number)
                self.assertEqual(self.demo.process.wait(timeout=20), 0)
            self.assertFalse(Path(f"/proc/{program}").exists())

    def test_a_board_that_is_unplugged(self) -> None:
        with self.board() as (port, unplug), running.demo(_argv("--port", port)) as self.demo:
            self.assertEqual(self.run_model(_INPUT)[0], 200)
            facts = json.loads(self.ask("GET", "/facts.json")[1])
            self.assertEqual(facts["where"], f"on the board at {port}")
            # These are of an image for another board.
            self.assertIn("Flash on qemu_virt_rv64", [row["label"] for row in facts["rows"]])
            unplug()
            status, answer = self.run_model(_INPUT)
            self.assertEqual(status, 503)
            self.assertEqual(answer["error"], f"{port} vanished: plug it in and start again")

    @contextlib.contextmanager
    def board(self) -> Iterator[tuple[str, Any]]:
        """Gives a serial port with the firmware behind it, and what takes the port away."""
        line, port = pty.openpty()
        tty.setraw(port)
        name = os.ttyname(port)
        program = process.start(_SESSION["run"], stdin=line, stdout=line)
        with contextlib.ExitStack() as ends:
            # The firmware's end of the line fails while nobody has the port open.
            ends.callback(os.close, port)
            ends.callback(process.end, program)

            def unplug() -> None:
                process.end(program)
                os.close(line)

            yield name, unplug


class RefusalTest(unittest.TestCase):
    def sentence(self, *more: str) -> str:
        done = subprocess.run(
            [*_argv(*more), "--no-browser"],
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        return done.stderr

    def test_a_port_that_is_taken(self) -> None:
        with running.demo(_argv()) as demo:
            port = demo.url.rsplit(":", 1)[1].rstrip("/")
            self.assertRegex(
                self.sentence("--http-port", port),
                f"^demo: port {port} .*give another with --http-port",
            )

    def test_a_board_that_is_not_there(self) -> None:
        self.assertIn("cannot be opened", self.sentence("--port", "/dev/none"))

    def test_firmware_of_another_model(self) -> None:
        other = json.loads(json.dumps(_SESSION))
        other["models"][0]["c_name"] = "other"
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(other, file)
            file.flush()
            self.assertIn(
                "the target runs the model fixture, not other",
                self.sentence("--session", file.name),
            )

    def test_a_module_without_prepare(self) -> None:
        self.assertIn("json has no function prepare", self.sentence("--prepare", "json"))
        self.assertIn("none cannot be loaded", self.sentence("--prepare", "none"))


if __name__ == "__main__":
    unittest.main()
