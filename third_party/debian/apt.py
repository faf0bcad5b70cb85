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
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from third_party.debian.errors import AptError

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

# Bytes that are downloaded before the first of them are unpacked.
_BATCH = 32_000_000


@dataclass(frozen=True)
class Package:
    """One package of a resolved closure. size: bytes to download, if apt has said it."""

    name: str
    version: str
    size: int = field(default=0, compare=False)


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
    """An apt with all its state under `state`, which others may use at the same time."""

    def __init__(
        self,
        state: Path,
        source: str | None = None,
        also: str | None = None,
        pins: Mapping[str, str] | None = None,
        scratch: Path | None = None,
    ) -> None:
        """source: a line of sources.list that replaces the machine's own sources.
        also: a line of sources.list in addition to them.
        pins: package -> version to prefer if the mirror still has it.
        scratch: folder for what only this one uses; `state` if nobody shares that.
        Raises AptError.
        """
        for folder in (state, scratch or state):
            if '"' in str(folder):  # it would be the end of the name in apt's configuration
                raise AptError(
                    f"apt cannot work in {folder}, which has a quotation mark in its name: set XDG_CACHE_HOME, or "
                    "TMPDIR, to a folder without one."
                )
        self.lists = state / "lists"
        self._scratch = scratch or state
        self._config = self._scratch / "apt.conf"
        for folder in (state / "lists/partial", state / "cache", state / "parts"):
            folder.mkdir(parents=True, exist_ok=True)
        (self._scratch / "archives/partial").mkdir(parents=True, exist_ok=True)
        _write(state / "status", "")
        lines = [
            f'Dir::State "{state}";',
            f'Dir::State::Lists "{self.lists}";',
            f'Dir::State::status "{state}/status";',
            f'Dir::Cache "{state}/cache";',
            # Containers save space: their apt reads or decompresses all lists for every answer.
            'Dir::Cache::pkgcache "pkgcache.bin";',
            'Dir::Cache::srcpkgcache "";',
            'Acquire::GzipIndexes "false";',
            f'Dir::Cache::Archives "{self._scratch}/archives";',
            f'Dir::Etc::Preferences "{self._scratch}/preferences";',
            f'Dir::Etc::PreferencesParts "{state}/parts";',
            'APT::Install-Recommends "false";',
            'APT::Sandbox::User "";',  # as the current user: there may be no _apt user
            'Acquire::Languages "none";',
            'Acquire::Retries "2";',
            'quiet "1";',
            *(f"#clear {hook};" for hook in _HOOKS),
        ]
        if source is not None:
            lines.append(f'Dir::Etc::SourceParts "{state}/parts";')
        if source is not None or also is not None:
            lines.append(f'Dir::Etc::SourceList "{state}/sources.list";')
            _write(state / "sources.list", f"{source or _machine_sources()}\n{also or ''}\n")
        self._config.write_text("\n".join(lines) + "\n")
        stanzas = [
            f"Package: {p}\nPin: version {v}\nPin-Priority: 1001\n"
            for p, v in sorted((pins or {}).items())
        ]
        (self._scratch / "preferences").write_text("\n".join(stanzas))

    def _run(self, tool: str, *args: str, cwd: Path | None = None) -> str:
        """Runs apt and returns what it printed; raises AptError with its last error line."""
        done = subprocess.run(
            [tool, "-c", str(self._config), *args],
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            lines = done.stderr.splitlines()
            errors = [line for line in lines if line.startswith("E:")] or lines
            reason = errors[-1].removeprefix("E:").strip() if errors else "it gave no reason"
            raise AptError(f"`{tool} {args[0]}` failed: {reason}")
        return done.stdout

    def update(self) -> None:
        """Downloads the package lists; raises AptError if it gets none."""
        self._run("apt-get", "update")
        if not any(p.is_file() and "_Packages" in p.name for p in self.lists.iterdir()):
            raise AptError(
                "apt could not download any package list: check the network and "
                "this machine's apt sources."
            )
        self._run("apt-cache", "gencaches")

    def uris(self) -> str:
        """What `update` would download, for which no lists are needed."""
        return self._run("apt-get", "update", "--print-uris")

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
        # Not `--simulate`, which would also find an order of installation, in twice the time.
        listing = self._run("apt-get", "install", "--print-uris", "-qq", *names)
        left_out = re.compile("|".join(leave_out) or r"(?!)")
        found = [
            Package(name, unquote(version), int(size))
            for name, version, size in re.findall(
                r"^'\S+' ([^_\s]+)_([^_\s]+)_\S+ (\d+)", listing, re.MULTILINE
            )
            if not left_out.fullmatch(name)
        ]
        return sorted(found, key=lambda p: p.name)

    def download(self, packages: Iterable[Package], into: Path) -> list[Path]:
        """Downloads exactly these packages, hashes checked by apt; returns the .deb files."""
        wanted = [f"{p.name}={p.version}" for p in packages]
        into.mkdir(parents=True, exist_ok=True)
        self._run("apt-get", "download", *wanted, cwd=into)
        debs = sorted(into.glob("*.deb"))
        if len(debs) != len(wanted):
            raise AptError(f"apt downloaded {len(debs)} of {len(wanted)} packages: try again.")
        return debs

    def unpack(
        self,
        packages: Iterable[Package],
        into: Path,
        skip: Iterable[str] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Downloads packages and unpacks them into one tree, some while others are downloaded.

        skip: further patterns (as tar's --exclude, starting with "./") not to write.
        progress: called now and then with the bytes downloaded and the total.
        """
        todo = sorted(packages, key=lambda p: p.size, reverse=True)
        with (
            tempfile.TemporaryDirectory(dir=self._scratch) as debs,
            ThreadPoolExecutor(max_workers=os.cpu_count() or 2) as unpackers,
            ThreadPoolExecutor(max_workers=1) as loader,
        ):

            def load() -> list[Future[None]]:
                return [
                    unpackers.submit(unpack, deb, into, skip)
                    for number, batch in enumerate(_batches(todo))
                    for deb in self.download(batch, Path(debs, str(number)))
                ]

            loading = loader.submit(load)
            while wait([loading], timeout=0.5).not_done:
                if progress:
                    loaded = sum(deb.stat().st_size for deb in Path(debs).glob("*/*.deb*"))
                    progress(loaded, sum(package.size for package in todo))
            for unpacked in loading.result():
                unpacked.result()


def _batches(packages: Iterable[Package]) -> Iterator[list[Package]]:
    batch: list[Package] = []
    for package in packages:
        batch.append(package)
        if sum(p.size for p in batch) > _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _write(file: Path, text: str) -> None:
    """Writes a file unless it is the same already: if it is newer than apt's cache, apt reads all lists again."""
    if not file.is_file() or file.read_text() != text:
        file.write_text(text)


def _machine_sources() -> str:
    """The machine's sources.list, which may be absent if there is a sources.list.d."""
    setting = subprocess.run(
        ["apt-config", "shell", "FILE", "Dir::Etc::SourceList/f"], capture_output=True, text=True
    ).stdout
    path = Path(setting.strip().removeprefix("FILE='").removesuffix("'") or "/dev/null")
    return path.read_text() if path.is_file() else ""


def machine_mirrors(state: Path) -> list[str]:
    """Addresses of this machine's configured mirrors, likeliest Debian archive first."""
    listing = PrivateApt(state).uris()
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


def unpack(deb: Path, into: Path, skip: Iterable[str] = ()) -> None:
    """Unpacks the payload of a package into a tree. Raises AptError.

    skip: further patterns (as tar's --exclude, starting with "./") not to write.
    """
    into.mkdir(parents=True, exist_ok=True)
    tar = ["tar", "-x", "-C", str(into), "--no-same-owner", "--no-same-permissions"]
    tar += [f"--exclude={pattern}" for pattern in (*_PRUNED, *skip)]
    with subprocess.Popen(
        ["dpkg-deb", "--fsys-tarfile", str(deb)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as payload:
        unpacked = subprocess.run(tar, stdin=payload.stdout, capture_output=True, text=True)
    if payload.returncode != 0 or unpacked.returncode != 0:
        raise AptError(
            f"unpacking {deb.name} failed: {unpacked.stderr.strip() or 'the package is damaged'}."
        )


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
