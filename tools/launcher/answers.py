"""What the network answers, and how long an answer is believed."""

from __future__ import annotations

import errno
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tools.launcher.cache import locked

DEADLINE_SECONDS = 4.0


def reachable(url: str) -> bool:
    """Whether `url` answers within a few seconds.

    In a thread: the resolver's own time-outs can be far longer than the one given here.
    """
    answer: list[bool] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as response:
                answer.append(response.status == 200)
        except (OSError, ValueError):
            answer.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_SECONDS)
    return bool(answer and answer[0])


def connected() -> bool:
    """Whether this machine has a way out at all. Nothing is sent: UDP only looks up the route."""
    for family, address in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect((address, 9))
                return True
        except OSError as error:
            if error.errno not in (errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT):
                return True
    return False


def kept_answer(
    cache: Path,
    name: str,
    ask: Callable[[], bool],
    no_lasts: float,
    now: Callable[[], float] = time.time,
) -> bool:
    """The answer that is kept under `name`, asked for when there is none or it is too old.

    A yes lasts: another answer would have everything fetched again that came from there. A no lasts
    `no_lasts` seconds, and is not kept at all where there was no network to ask.
    """
    kept = cache / name
    said = kept.read_text(errors="replace").split() if kept.is_file() else []
    if said == ["yes"]:
        return True
    if len(said) == 2 and said[1].isdigit() and 0 <= now() - int(said[1]) < no_lasts:
        return False
    answer = ask()
    if answer or (no_lasts and connected()):
        with locked(cache):
            kept.write_text("yes\n" if answer else f"no {now():.0f}\n")
    return answer


def forget(cache: Path, name: str) -> None:
    """Asks anew next time."""
    (cache / name).unlink(missing_ok=True)
