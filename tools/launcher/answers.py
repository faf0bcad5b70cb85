"""Asks the network, and remembers some of its answers."""

from __future__ import annotations

import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tools.launcher.cache import write_whole

DEADLINE_SECONDS = 4.0


def reachable(url: str) -> bool:
    """Whether `url` answers within a few seconds.

    Runs in a thread, because the resolver's own timeouts can be far longer than this one.
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


def kept_answer(cache: Path, name: str, ask: Callable[[], bool]) -> bool:
    """The answer stored under `name`; asks if there is none.

    A yes is kept, because after another answer everything from there would be fetched again. A no is
    not kept, because the network may be back the next time.
    """
    kept = cache / name
    if kept.is_file() and kept.read_text(errors="replace").split() == ["yes"]:
        return True
    answer = ask()
    if answer:
        write_whole(kept, b"yes\n")
    return answer


def forget(cache: Path, name: str) -> None:
    """Makes the next call ask again."""
    (cache / name).unlink(missing_ok=True)
