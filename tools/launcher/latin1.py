"""The locale that Bazel's server needs for paths with letters outside ASCII.

Bazel treats paths as bytes and makes Java read them as Latin-1, which Java does only in such a locale.
Bazel's client starts the server in en_US.ISO-8859-1 if it finds that locale. Few machines have it.
"""

from __future__ import annotations

import locale
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from third_party.debian.apt import Package, PrivateApt, require_apt
from third_party.debian.errors import AptError
from tools.launcher.cache import fill_once, locked, say
from tools.launcher.errors import LauncherError

NAME = "en_US.ISO-8859-1"
SOURCES = Path("/usr/share/i18n")


def environment(paths: Iterable[Path], cache: Path) -> dict[str, str]:
    """Variables that let Bazel work in `paths`; raises LauncherError."""
    outside = [path for path in paths if not str(path).isascii()]
    if not outside or known():
        return {}
    final = cache / "locale"
    if not final.is_dir():
        with locked(cache):
            try:
                fill_once(final, lambda work: _fill(work, SOURCES))
            except (AptError, LauncherError) as error:
                raise LauncherError(
                    f"{outside[0]} has letters outside ASCII, for which Bazel needs the locale {NAME}, "
                    f"and it could not be made ({error}): install Debian's package `locales`, or "
                    "move to a path with only ASCII letters."
                ) from error
    return {"LOCPATH": str(final)}


def known() -> bool:
    """Whether this machine has the locale."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        locale.setlocale(locale.LC_CTYPE, NAME)
    except locale.Error:
        return False
    locale.setlocale(locale.LC_CTYPE, before)
    return True


def _fill(work: Path, sources: Path) -> None:
    """Makes the locale in `work`, from this machine's locale sources or Debian's."""
    tool = shutil.which("localedef", path=f"{os.environ.get('PATH', '')}:/usr/bin")
    if tool is None:
        raise LauncherError("`localedef` is not on PATH")
    with tempfile.TemporaryDirectory() as scratch:
        if not (sources / "charmaps/ISO-8859-1.gz").is_file():
            sources = _from_debian(Path(scratch)) / "usr/share/i18n"
        done = subprocess.run(
            [tool, "-c", "-i", "en_US", "-f", "ISO-8859-1", "--no-archive", str(work / NAME)],
            env={**os.environ, "I18NPATH": str(sources)},
            capture_output=True,
            text=True,
        )
    if not (work / NAME / "LC_CTYPE").is_file():
        raise LauncherError(f"`localedef` failed: {done.stderr.strip()}")


def _from_debian(scratch: Path) -> Path:
    """The package with the sources of all locales, unpacked."""
    say("a path with letters outside ASCII: fetching Debian's package `locales` (4 MB) for Bazel")
    require_apt()
    apt = PrivateApt(scratch / "apt")
    apt.update()
    version = apt.candidate("locales")
    if version is None:
        raise AptError("this machine's mirror has no package `locales`")
    apt.unpack([Package("locales", version)], scratch / "root")
    return scratch / "root"
