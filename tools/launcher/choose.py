"""Decides which Bazel to start."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from third_party.debian.errors import AptError
from tools.launcher import debian_bazel, github
from tools.launcher.answers import forget, kept_answer, reachable
from tools.launcher.cache import fill_once, locked, warn_of_small_disk, write_whole
from tools.launcher.errors import LauncherError
from tools.launcher.table import read_table

# The rulesets that Bazel's WORKSPACE mode or this project needs from GitHub, and where Debian's
# packages keep the same versions.
DEBIAN_RULESETS = {
    "bazel_features": "tools/features",
    "bazel_skylib": "tools/skylib",
    "platforms": "tools/platforms",
    "rules_cc": "rules/cc",
    "rules_java": "rules/java",
    "rules_license": "rules/license",
    "rules_proto": "rules/proto",
    "rules_python": "rules/python",
}


_VERSION = re.compile(r"\d+(\.\d+)+[\w.-]*", re.ASCII)
_LONGEST_VERSION = 40


@dataclass(frozen=True)
class Bazel:
    """A Bazel that can be started.

    debian_prefix: the prefix of its Debian packages ("/" if installed), if it is Debian's.
    rulesets: folder of Debian's rulesets to use instead of GitHub's, if GitHub is not used.
    """

    program: Path
    version: str
    debian_prefix: Path | None = None
    rulesets: Path | None = None


def wanted_version(root: Path, ironcast: Traversable) -> str:
    """The version in the workspace's .bazelversion, else in Ironcast's; raises LauncherError.

    It becomes part of paths and addresses.
    """
    own = root / ".bazelversion"
    try:
        if own.exists():
            if not own.is_file():  # What a pipe or a device says may never end.
                raise LauncherError(f"{own} is no file: restore it from git.")
            with own.open("rb") as opened:
                said = opened.read(_LONGEST_VERSION + 2)
        else:
            said = ironcast.joinpath(".bazelversion").read_bytes()
    except OSError as error:
        raise LauncherError(
            f"{own} cannot be read ({error.strerror}): restore it from git."
        ) from error
    version = said.decode("ascii", errors="replace").strip()
    if len(version) > _LONGEST_VERSION or not _VERSION.fullmatch(version):
        raise LauncherError(f"{own} is not a version: write one, such as 7.7.1, into it.")
    return version


def choose(root: Path, ironcast: Traversable, cache: Path, env: Mapping[str, str]) -> Bazel:
    """The Bazel to start for the workspace `root`, downloaded first if necessary; raises LauncherError.

    ironcast: Ironcast's tree, for its tables.
    """
    version = wanted_version(root, ironcast)
    real = env.get("BAZEL_REAL")
    if real and not (os.path.isfile(real) and os.access(real, os.X_OK)):
        raise LauncherError(
            f"BAZEL_REAL is {real}, which is not an executable file: correct or unset it."
        )
    program = Path(real) if real else installed(version, cache, env)
    prefix = _debian_prefix(program) if program else None
    use_github = decide_github(
        cache, env, version, prefix or _debian_folder(ironcast, cache, version)
    )
    if program is None and use_github:
        return Bazel(_from_github(ironcast, cache, version), version)
    if program is not None and use_github:
        return Bazel(program, version, prefix)
    left = (
        "Bazel's rulesets come from there or from Debian."
        if program
        else f"BAZEL_REAL may name any Bazel {version}."
    )
    unpacked = prefix or _from_debian(ironcast, cache, version, left)
    rulesets = unpacked / "usr/share/bazel"
    if program is not None:
        return Bazel(program, version, prefix, rulesets)
    return Bazel(unpacked / "usr/bin/bazel", _label(unpacked), unpacked, rulesets)


def decide_github(cache: Path, env: Mapping[str, str], version: str, debian: Path) -> bool:
    """Whether to use GitHub: as IRONCAST_GITHUB says, else if GitHub answers.

    debian: where Debian's Bazel is once it is unpacked. From then on it stays in use, because
    GitHub's would fetch and build everything again. Until then a no is not kept: the network may
    have been down.
    """
    said = env.get("IRONCAST_GITHUB", "")
    if said not in ("", "yes", "no"):
        raise LauncherError(f"IRONCAST_GITHUB is {said!r}: set it to yes or no, or unset it.")
    if said:
        return said == "yes"
    url = github.url(version, f"bazel-{version}-linux-x86_64.sha256")
    return kept_answer(cache, "github", lambda: not debian.is_dir() and reachable(url))


def installed(version: str, cache: Path, env: Mapping[str, str]) -> Path | None:
    """A `bazel` on PATH of exactly this version, or None."""
    found = shutil.which("bazel", path=env.get("PATH"))
    if found is None:
        return None
    stat = os.stat(found)
    key = f"{os.path.realpath(found)} {stat.st_mtime_ns} {stat.st_size} {version}"
    kept = cache / "installed.json"
    try:
        known = json.loads(kept.read_text()) if kept.is_file() else None
    except (OSError, ValueError, RecursionError):
        known = None
    if known not in ([key, True], [key, False]):
        known = [key, _version_of(Path(found), version, env) == version]
        write_whole(kept, json.dumps(known).encode())
    return Path(found) if known[1] else None


def _version_of(program: Path, version: str, env: Mapping[str, str]) -> str | None:
    prefix = _debian_prefix(program)
    if prefix is not None:  # Debian's Bazel cannot tell its own version
        return _label(prefix)
    # If this is Bazelisk, it must not call us again, and must give us the version we want.
    asked = {**env, "BAZELISK_SKIP_WRAPPER": "1", "USE_BAZEL_VERSION": version}
    with tempfile.TemporaryDirectory() as outside:
        try:
            done = subprocess.run(
                [program, "--version"],
                cwd=outside,
                env=asked,
                capture_output=True,
                text=True,
                timeout=10,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return done.stdout.strip().removeprefix("bazel ") if done.returncode == 0 else None


def _label(debian_prefix: Path) -> str:
    return (debian_prefix / "usr/share/bazel/build-label.txt").read_text().strip()


def _debian_prefix(program: Path) -> Path | None:
    prefix = Path(os.path.realpath(program)).parent.parent.parent
    return prefix if (prefix / "usr/share/bazel/build-label.txt").is_file() else None


def _from_github(ironcast: Traversable, cache: Path, version: str) -> Path:
    final = cache / f"bazel-{version}-github"
    if not final.is_dir():
        table = read_table(ironcast, "BAZEL_RELEASES")
        warn_of_small_disk(cache)
        with locked(cache):
            try:
                fill_once(
                    final,
                    lambda work: github.fill(work, version, table["sha256s"]),
                    table["megabytes"],
                )
            except LauncherError:
                forget(cache, "github")
                raise
    return final / "bazel"


def _debian_folder(ironcast: Traversable, cache: Path, version: str) -> Path:
    # The recipe's number is in the name so that a fixed recipe does not find an older one's
    # result.
    return cache / f"bazel-{version}-debian-{read_table(ironcast, 'BAZEL_FROM_DEBIAN')['recipe']}"


def _from_debian(ironcast: Traversable, cache: Path, version: str, left: str) -> Path:
    """Debian's Bazel, unpacked if necessary; `left` names the alternatives if it is unavailable."""
    final = _debian_folder(ironcast, cache, version)
    if not final.is_dir():
        table = read_table(ironcast, "BAZEL_FROM_DEBIAN")
        warn_of_small_disk(cache)
        with locked(cache):
            try:
                fill_once(
                    final,
                    lambda work: debian_bazel.fill(work, final, version, table),
                    table["megabytes"],
                )
            except AptError as error:
                raise LauncherError(
                    f"{error} (GitHub is not used: it could not be reached, or IRONCAST_GITHUB says "
                    f"so. {left})"
                ) from error
    return final
