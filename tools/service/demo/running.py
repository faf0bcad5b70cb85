"""Starts a demo for tests, as a user does, and ends it with Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Demo:
    """A demo that serves its page at `url`."""

    url: str
    process: subprocess.Popen[str]

    def emulators(self) -> list[int]:
        """Returns the processes that it has started."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in found.split()]


@contextlib.contextmanager
def demo(argv: Sequence[str]) -> Iterator[Demo]:
    """Starts `argv` without a browser; gives the demo once it serves its page."""
    process = subprocess.Popen(
        [*argv, "--no-browser"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if found := re.search(r"http://\S+/", line):
                yield Demo(found[0], process)
                break
        else:
            raise AssertionError(f"the demo ended: {''.join(said)}")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=20)
        process.stdout.close()
