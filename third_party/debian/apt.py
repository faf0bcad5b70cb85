"""Debian packages without root and without installing: resolve, download, unpack.

Everything apt keeps (package lists, caches, its idea of what is installed)
is in a private directory, so the machine's own state is neither needed nor
touched. The machine's apt *configuration* is used unchanged: mirrors, proxies,
keyrings. apt checks the signatures of the lists and the hashes of what it
downloads.

Uses only the standard library: the launcher and a repository rule run this on
machines that have nothing but python3 and apt.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Hooks that a machine's configuration may have. They are for the machine's own
# apt, not for a private one.
_HOOKS = (
    "APT::Update::Pre-Invoke",
    "APT::Update::Post-Invoke",
    "APT::Update::Post-Invoke-Success",
    "DPkg::Pre-Invoke",
    "DPkg::Post-Invoke",
    "DPkg::Pre-Install-Pkgs",
)

# Debian's archive keys.
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Never needed to run a program, and a large part of the bytes.
_PRUNED = (
    "./usr/share/doc",
    "./usr/share/man",
    "./usr/share/locale",
    "./usr/share/info",
    "./usr/share/lintian",
)


class AptError(Exception):
    """One sentence for the user: what failed, where, what to do."""


@dataclass(frozen=True)
class Package:
    """One package of a resolved closure."""

    name: str
    version: str


def require_apt() -> None:
    """Raises AptError when this machine cannot handle Debian packages."""
    for tool in ("apt-get", "apt-cache", "dpkg", "dpkg-deb", "tar"):
        if shutil.which(tool) is None:
            raise AptError(f"`{tool}` is not on PATH, so Debian packages cannot be used here.")
    arch = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True
    ).stdout.strip()
    if arch != "amd64":
        raise AptError(
            f"Debian packages are only used on amd64, and this machine is {arch or 'unknown'}."
        )


class PrivateApt:
    """An apt with all its state under `state`."""

    def __init__(
        self,
        state: Path,
        source: str | None = None,
        pins: Mapping[str, str] | None = None,
        lists: Path | None = None,
        also: str | None = None,
    ) -> None:
        """source: a line of sources.list that replaces the machine's own sources.
        also: a line of sources.list in addition to them.
        pins: package -> version to prefer if the mirror still has it.
        lists: package lists that another PrivateApt downloaded, used read-only.
        """
        self.state = state
        self.lists = lists or state / "lists"
        self._config = state / "apt.conf"
        for folder in ("lists/partial", "cache/archives/partial", "parts"):
            (state / folder).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        lines = [
            f'Dir::State "{state}";',
            f'Dir::State::Lists "{self.lists}";',
            f'Dir::State::status "{state}/status";',
            f'Dir::Cache "{state}/cache";',
            f'Dir::Etc::Preferences "{state}/preferences";',
            f'Dir::Etc::PreferencesParts "{state}/parts";',
            'APT::Install-Recommends "false";',
            'APT::Sandbox::User "";',  # as the current user: there may be no _apt user
            'Acquire::Languages "none";',
            'Acquire::Retries "2";',
            'quiet "1";',
            *(f"#clear {hook};" for hook in _HOOKS),
        ]
        if source is not None:
            (state / "sources.list").write_text(source + "\n")
            lines += [
                f'Dir::Etc::SourceList "{state}/sources.list";',
                f'Dir::Etc::SourceParts "{state}/parts";',
            ]
        if also is not None:
            (state / "sources.list").write_text(f"{_machine_sources()}\n{also}\n")
            lines.append(f'Dir::Etc::SourceList "{state}/sources.list";')
        self._config.write_text("\n".join(lines) + "\n")
        stanzas = [
            f"Package: {p}\nPin: version {v}\nPin-Priority: 1001\n"
            for p, v in sorted((pins or {}).items())
        ]
        (state / "preferences").write_text("\n".join(stanzas))

    def _run(self, tool: str, *args: str) -> str:
        """Runs apt and returns what it printed; raises AptError with its last error line."""
        return self._finish(self._start(tool, *args))

    def _start(self, tool: str, *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [tool, "-c", str(self._config), *args],
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _finish(
        self, process: subprocess.Popen[str], tick: Callable[[], None] | None = None
    ) -> str:
        """Waits for apt; calls tick, if given, twice a second meanwhile."""
        while True:
            try:
                out, err = process.communicate(timeout=0.5 if tick else None)
                break
            except subprocess.TimeoutExpired:
                assert tick is not None
                tick()
        if process.returncode != 0:
            lines = err.splitlines()
            errors = [line for line in lines if line.startswith("E:")] or lines
            reason = errors[-1].removeprefix("E:").strip() if errors else "it gave no reason"
            command = process.args
            assert isinstance(command, list)
            raise AptError(f"`{command[0]} {command[3]}` failed: {reason}")
        return out

    def update(self) -> None:
        """Downloads the package lists; raises AptError if it gets none."""
        self._run("apt-get", "update")
        if not any(p.is_file() and "_Packages" in p.name for p in self.lists.iterdir()):
            raise AptError(
                "apt could not download any package list: check the network and "
                "this machine's apt sources."
            )

    def candidate(self, name: str) -> str | None:
        """The version that would be unpacked, or None for an unknown package."""
        match = re.search(
            r"^  Candidate: (\S+)$", self._run("apt-cache", "policy", name), re.MULTILINE
        )
        return match[1] if match and match[1] != "(none)" else None

    def depends(self, name: str) -> list[str]:
        """Names that `name` depends on directly."""
        return re.findall(
            r"Depends: ([^\s<>]+)", self._run("apt-cache", "depends", "--no-recommends", name)
        )

    def closure(self, names: Iterable[str], leave_out: Iterable[str] = ()) -> list[Package]:
        """Everything `names` need, sorted, except full matches of a pattern in `leave_out`."""
        listing = self._run("apt-get", "install", "-s", *names)
        found = [
            Package(n, v) for n, v in re.findall(r"^Inst (\S+) \((\S+)", listing, re.MULTILINE)
        ]
        left_out = re.compile("|".join(leave_out) or r"(?!)")
        return sorted((p for p in found if not left_out.fullmatch(p.name)), key=lambda p: p.name)

    def download(
        self,
        packages: Iterable[Package],
        into: Path,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[Path]:
        """Downloads exactly these packages, hashes checked by apt; returns the .deb files.

        progress: called now and then with the bytes done and the total.
        """
        wanted = [f"{p.name}={p.version}" for p in packages]
        into.mkdir(parents=True, exist_ok=True)
        tick = None
        if progress:
            listing = self._run("apt-get", "download", "--print-uris", *wanted)
            total = sum(
                int(size) for size in re.findall(r"^'\S+' \S+ (\d+)", listing, re.MULTILINE)
            )

            def tick() -> None:
                progress(sum(file.stat().st_size for file in into.glob("*.deb*")), total)

        self._finish(self._start("apt-get", "download", *wanted, cwd=into), tick)
        debs = sorted(into.glob("*.deb"))
        if len(debs) != len(wanted):
            raise AptError(f"apt downloaded {len(debs)} of {len(wanted)} packages: try again.")
        return debs


def _machine_sources() -> str:
    """The machine's sources.list, which may be absent if there is a sources.list.d."""
    setting = subprocess.run(
        ["apt-config", "shell", "FILE", "Dir::Etc::SourceList/f"], capture_output=True, text=True
    ).stdout
    path = Path(setting.strip().removeprefix("FILE='").removesuffix("'") or "/dev/null")
    return path.read_text() if path.is_file() else ""


def machine_mirrors(state: Path) -> list[str]:
    """Addresses of this machine's configured mirrors, likeliest Debian archive first."""
    # Needs no package lists, which a clean machine may not have.
    listing = PrivateApt(state)._run("apt-get", "update", "--print-uris")
    uris = list(dict.fromkeys(re.findall(r"^'(\S+?)/dists/", listing, re.MULTILINE)))
    # The archive itself comes before its security archive and third-party sources.
    return sorted(uris, key=lambda uri: (not uri.endswith("/debian"), uris.index(uri)))


def backports(state: Path, os_release: Path = Path("/etc/os-release")) -> str | None:
    """A line of sources.list for the backports of this machine's Debian release, or None.

    apt takes only pinned packages from there. `state` is a scratch folder.
    """
    text = os_release.read_text() if os_release.is_file() else ""
    codename = re.search(r'^VERSION_CODENAME="?(\w+)"?$', text, re.MULTILINE)
    if not re.search(r"^ID=debian$", text, re.MULTILINE) or codename is None:
        return None
    mirrors = machine_mirrors(state)
    if not mirrors or not KEYRING.is_file():
        return None
    return f"deb [signed-by={KEYRING}] {mirrors[0]} {codename[1]}-backports main"


def unpack(
    debs: Iterable[Path],
    into: Path,
    skip: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Unpacks the payload of every package into one tree.

    skip: further patterns (as tar's --exclude, starting with "./") not to write.
    progress: called with the number of packages done and the total.
    """
    into.mkdir(parents=True, exist_ok=True)
    excludes = [f"--exclude={pattern}" for pattern in (*_PRUNED, *skip)]

    def one(deb: Path) -> None:
        payload = subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(deb)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        tar = ["tar", "-x", "-C", str(into), "--no-same-owner", "--no-same-permissions", *excludes]
        unpacked = subprocess.run(tar, stdin=payload.stdout, capture_output=True, text=True)
        if payload.wait() != 0 or unpacked.returncode != 0:
            raise AptError(
                f"unpacking {deb.name} failed: "
                f"{unpacked.stderr.strip() or 'the package is damaged'}."
            )

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as pool:
        todo = list(debs)
        for count, _ in enumerate(pool.map(one, todo), start=1):
            if progress:
                progress(count, len(todo))


def relative_symlinks(root: Path) -> None:
    """Turns absolute symlinks into ones that stay inside `root`."""
    for folder, dirs, files in os.walk(root):
        for name in (*dirs, *files):
            link = Path(folder, name)
            if link.is_symlink() and (target := os.readlink(link)).startswith("/"):
                link.unlink()
                link.symlink_to(os.path.relpath(root / target.lstrip("/"), folder))


def is_elf(path: Path) -> bool:
    """Whether this is a regular ELF file (symlinks are not followed)."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def patch_elf(*command: str) -> str:
    """Runs patchelf and returns what it printed; raises AptError.

    Search paths are set as DT_RPATH, not RUNPATH: only the former also applies to libraries of
    libraries.
    """
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise AptError(f"`{' '.join(command)}` failed: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()
