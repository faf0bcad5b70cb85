"""Bazel from its releases on GitHub."""

from __future__ import annotations

import hashlib
import platform
import re
import threading
import urllib.request
from pathlib import Path

from tools.launcher.cache import progress, say
from tools.launcher.errors import LauncherError

RELEASES = "https://github.com/bazelbuild/bazel/releases/download"
DEADLINE_SECONDS = 4.0


def reachable(url: str = f"{RELEASES}/7.7.1/bazel-7.7.1-linux-x86_64.sha256") -> bool:
    """Whether GitHub's releases answer within a few seconds.

    In a thread: the resolver's own time-outs can be far longer than the one given here.
    """
    answer: list[bool] = []

    def ask() -> None:
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE_SECONDS) as response:
                answer.append(response.status == 200)
        except (OSError, ValueError):
            answer.append(False)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(DEADLINE_SECONDS)
    return bool(answer and answer[0])


def asset(version: str) -> str:
    """The release file for this machine; raises LauncherError for a machine without one."""
    systems = {"Linux": "linux", "Darwin": "darwin"}
    machines = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
    system, machine = systems.get(platform.system()), machines.get(platform.machine())
    if system is None or machine is None:
        raise LauncherError(
            f"Bazel has no release for {platform.system()} on {platform.machine()}: "
            f"build Bazel {version} and set BAZEL_REAL to it."
        )
    return f"bazel-{version}-{system}-{machine}"


def fill(work: Path, version: str, hashes: dict[str, str], releases: str = RELEASES) -> None:
    """Downloads this machine's Bazel to work/bazel and checks its hash.

    hashes: release file -> sha256 that this project knows. For other files the hash
    that the release publishes beside them is used. Raises LauncherError.
    """
    name = asset(version)
    url = f"{releases}/{version}/{name}"
    try:
        expected = hashes.get(name) or _published_hash(url + ".sha256")
        say(f"downloading {url}")
        digest = hashlib.sha256()
        with (
            urllib.request.urlopen(url, timeout=60) as response,
            (work / "bazel").open("wb") as file,
        ):
            total = int(response.headers.get("Content-Length", 0))
            tell = progress("downloaded {} of {} MB", unit=1_000_000)
            while block := response.read(1 << 20):
                digest.update(block)
                file.write(block)
                tell(file.tell(), total)
    except OSError as error:
        raise LauncherError(
            f"Downloading {url} failed ({error}): try again, or set BAZEL_REAL to a "
            f"Bazel {version}."
        ) from error
    if digest.hexdigest() != expected:
        raise LauncherError(
            f"{url} has sha256 {digest.hexdigest()} and not {expected}: do not use "
            "it; try again later."
        )
    (work / "bazel").chmod(0o755)


def _published_hash(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as response:
        text = response.read(4096).decode("ascii", "replace")
    match = re.match(r"[0-9a-f]{64}\b", text)
    if match is None:
        raise LauncherError(f"{url} does not hold a sha256: set BAZEL_REAL to a Bazel instead.")
    return match[0]
