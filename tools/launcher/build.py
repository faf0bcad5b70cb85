"""A command of Bazel's that builds, as a child of the launcher: if it fails, the reason comes last and alone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from tools.launcher import failures, patterns
from tools.launcher.cache import say

COMMANDS = ("build", "coverage", "run", "test")
# With the first, a user wants Bazel's output as it is. Bazel writes its events only once.
_AS_IT_IS = re.compile(r"--(verbose_failures|build_event_\w+_file)\b")
_NOT_EXECUTABLE = re.compile(
    r"Cannot run target (?P<package>//[^:]*):(?P<name>\S+): Not executable"
)
# What tests say of themselves, or a user who gives up, needs no other word.
_SAID = ("SUCCESS", "TESTS_FAILED", "INTERRUPTED")


def as_child(command: str, args: Sequence[str]) -> bool:
    """Whether run() is for this command."""
    own = patterns.bazels_own(command, args)
    return command in COMMANDS and not any(_AS_IT_IS.match(arg) for arg in own)


def run(
    bazel: Sequence[str],
    command: str,
    args: Sequence[str],
    env: Mapping[str, str],
    root: Path,
    cache: Path,
) -> int:
    """Runs Bazel to its end and says what was wrong; returns its exit status, or that of the program it ran.

    bazel: its program and startup options. Bazel shows its progress and what tools say; its errors are left out.
    """
    with tempfile.TemporaryDirectory(prefix="ironcast-") as folder:
        events = Path(folder, "events.json")
        quiet = [f"--build_event_json_file={events}", "--ui_event_filters=-error"]
        status = _wait([*bazel, command, *quiet, *args], env)
        if status == 0:
            return status
        end = failures.finished(events)
        if end.status in _SAID:
            return status
        found = failures.in_events(events, root)
    if end.status == "NO_TESTS_FOUND":
        say("none of these targets is a test: `tools/bazel query 'tests(//...)'` lists all tests.")
        return status
    found = (
        found or _again(bazel, command, args, env, root) or failures.of_message(end.message, root)
    )
    # Bazel has said by itself what is wrong with its options: then no build began.
    if found:
        said = failures.report(found, cache / "last-failure.txt")
        print(said if sys.stderr.isatty() else failures.plain(said), file=sys.stderr, flush=True)
    elif end.status:
        say(f"Bazel ended with status {status}: --verbose_failures shows all that it says.")
    return status


def _wait(line: Sequence[str], env: Mapping[str, str]) -> int:
    """Starts Bazel and returns its exit status. A signal is Bazel's to handle, which ends its actions."""
    process = subprocess.Popen(line, env=env)

    def pass_on(number: int, frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to Bazel as well.
        if number != signal.SIGINT or not _in_foreground():
            process.send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    status = process.wait()
    return status if status >= 0 else 128 - status


def _in_foreground() -> bool:
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:
        return False


def _again(
    bazel: Sequence[str], command: str, args: Sequence[str], env: Mapping[str, str], root: Path
) -> list[failures.Failure]:
    """What Bazel says when it only reads BUILD files and analyzes: no event has all of its errors."""
    line = [*bazel, command, "--nobuild", "--noshow_progress", "--color=no", "--curses=no", *args]
    done = subprocess.run(
        line, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    found = failures.in_output(done.stderr, root)
    if found and (match := _NOT_EXECUTABLE.search(found[0].sentence)):
        programs = f"kind('bm_(firmware|run) rule', {match['package']}:all)"
        labels = patterns.bazel_query(bazel, env)([], programs)
        names = failures.runnable(match["name"], [label.rpartition(":")[2] for label in labels])
        if names:
            listed = " or ".join(f"{match['package']}:{name}" for name in names)
            sentence = f"{match['package']}:{match['name']} is nothing to run: run {listed}"
            return [failures.Failure(sentence, found[0].details)]
    return found
