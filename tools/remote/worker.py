"""Executes actions for other machines, each in a root folder of its own.

example:
  tools/bazel run //tools/remote:worker -- --jobs 2 --listen 127.0.0.1:8980

The process becomes BuildBox's server. Whoever can connect to it can run
programs here: listen only where you trust everybody. Of this machine, an action
sees what `--config=worker` shows.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.console import complain, standard_output

# Of this machine, read-only: a shell with the usual small programs, and the C and C++ libraries.
MOUNTS = ("/bin", "/usr/bin", "/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")
FUSE = Path("/dev/fuse")
_SIZE = re.compile(r"[1-9]\d*[KMGT]")


class WorkerError(Exception):
    """One sentence for the user."""


def main(arguments: Sequence[str]) -> int:
    """Starts the worker of the command line; returns only if it cannot."""
    options = _parser().parse_args(arguments)
    try:
        command = casd(options)
    except WorkerError as error:
        complain("worker", error)
        return 2
    host, port = options.listen
    folders = [options.bwrap.absolute().parent]
    how = "copies their inputs, because this user may not mount them"
    if may_mount():
        # BuildBox mounts inputs if it finds this program.
        folders.append(options.fuse.absolute().parent)
        how = "mounts their inputs"
    standard_output().print(
        f"executes {options.jobs} actions at a time, and keeps inputs and results in {options.store}\n"
        f"{how}\n"
        f"Elsewhere, in user.bazelrc: build --remote_executor=grpc://{host}:{port}"
        " --jobs=<twice what all workers execute>\n"
        "Ctrl-C ends it",
    )
    sys.stdout.flush()
    # Not the user's: BuildBox ends if it may not look into one of its folders.
    path = os.pathsep.join([*map(str, folders), os.defpath])
    os.execve(command[0], command, {**os.environ, "PATH": path})


def may_mount() -> bool:
    """Returns whether this user may mount a file system of a program."""
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError:
        return False
    return os.geteuid() == 0


def casd(options: argparse.Namespace) -> list[str]:
    """Returns BuildBox's command; raises WorkerError if it could not work here."""
    try:
        options.store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WorkerError(f"--store {options.store}: {error.strerror}") from error
    if not os.access(options.store, os.W_OK):
        raise WorkerError(f"--store {options.store}: this user cannot write there")
    host, port = options.listen
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        # Behind this, Python repeats the address.
        why = str(error.strerror).partition(" (while")[0]
        raise WorkerError(
            f"{host}:{port} cannot be listened on ({why}): give another with --listen"
        ) from error
    tried = subprocess.run(
        [options.bwrap, "--unshare-all", "--ro-bind", "/", "/", "/bin/true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if tried.returncode != 0:
        raise WorkerError(
            "this machine does not let this user put an action into a sandbox"
            f" ({tried.stderr.strip()}): allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)"
        )
    # On most systems /bin is a link, and a link cannot be mounted.
    mounts = [
        f"--runner-arg=--ro-bind-mount={Path(path).resolve()}:{path}"
        for path in MOUNTS
        if Path(path).exists()
    ]
    return [
        str(options.casd.absolute()),
        f"--bind={host}:{port}",
        f"--jobs={options.jobs}",
        f"--quota-high={options.size}",
        f"--buildbox-run={options.run.absolute()}",
        *mounts,
        str(options.store),
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="worker", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # What the target fills in.
    for program in ("bwrap", "casd", "fuse", "run"):
        parser.add_argument(f"--{program}", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--jobs",
        type=_count,
        default=os.cpu_count(),
        metavar="N",
        help="actions at a time (default: one for each processor)",
    )
    parser.add_argument(
        "--listen",
        type=_address,
        default=("127.0.0.1", 8980),
        metavar="ADDRESS:PORT",
        help="where to listen (default: 127.0.0.1:8980)",
    )
    parser.add_argument(
        "--size",
        type=_size,
        default="50G",
        help="how large the store may become, such as 50G, the default",
    )
    parser.add_argument(
        "--store",
        type=_folder,
        default=_folder(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "ironcast/worker",
        metavar="DIR",
        help="folder of inputs and results (default: ironcast/worker in your cache folder)",
    )
    return parser


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 9999")
    return int(text)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise argparse.ArgumentTypeError(f"{text} is not like 127.0.0.1:8980")
    return host, int(port)


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is not like 50G")
    return text


def _folder(text: str) -> Path:
    """Below the folder in which the user typed the command; `bazel run` starts programs elsewhere."""
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", ""), Path(text).expanduser()).absolute()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
