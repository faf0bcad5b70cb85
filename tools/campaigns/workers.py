"""Runs each task in a process of its own, so that a crash or an endless loop ends only that task."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import Generic, TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Done(Generic[Task, Answer]):
    """A task's answer, or None and how its process died."""

    task: Task
    answer: Answer | None
    died: str = ""


@dataclass(frozen=True)
class _Running(Generic[Task]):
    task: Task
    process: ForkProcess
    end: float


def run(
    tasks: Iterable[Task], work: Callable[[Task], Answer], *, jobs: int, deadline_seconds: float
) -> Iterator[Done[Task, Answer]]:
    """Yields the tasks as they finish, at most `jobs` at a time.

    The processes are forked, so what the caller has loaded is there at once.
    """
    context = multiprocessing.get_context("fork")
    left = iter(tasks)
    running: dict[Connection, _Running[Task]] = {}
    try:
        while True:
            while len(running) < jobs and (task := next(left, None)) is not None:
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(target=_work, args=(work, task, sender))
                process.start()
                sender.close()
                running[receiver] = _Running(task, process, time.monotonic() + deadline_seconds)
            if not running:
                return
            for receiver in _finished(running):
                yield _collect(receiver, running.pop(receiver))
    finally:
        for item in running.values():
            item.process.terminate()


def _work(work: Callable[[Task], Answer], task: Task, sender: Connection) -> None:
    sender.send(work(task))
    sender.close()


def _finished(running: dict[Connection, _Running[Task]]) -> list[Connection]:
    """Waits for processes that have sent an answer, died or run past their deadline."""
    now = time.monotonic()
    first = min(item.end for item in running.values())
    found = [c for c in wait(list(running), max(0.0, first - now)) if isinstance(c, Connection)]
    return found or [c for c, item in running.items() if item.end <= time.monotonic()]


def _collect(receiver: Connection, item: _Running[Task]) -> Done[Task, Answer]:
    if item.end <= time.monotonic() and not receiver.poll():
        item.process.terminate()
        item.process.join()
        return Done(item.task, None, "it ran past its deadline")
    try:
        answer = receiver.recv()
    except EOFError:
        item.process.join()
        return Done(item.task, None, f"its process ended with status {item.process.exitcode}")
    item.process.join()
    return Done(item.task, answer)
