"""Bazel from its releases on GitHub."""

from __future__ import annotations

import hashlib
import platform
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from tools.launcher.cache import DISK_FULL, progress, say
from tools.launcher.errors import LauncherError

RELEASES = "https://github.com/bazelbuild/bazel/releases/download"


def url(version: str, name: str, releases: str = RELEASES) -> str:
    """The address of the file `name` in the release."""
    return f"{releases}/{version}/{name}"


def asset(version: str) -> str:
    """The release file for this machine; raises LauncherError if there is none."""
    systems = {"Linux": "linux", "Darwin": "darwin"}
    machines = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
    system, machine = systems.get(platform.system()), machines.get(platform.machine())
    if system is None or machine is None:
        raise LauncherError(
            f"Bazel has no release for {platform.system()} on {platform.machine()}: "
            f"build Bazel {version} and set BAZEL_REAL to it."
        )
    return f"bazel-{version}-{system}-{machine}"


def fill(work: Path, version: str, hashes: Mapping[str, str], releases: str = RELEASES) -> None:
    """Downloads this machine's Bazel to work/bazel and checks its hash.

    hashes: release file -> sha256; a file without one is not downloaded. Raises LauncherError.
    """
    name = asset(version)
    if name not in hashes:
        raise LauncherError(
            f"third_party/versions.bzl has no hash for {name}: add it to BAZEL_RELEASES, or set "
            f"BAZEL_REAL to a Bazel {version}."
        )
    source = url(version, name, releases)
    digest = hashlib.sha256()
    say(f"downloading {source}")
    try:
        with (
            urllib.request.urlopen(source, timeout=60) as response,
            (work / "bazel").open("wb") as file,
        ):
            total = int(response.headers.get("Content-Length", 0))
            tell = progress("downloaded {} of {} MB")
            while block := response.read(1 << 20):
                digest.update(block)
                file.write(block)
                tell(file.tell(), total)
    except OSError as error:
        if error.errno in DISK_FULL:
            raise
        raise LauncherError(
            f"Downloading {source} failed ({error}): try again, set IRONCAST_GITHUB=no to take "
            f"Bazel from Debian's mirror, or set BAZEL_REAL to a Bazel {version}."
        ) from error
    if digest.hexdigest() != hashes[name]:
        raise LauncherError(
            f"{source} has sha256 {digest.hexdigest()} and not {hashes[name]}: do not use "
            "it; try again later."
        )
    (work / "bazel").chmod(0o755)
