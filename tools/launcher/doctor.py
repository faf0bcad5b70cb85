"""`tools/bazel doctor`: what this machine lacks for Ironcast, and what takes how much disk space.

It fetches nothing.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.launcher import disk_cache
from tools.launcher.cache import FIRST_COMMAND_MEGABYTES, refusal
from tools.launcher.truststore import BUNDLES

# Of README and CONTRIBUTING: what all tests leave behind, and Debian's releases that are tried.
_ALL_TESTS_MEGABYTES = 22_000
_DEBIAN = ("12", "13")
_KIND = "Linux on x86_64"
_MEMORY_GIB = 8
# Variables that name tools of the user's own, and those that do not.
_OWN_TOOLS = "IRONCAST_"
_SETTINGS = (disk_cache.VARIABLE, "IRONCAST_GITHUB")


@dataclass(frozen=True)
class Finding:
    """One thing about this machine.

    lacks: whether it is in the way. advice: what to do, "" for nothing.
    """

    what: str
    found: str
    lacks: bool = False
    advice: str = ""


def report(cache: Path, env: Mapping[str, str]) -> int:
    """Prints what was found; returns 1 if something is in the way."""
    found = [*machine(env), *whose(cache), *disk(cache)]
    width = max(len(each.what) for each in found)
    for each in found:
        advice = f": {each.advice}" if each.advice else ""
        print(f"{'!' if each.lacks else ' '} {each.what:{width}}  {each.found}{advice}")
    lacking = [each.what for each in found if each.lacks]
    print(f"In the way: {', '.join(lacking)}." if lacking else "Nothing is in the way.")
    return 1 if lacking else 0


def machine(env: Mapping[str, str]) -> Iterator[Finding]:
    """The system, and the programs of its own that Ironcast takes or needs."""
    kind = f"{platform.system()} on {platform.machine()}"
    other = "" if kind == _KIND else f"Ironcast's tools are built for {_KIND}"
    yield Finding("machine", kind, bool(other), other)
    other = "" if sys.version_info < (3, 14) else "Ironcast's packages are for 3.11 to 3.13"
    yield Finding("python3", platform.python_version(), bool(other), other)
    release = _release()
    own = sorted(n for n in env if n.startswith(_OWN_TOOLS) and n not in _SETTINGS)
    apt = shutil.which("apt-get", path=env.get("PATH"))
    is_tried = release.get("ID") == "debian" and release.get("VERSION_ID") in _DEBIAN
    yield Finding(
        "system",
        release.get("PRETTY_NAME", "unknown"),
        not apt and not own,
        ""
        if is_tried and apt
        else "only Debian 12 and 13 are tried; elsewhere name your own tools (third_party/README.md)",
    )
    for name in own:
        yield Finding(name, env[name])
    bundle = env.get("SSL_CERT_FILE") or next((str(b) for b in BUNDLES if b.is_file()), "")
    yield Finding(
        "certificates", bundle or "none", not bundle, "" if bundle else "install ca-certificates"
    )
    may = _may_sandbox()
    yield Finding(
        "sandbox",
        "user namespaces work" if may else "no user namespaces",
        advice=""
        if may
        else "builds work, but see their machine's files; --config=worker needs it",
    )
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    enough = gib >= _MEMORY_GIB
    yield Finding(
        "memory",
        f"{gib:.0f} GiB, {os.cpu_count()} cores",
        advice="" if enough else "give --jobs=1 if a build is killed",
    )


def whose(cache: Path) -> Iterator[Finding]:
    """The folder that `tools/bazel` would refuse because others may have put something into it, if it would."""
    for folder in (cache, cache / "packages", cache / "disk"):
        if os.path.lexists(folder):
            try:
                reason = refusal(folder)
            except OSError as error:
                reason = f"cannot be used ({error.strerror}): remove it"
            if reason:
                yield Finding("cache", str(folder), True, reason)
                return


def disk(cache: Path) -> Iterator[Finding]:
    """The space that is free and what is in the cache folder, which need not exist."""
    existing = next(folder for folder in (cache, *cache.parents) if folder.is_dir())
    free = shutil.disk_usage(existing).free // 1_000_000
    folders = [*sorted(_folders(cache)), *sorted(_folders(cache.parent / "bazel"))]
    sizes = {folder: _megabytes(folder) for folder in folders}
    needs = max(0, FIRST_COMMAND_MEGABYTES - sum(sizes.values()))
    advice = ""
    if free < needs:
        advice = (
            f"the README's first command needs {needs} MB more; XDG_CACHE_HOME names another disk"
        )
    elif free + sum(sizes.values()) < _ALL_TESTS_MEGABYTES:
        advice = f"all tests take {_ALL_TESTS_MEGABYTES:,} MB"
    yield Finding("disk", f"{free:,} MB free", free < needs, advice)
    for folder, megabytes in sizes.items():
        yield Finding(str(folder), f"{megabytes:,} MB")
    if sizes:
        yield Finding(
            "in all",
            f"{sum(sizes.values()):,} MB",
            advice="third_party/README.md says what may be removed, and how",
        )


def _release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


def _may_sandbox() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    tried = subprocess.run([unshare, "--user", "--map-root-user", "true"], capture_output=True)
    return tried.returncode == 0


def _folders(parent: Path) -> Iterator[Path]:
    try:
        entries = list(parent.iterdir())
    except OSError:  # None, or another user's.
        return
    yield from (entry for entry in entries if entry.is_dir() and not entry.is_symlink())


def _megabytes(folder: Path) -> int:
    """What a folder takes. A file with several names counts once."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for root, _, files in os.walk(folder, onerror=lambda _: None):
        for name in files:
            try:
                about = os.lstat(os.path.join(root, name))
            except OSError:  # A build has just removed it.
                continue
            if (about.st_dev, about.st_ino) not in seen:
                seen.add((about.st_dev, about.st_ino))
                total += about.st_blocks * 512
    return total // 1_000_000
