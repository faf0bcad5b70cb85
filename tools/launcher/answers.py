"""What the network answers, and which answers are remembered."""

from __future__ import annotations

import threading
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


def kept_answer(cache: Path, name: str, ask: Callable[[], bool]) -> bool:
    """The answer that is kept under `name`, asked for when there is none.

    A yes lasts: another answer would have everything fetched again that came from there. A no is
    not kept: the network may be back the next time.
    """
    kept = cache / name
    if kept.is_file() and kept.read_text(errors="replace").split() == ["yes"]:
        return True
    answer = ask()
    if answer:
        with locked(cache):
            kept.write_text("yes\n")
    return answer


def forget(cache: Path, name: str) -> None:
    """Asks anew next time."""
    (cache / name).unlink(missing_ok=True)
