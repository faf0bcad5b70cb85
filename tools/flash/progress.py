"""A bar with throughput on a terminal, one closing line elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn


class Bar:
    """A job.Progress; use as a context manager around the transfer."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("writing"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=console,
            transient=True,
        )
        self._task = None if not console.is_terminal else self._bar.add_task("", total=None)
        self._start = time.monotonic()
        self._total = 0

    def __call__(self, done: int, total: int) -> None:
        self._total = total
        if self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def __enter__(self) -> Bar:
        if self._task is not None:
            self._bar.start()
        self._start = time.monotonic()
        return self

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The terminal is free inside: somebody is asked."""
        self._bar.stop()
        yield
        if self._task is not None:
            self._bar.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._bar.stop()
        if error is None and self._total:
            seconds = max(time.monotonic() - self._start, 1e-3)
            rate = self._total / 1024 / seconds
            self._console.print(
                f"wrote {self._total} bytes in {seconds:.1f} s ({rate:.0f} KB/s)", highlight=False
            )
