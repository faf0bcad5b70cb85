"""Executes actions for other machines, each in a root folder of its own.

example:
  tools/bazel run //tools/actions/remote:worker -- --jobs 2 --listen 127.0.0.1:8980

The process runs BuildBox's server. Whoever can connect to it can run programs
here: listen only where you trust everybody. Of this machine, an action
sees what `--config=worker` shows. Actions are an ordinary user's, also if root
starts the worker, and have limits.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

from tools import cli
from tools.actions.remote import action, outputs, privileges, server
from tools.actions.remote.action import Limits
from tools.console import standard_output

# Of this machine, read-only: a shell with the usual small programs, and the C and C++ libraries.
MOUNTS = ("/bin", "/usr/bin", "/lib64", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu")
# Of this machine, for the server and its Python.
_SYSTEM = ("/lib", "/usr/lib", "/etc/ld.so.cache")
FUSE = Path("/dev/fuse")
_SIZE = re.compile(r"[1-9]\d*[KMGT]")
_STAND_INS = (action.__file__, outputs.__file__)


@cli.program("worker", __doc__, status=2)
def main(parser: cli.Parser, arguments: list[str]) -> int:
    """Runs the worker of the command line; returns its exit status."""
    _add_arguments(parser)
    options = parser.parse_args(arguments)
    command = casd(options)
    become(options)
    check_sandbox(options.bwrap)
    folders = [stand_in(options)]
    host, port = options.listen
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
    environment = {**os.environ, "PATH": path, "HOME": str(options.store)}
    return server.serve([*room(options), *command], environment, options.casd.name)


def become(options: argparse.Namespace) -> None:
    """Makes this process an ordinary user's if it is root's; raises UserError if that is impossible."""
    if not privileges.are_needed():
        return
    user = privileges.owner(options.user)
    privileges.give(options.store, user)
    programs = [options.bwrap, options.casd, options.fuse, options.run]
    python = [Path(file) for file in (sys.executable, os.__file__, *_STAND_INS)]
    needed = [options.store, *programs, *python]
    privileges.give_up(user, needed, FUSE)


def room(options: argparse.Namespace) -> list[str]:
    """Returns bubblewrap's command for a server that sees its store, its programs and the system's libraries.

    BuildBox reads and writes whatever file a client names, by digests that are paths and by services of its own.
    """
    programs = [options.bwrap, options.casd, options.fuse, options.run]
    shown = [Path(sys.base_prefix), Path(sys.prefix), Path(sys.executable).parent]
    shown += [Path(module).resolve() for module in _STAND_INS]
    for program in programs:
        # Their libraries are runfiles, which are links to the files of packages.
        shown += [program.resolve().parent]
        shown += [way for way in program.absolute().parents if way.name.endswith(".runfiles")]
        shown += [way for way in program.resolve().parents if way.name == "external"]
    for path in map(Path, (*MOUNTS, *_SYSTEM)):
        shown += [path.resolve(), path]
    binds = [word for path in dict.fromkeys(shown) for word in _bound("--ro-bind", path)]
    device = ["--dev-bind", str(FUSE), str(FUSE)] if may_mount() else []
    return [
        *(str(options.bwrap.absolute()), "--die-with-parent", "--unshare-pid"),
        *("--proc", "/proc", "--dev", "/dev", *device, "--tmpfs", "/tmp", *binds),
        *("--bind", str(options.store), str(options.store)),
        *_bound("--ro-bind", options.store / "action"),
    ]


def _bound(option: str, path: Path) -> list[str]:
    """Returns bubblewrap's words that show what a path leads to under the same name, none if there is nothing."""
    return [option, str(path.resolve()), str(path)] if path.exists() else []


def stand_in(options: argparse.Namespace) -> Path:
    """Returns the folder of the programs that BuildBox starts: action.py as bubblewrap, outputs.py as its own."""
    limits = Limits(**{f.name: getattr(options, f.name) for f in dataclasses.fields(Limits)})
    programs = {
        "bwrap": [
            action.__file__,
            options.bwrap.absolute(),
            json.dumps(dataclasses.asdict(limits)),
        ],
        "run": [
            outputs.__file__,
            options.run.absolute(),
            options.store,
            "mounts" if may_mount() else "copies",
        ],
    }
    folder: Path = options.store / "action"
    try:
        folder.mkdir(exist_ok=True)
        for name, (module, *arguments) in programs.items():
            # Runfiles are links to where the server does not look.
            words = [sys.executable, "-I", Path(module).resolve(), *arguments]
            program = shlex.join(map(str, words))
            (folder / name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
            (folder / name).chmod(0o755)
    except OSError as error:
        raise cli.UserError(f"--store {options.store}: {error.strerror}") from error
    return folder


def may_mount() -> bool:
    """Returns whether this user may mount a file system of a program."""
    try:
        os.close(os.open(FUSE, os.O_RDWR))
    except OSError:
        return False
    return os.geteuid() == 0


def casd(options: argparse.Namespace) -> list[str]:
    """Returns BuildBox's command; raises UserError if it could not work here."""
    try:
        options.store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cli.UserError(f"--store {options.store}: {error.strerror}") from error
    if not os.access(options.store, os.W_OK):
        raise cli.UserError(f"--store {options.store}: this user cannot write there")
    host, port = options.listen
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        # Behind this, Python repeats the address.
        why = str(error.strerror).partition(" (while")[0]
        raise cli.UserError(
            f"{host}:{port} cannot be listened on ({why}): give another with --listen"
        ) from error
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
        f"--buildbox-run={options.store / 'action/run'}",
        *mounts,
        str(options.store),
    ]


def check_sandbox(bwrap: Path) -> None:
    """Raises UserError if this user cannot put an action into a sandbox."""
    tried = subprocess.run(
        [bwrap, "--unshare-all", "--ro-bind", "/", "/", "/bin/true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if tried.returncode != 0:
        raise cli.UserError(
            "this machine does not let this user put an action into a sandbox"
            f" ({tried.stderr.strip()}): allow user namespaces (sysctl kernel.unprivileged_userns_clone=1)"
        )


def _add_arguments(parser: cli.Parser) -> None:
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
    for limit, kind, what in (
        ("memory", _bytes, "of memory, such as 8G"),
        ("output", _bytes, "it may write, such as 2G"),
        ("files", _count, "files and folders it makes"),
        ("processes", _count, "processes and threads"),
        ("seconds", _count, "seconds"),
    ):
        default = getattr(Limits, limit)
        shown = f"{default >> 30}G" if kind is _bytes else default
        parser.add_argument(
            f"--{limit}",
            type=kind,
            default=default,
            metavar="SIZE" if kind is _bytes else "N",
            help=f"most {what}, for an action (default: {shown})",
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
    parser.add_argument(
        "--user",
        default="nobody",
        help="whose programs actions are if root starts the worker (default: nobody)",
    )


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,6}", text):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 9999999")
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


def _bytes(text: str) -> int:
    size = _size(text)
    return int(size[:-1]) << 10 * ("KMGT".index(size[-1]) + 1)


def _folder(text: str) -> Path:
    return cli.user_path(Path(text).expanduser()).absolute()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
