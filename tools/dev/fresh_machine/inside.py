"""inside.py FD JOB: the half of job.py that runs as root in the namespaces.

Makes the new root the only file system, and reports on FD what each command took. It imports
everything at the start, because this Python's own library is out of reach afterwards.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_USER = "newcomer"


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tools.dev.fresh_machine: `{' '.join(command)}` failed: {done.stderr.strip()}")


def enter(job: dict[str, Any]) -> None:
    """Replaces the file system with the job's root, and the environment with the job's."""
    root = job["root"]
    _do("mount", "--make-rprivate", "/")
    _do("mount", "--bind", root, root)
    _do("mount", "-t", "proc", "proc", f"{root}/proc")
    for folder in ("/dev", "/sys"):
        _do("mount", "--rbind", folder, root + folder)
    for folder in job["shared"]:
        os.makedirs(root + folder, exist_ok=True)
        for parent in Path(folder).parents:  # a folder such as /root may be inaccessible
            os.chmod(f"{root}{parent}", 0o755)
        _do("mount", "--bind", "-o", "ro", folder, root + folder)
    _do("cp", "-r", job["checkout"], f"{root}/home/{_USER}/ironcast")
    # A user in a plain chroot may not make namespaces, which Bazel's sandbox needs.
    os.chdir(root)
    _do("pivot_root", ".", "mnt")
    os.chdir("/")
    _do("umount", "--lazy", "/mnt")
    _do("chown", "-R", f"{_USER}:", f"/home/{_USER}/ironcast")


def megabytes() -> int:
    """The amount of data in the root."""
    done = subprocess.run(["du", "-sxm", "/"], capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0])


def as_user(command: str, environment: dict[str, str]) -> int:
    """Runs a shell command as an ordinary user in the checkout; returns its status."""
    become = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups"]
    become += ["--bounding-set=-all", "--inh-caps=-all"]
    done = subprocess.run(
        [*become, "sh", "-c", command],
        cwd=f"/home/{_USER}/ironcast",
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode


def main() -> None:
    """Entry point."""
    job = json.loads(sys.argv[2])
    with os.fdopen(int(sys.argv[1]), "w") as results:
        os.set_inheritable(results.fileno(), False)
        enter(job)
        before = megabytes()
        for command in job["commands"]:
            print(f"$ {command}", flush=True)
            start = time.monotonic()
            status = as_user(command, job["environment"])
            seconds, after = time.monotonic() - start, megabytes()
            took = {"seconds": seconds, "megabytes": after - before}
            print(
                json.dumps({"command": command, "status": status, **took}), file=results, flush=True
            )
            before = after


if __name__ == "__main__":
    main()
