"""For tests: a package index on this machine, with packages that the test makes."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import tarfile
import threading
import time
import zipfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from urllib.parse import unquote, urlsplit


def wheel(name: str, version: str, files: Mapping[str, str]) -> tuple[str, bytes]:
    """Returns the name and the content of a wheel. files: path -> content; scripts are below `bin/`."""
    info = f"{name}-{version}.dist-info"
    entries = {
        (f"{name}-{version}.data/scripts/{path[4:]}" if path.startswith("bin/") else path): content
        for path, content in files.items()
    }
    entries[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    entries[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = [f"{path},{_digest(content)},{len(content)}" for path, content in entries.items()]
    entries[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,"]) + "\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, content in entries.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return f"{name}-{version}-py3-none-any.whl", out.getvalue()


def source(name: str, version: str, files: Mapping[str, str]) -> tuple[str, bytes]:
    """Returns the name and the content of a package that must be built. files: path -> content."""
    info = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for path, content in {"PKG-INFO": info, **files}.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content.encode()))
    return f"{name}-{version}.tar.gz", out.getvalue()


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


class LocalIndex:
    """An index that counts what is downloaded from it. As a proxy, it answers for any host.

    files: name -> content. slow: name -> seconds that a download takes. asked: what was downloaded.
    authorization: the header that it asks for, if any.
    """

    def __init__(self, files: Mapping[str, bytes], tls: SSLContext | None = None) -> None:
        self.files = dict(files)
        self.slow: dict[str, float] = {}
        self.asked: list[str] = []
        self.authorization = ""
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = unquote(urlsplit(self.path).path)
                if index.authorization not in ("", self.headers.get("Authorization")):
                    self.send_error(401)
                elif path.startswith("/simple/"):
                    self._answer(index._page(path.split("/")[2]), "text/html")
                else:
                    name = path.rpartition("/")[2]
                    index.asked.append(name)
                    time.sleep(index.slow.get(name, 0))
                    self._answer(index.files[name], "application/octet-stream")

            def do_HEAD(self) -> None:
                self.do_GET()

            def _answer(self, content: bytes, kind: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(BrokenPipeError):  # the client did not wait
                    self.wfile.write(content if self.command == "GET" else b"")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http{'s' if tls else ''}://{self.host}/simple/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stops the server."""
        self._server.shutdown()
        self._server.server_close()

    def _page(self, package: str) -> bytes:
        links = [
            f'<a href="/files/{name}#sha256={hashlib.sha256(content).hexdigest()}">{name}</a>'
            for name, content in self.files.items()
            if name.partition("-")[0] == package.replace("-", "_")
        ]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()
