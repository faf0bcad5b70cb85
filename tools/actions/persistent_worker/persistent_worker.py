"""Lets Bazel keep a program of a build running, so that an action costs its work and not the program's start.

This is Bazel's protocol of persistent workers: requests and responses are JSON, a line each, on standard input and
output. Each request is served by a fork, so it finds the program as it was before the first one.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

Main = Callable[[list[str]], int]

_CRASHED = 1


def run(main: Main, argv: Sequence[str]) -> int:
    """Runs a program as a user, an action or a worker of Bazel's does; returns the exit status.

    main: the program, which gets its arguments. An action's are in a file, a line each: `@FILE`.
    """
    if argv[-1:] == ["--persistent_worker"]:
        _serve(main, sys.stdin, os.fdopen(os.dup(1), "w"))
        return 0
    if len(argv) == 1 and argv[0].startswith("@"):
        return main(Path(argv[0][1:]).read_text(encoding="utf-8").splitlines())
    return main(list(argv))


def _serve(main: Main, requests: IO[str], responses: IO[str]) -> None:
    """Serves one request after the other until Bazel closes the pipe or ends this process."""
    for line in requests:
        request = json.loads(line)
        with tempfile.TemporaryFile() as output:
            child = os.fork()
            if child == 0:
                _run_child(main, request["arguments"], output.fileno())
            status = _wait(child)
            output.seek(0)
            text = output.read().decode(errors="replace")
        # Bazel leaves out numbers that are 0.
        response = {"exitCode": status, "output": text, "requestId": request.get("requestId", 0)}
        print(json.dumps(response), file=responses, flush=True)


def _wait(child: int) -> int:
    """Returns the exit status of a fork. If Bazel ends this process meanwhile, the fork ends first."""

    def end(number: int, _: FrameType | None) -> Any:
        os.kill(child, number)
        os.waitpid(child, 0)
        os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    _, status = os.waitpid(child, 0)
    signal.signal(signal.SIGTERM, before)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _run_child(main: Main, arguments: list[str], output: int) -> None:
    """Runs one request in a fork, which ends here. All that it prints goes into `output`."""
    status = _CRASHED
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # Python has read ahead: the next requests.
        sys.stdin = io.StringIO()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = main(arguments)
    except SystemExit as end:
        # What sys.exit() says and does outside of a worker.
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
