"""Shows a model in the browser: a page talks to the firmware, in an emulator or on a board.

examples:
  tools/bazel run //models:mlp_rv64.demo
  tools/bazel run //models:bert_rv64.demo -- --http-port 8000 --no-browser

Ctrl-C ends both.
"""

from __future__ import annotations

import argparse
import importlib
import json
import mimetypes
import os
import signal
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from tools import cli
from tools.service import sessions
from tools.service.demo import facts
from tools.service.demo.server import File, Server, Site, encoded
from tools.service.demo.target import Json, Prepare, Target, entries

_SHARED = Path(__file__).parent / "page"


@cli.program("demo", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    # The rule bm_demo gives these.
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--report", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--page", type=Path, action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--prepare", default="", help=argparse.SUPPRESS)
    parser.add_argument(
        "--port", default="", help="serial port of a board that runs the service firmware"
    )
    parser.add_argument(
        "--baud",
        type=sessions.positive,
        default=sessions.BAUD,
        help="of the port; default: %(default)s",
    )
    parser.add_argument(
        "--http-port",
        type=_port,
        default=0,
        metavar="N",
        help="port of the page on this machine; default: any that is free",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the page's address and open no browser"
    )
    options = parser.parse_args(args)
    # Whoever ends this process any other way than Ctrl-C also wants its emulator to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _show(options)
    except KeyboardInterrupt:
        print("\nstopped")
    return 0


def _show(options: argparse.Namespace) -> None:
    """Serves the page until Ctrl-C; raises UserError."""
    session = json.loads(options.session.read_text())
    report = json.loads(options.report.read_text())
    model = session["models"][0]
    prepare = _prepare(options.prepare) if options.prepare else _as_sent
    place = options.port or session["board"]
    print(f"starting {model['name']} on {place}", flush=True)
    with sessions.service(session, options.port, options.baud) as service:
        found = entries(report["models"][0])
        sessions.open_model(service, 0, model["c_name"], list(found.values()))
        target = Target(service, found, prepare)
        files = _files(options.page)
        files["/facts.json"] = encoded(facts.facts(report, session["board"], options.port))
        try:
            server = Server(Site(files, target.run), options.http_port)
        except OSError as error:
            raise cli.UserError(
                f"port {options.http_port} of this machine cannot be used ({error.strerror}): give"
                " another with --http-port, or none"
            ) from error
        with server:
            print(f"{server.url} shows it; Ctrl-C ends it", flush=True)
            # Without a screen, a browser would be one that takes this terminal.
            if not options.no_browser and {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
                webbrowser.open(server.url)
            server.serve_forever()


def _files(pages: Sequence[Path]) -> dict[str, File]:
    """Returns the page's own files and those that all pages share, by their names alone."""
    found = {}
    for path in (*sorted(_SHARED.iterdir()), *pages):
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        text = "; charset=utf-8" if kind.startswith("text/") else ""
        found[f"/{path.name}"] = File(kind + text, path.read_bytes())
    return found


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError(f"{number} is not between 0 and 65535")
    return number


def _as_sent(sent: Json) -> Json:
    return sent


def _prepare(name: str) -> Prepare:
    """Imports a module and returns its function `prepare`; raises UserError."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise cli.UserError(
            f"{name} cannot be loaded ({type(error).__name__}: {error}): list what it imports in `deps`"
        ) from error
    prepare: Prepare | None = getattr(module, "prepare", None)
    if prepare is None:
        raise cli.UserError(
            f"{name} has no function prepare: it makes inputs of what the page sends"
        )
    return prepare


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
