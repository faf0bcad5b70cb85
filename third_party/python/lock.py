"""Writes requirements_lock.txt from requirements.in: the whole closure with the hash of every file.

Run it by hand when requirements.in changes. It needs `uv` on PATH. It resolves for Python 3.11 on Linux
x86-64 against the index that uv is configured for. It ignores local wheel folders, because the lock must
contain only what everybody can get.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from tools.launcher.table import read_table  # noqa: E402

NO_DEPS = "# no-deps"
# Packages that only torch's CUDA build requires. without_cuda.py makes it work without them.
LEFT_OUT = re.compile(r"(cuda|nvidia)-|triton==")
HEADER = "# Written by third_party/python/lock.py from requirements.in; not to be edited.\n"


def resolve(requirements: list[str], *flags: str) -> str:
    """Returns the lock's text for these requirements; raises subprocess.CalledProcessError if uv fails."""
    command = [
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        *flags,
    ]
    command += ["--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28", "-"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return subprocess.run(
        command, input="\n".join(requirements), text=True, capture_output=True, check=True, env=env
    ).stdout


def leave_out(lock: str) -> str:
    """Returns the lock without the packages of LEFT_OUT."""
    entries = re.split(r"^(?=\S+==)", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if not LEFT_OUT.match(entry))


def add_cpu_builds(lock: str, builds: Mapping[str, str]) -> str:
    """Returns the lock with the hashes of PYTHON_CPU_BUILDS; raises ValueError if it lacks the package."""
    for wheel, sha256 in builds.items():
        name, version = wheel.split("+")[0].rsplit("-", 1)
        first = f"{name}=={version} \\\n"
        if first not in lock:
            raise ValueError(
                f"{name}=={version} is not in the lock: adjust PYTHON_CPU_BUILDS in "
                "third_party/versions.bzl"
            )
        lock = lock.replace(first, f"{first}    --hash=sha256:{sha256} \\\n")
    return lock


def main() -> int:
    """Entry point; returns the exit status."""
    lines = [
        line
        for line in (HERE / "requirements.in").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    alone = [line.removesuffix(NO_DEPS).strip() for line in lines if line.endswith(NO_DEPS)]
    try:
        lock = resolve([line for line in lines if not line.endswith(NO_DEPS)]) + resolve(
            alone, "--no-deps"
        )
    except subprocess.CalledProcessError as error:
        print(f"uv could not resolve requirements.in: {error.stderr.strip()}", file=sys.stderr)
        return 1
    (HERE / "requirements_lock.txt").write_text(
        HEADER
        + add_cpu_builds(leave_out(lock), read_table(HERE.parent.parent, "PYTHON_CPU_BUILDS"))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
