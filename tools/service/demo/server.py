"""A web server for one page on this machine: it gives its files, and runs the model on what the page sends.

Other machines cannot reach it. Other pages in the same browser can, so a request must name this server as its host and,
if it is from a page, as its origin.
"""

from __future__ import annotations

import dataclasses
import http.server
import json
import socket
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, NoReturn

from tools.cli import UserError
from tools.service.demo.target import RequestError

Json = Any

MOST_BYTES = 4 << 20
# What is still read of a request that was refused.
_MOST_DRAINED_BYTES = 16 * MOST_BYTES
ADDRESS = "127.0.0.1"
# What a page may load: nothing but this server's files.
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """A file of the page."""

    kind: str
    data: bytes


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """What is served.

    Attributes:
      files: path, such as `/index.html`, to file.
      run: answers what a page posts to `/run`; raises RequestError, and UserError if the target is gone.
    """

    files: Mapping[str, File]
    run: Callable[[Json], Json]


class _Refusal(Exception):
    """A request that is not served."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Server(http.server.ThreadingHTTPServer):
    """Serves `site` on a port of this machine alone; 0 takes a free one. Raises OSError if it cannot have the port."""

    daemon_threads = True

    def __init__(self, site: Site, port: int) -> None:
        self.site = site
        super().__init__((ADDRESS, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that goes away, or of a target that is ended below a request."""
        if not isinstance(sys.exception(), OSError) and self.socket.fileno() >= 0:
            super().handle_error(request, client_address)


class _Handler(http.server.BaseHTTPRequestHandler):
    # Seconds for which a browser may keep a connection without a word.
    timeout = 20
    server: Server

    def do_GET(self) -> None:
        self._answer(self._file)

    def do_POST(self) -> None:
        self._answer(self._run)

    def _answer(self, make: Callable[[], File]) -> None:
        """Sends what `make` returns, or the sentence that it raises."""
        refused = False
        try:
            self._check_host()
            status, file = HTTPStatus.OK, make()
        except _Refusal as error:
            refused = True
            status, file = error.status, _error(error)
        except RequestError as error:
            status, file = HTTPStatus.BAD_REQUEST, _error(error)
        except UserError as error:
            status, file = HTTPStatus.SERVICE_UNAVAILABLE, _error(error)
        self.send_response(status)
        headers = {"Content-Type": file.kind, "Content-Length": str(len(file.data)), **_HEADERS}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(file.data)
        if refused:
            self._drain()

    def _drain(self) -> None:
        """Reads what still comes: if it waited unread, closing would take the answer away from whoever sends it."""
        self.connection.shutdown(socket.SHUT_WR)
        left, end = _MOST_DRAINED_BYTES, time.monotonic() + self.timeout
        while left > 0 and time.monotonic() < end:
            part = self.rfile.read1(min(left, 1 << 16))
            if not part:
                return
            left -= len(part)

    def _file(self) -> File:
        path = self.path.partition("?")[0]
        file = self.server.site.files.get("/index.html" if path == "/" else path)
        if file is None:
            raise _Refusal(HTTPStatus.NOT_FOUND, "this page has no such file")
        return file

    def _run(self) -> File:
        origin = self.headers.get("Origin")
        if origin is not None and origin != f"http://{self.headers['Host']}":
            raise _Refusal(HTTPStatus.FORBIDDEN, "only this server's own page may ask")
        if self.headers.get_content_type() != _JSON:
            raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a request is {_JSON}")
        if self.path != "/run":
            raise _Refusal(HTTPStatus.NOT_FOUND, "requests go to /run")
        return encoded(self.server.site.run(self._body()))

    def _check_host(self) -> None:
        # A name that an attacker lets point to this machine is not among these.
        port = self.server.server_port
        if self.headers.get_all("Host", []) not in ([f"{ADDRESS}:{port}"], [f"localhost:{port}"]):
            raise _Refusal(HTTPStatus.FORBIDDEN, f"this server is {self.server.url}")

    def _body(self) -> Json:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _Refusal(HTTPStatus.LENGTH_REQUIRED, "a request says how long it is")
        # Digits beyond those of a size are not worth a conversion.
        if len(length) > len(str(MOST_BYTES)) or int(length) > MOST_BYTES:
            raise _Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request has at most {MOST_BYTES:,} bytes"
            )
        try:
            return json.loads(self.rfile.read(int(length)), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise _Refusal(HTTPStatus.BAD_REQUEST, "a request is JSON") from None

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: the page shows what matters."""


def encoded(value: Json) -> File:
    """Returns a file of JSON."""
    return File(_JSON, json.dumps(value, allow_nan=False).encode())


def _error(error: Exception) -> File:
    return encoded({"error": str(error)})


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
