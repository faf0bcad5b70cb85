"""Makes the root: Debian's essential packages, apt, and what the README says is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from third_party.debian.apt import (
    KEYRING,
    PrivateApt,
    machine_mirrors,
    require_apt,
)
from third_party.debian.errors import AptError
from tools.cli import UserError

# What a machine needs for `tools/bazel`, besides apt.
NEEDED = ("python3", "ca-certificates")

# Where an administrator puts local certificates; `update-ca-certificates` adds them.
OWN_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"

# The settings with which apt reaches its mirror.
_APT_SETTING = re.compile(
    r'^Acquire::(?:https?::Proxy(?:::\S+)?|Check-Valid-Until) "[^"]+";$', re.MULTILINE
)
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")


def sources(mirrors: Sequence[str], suite: str) -> list[str]:
    """Lines of sources.list as Debian's installer writes them; UserError without a mirror."""
    archive = next((m for m in mirrors if m.endswith("/debian")), None)
    if archive is None:
        raise UserError("None of this machine's apt sources is a mirror of Debian: add one.")
    lines = [f"deb {archive} {suite} main", f"deb {archive} {suite}-updates main"]
    security = next((m for m in mirrors if m.endswith("/debian-security")), None)
    return [*lines, *([f"deb {security} {suite}-security main"] if security else [])]


def apt_settings(dump: str) -> str:
    """The lines of `apt-config dump` that apt may need to reach the mirror."""
    return "".join(f"{setting}\n" for setting in _APT_SETTING.findall(dump))


def private_certificates(folder: Path = OWN_CERTIFICATES) -> list[Path]:
    """The certificates that this machine's administrator added to Debian's."""
    return sorted(folder.glob("**/*.crt"))


def user_environment(own_certificates: bool, env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The user's whole environment: what a login sets, and the network settings."""
    proxies = {n: env[n] for name in _PROXIES for n in (name, name.upper()) if n in env}
    certificates = {"SSL_CERT_FILE": _BUNDLE} if own_certificates else {}
    return {
        "HOME": "/home/newcomer",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        **proxies,
        **certificates,
    }


def make_root(work: Path, suite: str, own: Sequence[Path], unshare: Sequence[str]) -> None:
    """Fills work/root. Raises AptError, UserError."""
    require_apt()
    if shutil.which("perl") is None or not KEYRING.is_file():
        raise UserError(f"`perl` or {KEYRING} is missing: install perl and debian-archive-keyring.")
    program = _mmdebstrap(work)
    settings = work / "apt.conf"
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    settings.write_text(apt_settings(dump))
    hooks = ["chroot $1 useradd --create-home --skel /var/empty newcomer"]
    if own:
        hooks = [
            f"copy-in {' '.join(map(str, own))} {OWN_CERTIFICATES}",
            "chroot $1 update-ca-certificates",
            *hooks,
        ]
    done = subprocess.run(
        [
            *unshare,
            "perl",
            str(program),
            "--mode=root",
            "--variant=minbase",
            f"--include={','.join(NEEDED)}",
            f"--aptopt={settings}",
            *(f"--customize-hook={hook}" for hook in hooks),
            suite,
            str(work / "root"),
            *sources(machine_mirrors(work / "mirrors"), suite),
        ],
        check=False,
    )
    if done.returncode != 0:
        raise UserError(f"Debian {suite} could not be unpacked: fix what mmdebstrap says above.")


def _mmdebstrap(work: Path) -> Path:
    """The program, unpacked but not installed."""
    apt = PrivateApt(work / "apt")
    apt.update()
    packages = [p for p in apt.closure(["mmdebstrap"]) if p.name == "mmdebstrap"]
    if not packages:
        raise AptError("This machine's mirror has no package mmdebstrap: add one that does.")
    apt.unpack(packages, work / "tools")
    return work / "tools/usr/bin/mmdebstrap"


def copy_checkout(checkout: Path, into: Path) -> None:
    """Clones HEAD; raises UserError."""
    done = subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(checkout), str(into)], check=False
    )
    if done.returncode != 0:
        raise UserError(f"{checkout} could not be cloned: start this from a git checkout.")
