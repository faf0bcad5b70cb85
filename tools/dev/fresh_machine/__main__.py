"""Runs the README's commands on a freshly installed machine.

Makes a minimal Debian, clones this checkout's HEAD into it, and runs commands there as an ordinary
user with an empty home. From this machine it has the network, the package mirror and the
certificates, and nothing else. Needs apt and perl, and either root or uidmap and user namespaces.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from third_party.debian.errors import AptError
from tools import cli
from tools.dev.fresh_machine.job import Job, home_of, namespaces, run, table
from tools.dev.fresh_machine.root import (
    copy_checkout,
    make_root,
    private_certificates,
    user_environment,
)

ROOT = Path(__file__).resolve().parents[3]
README = ("tools/bazel run //models:bert_rv64", "tools/bazel test //...")


def arguments(parser: cli.Parser, args: list[str]) -> argparse.Namespace:
    """The command line's options."""
    parser.prog = "python3 -m tools.dev.fresh_machine"
    parser.add_argument("--suite", default="bookworm", help="Debian's release (%(default)s)")
    parser.add_argument("--python", type=Path, help="an interpreter on this machine to build with")
    parser.add_argument("--wheels", type=Path, help="a folder of wheels that pip may use")
    parser.add_argument(
        "--dir", type=Path, default=Path("/var/tmp"), help="where to make it (%(default)s)"
    )
    parser.add_argument("--keep", action="store_true", help="do not delete it afterwards")
    parser.add_argument("command", nargs="*", help="after `--`; default: the README's two")
    asked = parser.parse_args(args)
    for folder in (asked.dir, asked.wheels):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is not a folder: name another.")
    return asked


def job_of(asked: argparse.Namespace, work: Path, own_certificates: bool) -> Job:
    """The job to run in the root; raises UserError."""
    environment = user_environment(own_certificates)
    shared = []
    if asked.wheels:
        shared.append(str(asked.wheels.absolute()))
        environment["PIP_FIND_LINKS"] = shared[-1]
    if asked.python:
        home = home_of(asked.python)
        shared.append(str(home))
        environment["IRONCAST_PYTHON"] = str(home / "bin" / asked.python.name)
    commands = [shlex.join(asked.command)] if asked.command else list(README)
    return Job(str(work / "root"), str(work / "checkout"), shared, environment, commands)


@cli.program("tools.dev.fresh_machine", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status."""
    asked = arguments(parser, args)
    unshare = namespaces()
    work = Path(tempfile.mkdtemp(prefix=f"fresh-{asked.suite}-", dir=asked.dir))
    work.chmod(0o755)
    try:
        own = private_certificates()
        job = job_of(asked, work, bool(own))
        make_root(work, asked.suite, own, unshare)
        copy_checkout(ROOT, work / "checkout")
        results = run(job, unshare)
    except AptError as error:
        raise cli.UserError(str(error)) from error
    finally:
        if not asked.keep:
            subprocess.run([*unshare, "rm", "-rf", "--one-file-system", str(work)], check=False)
    sys.stdout.write(table(f"Debian {asked.suite}", results))
    return 0 if len(results) == len(job.commands) and not any(r.status for r in results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("tools.dev.fresh_machine: interrupted.")
