"""Takes from a process what the import of a model file needs not: the network, and what root may do.

Bazel's sandbox does not: in it, root of this machine stays that, with /proc/sys to write. Continuous integration often
is root. This module imports nothing that starts threads, so that forking is safe.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence
from pathlib import Path

# Flags of unshare(2).
_NEW_MOUNTS, _NEW_USER, _NEW_NETWORK = 0x20000, 0x10000000, 0x40000000
# Flags of mount(2).
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
# A flag of umount2(2).
_DETACH = 2
# Those of a mount that only its owner may change, by name: they must stay.
_KEPT = {
    "nosuid": 0x2,
    "nodev": 0x4,
    "noexec": 0x8,
    "noatime": 0x400,
    "nodiratime": 0x800,
    "relatime": 0x200000,
}
# Options of prctl(2).
_DROP_FROM_BOUND, _NO_NEW_PRIVILEGES, _AMBIENT, _CLEAR = 24, 38, 47, 4
_CAPABILITIES_VERSION = 0x20080522
_CAPABILITIES = 64
# Sockets of programs that do what root asks for.
_SOCKETS = Path("/run")
# Root owns those of disks, and a mount that is read-only is no hindrance.
_DEVICES = Path("/dev")
_HARMLESS = ("full", "null", "random", "urandom", "zero")
# In memory, where frameworks share it with processes of theirs.
_SHARED = _DEVICES / "shm"
_LIBC = ctypes.CDLL(None, use_errno=True)


def confine(writable: Sequence[Path]) -> None:
    """Leaves the network; root also loses its capabilities and writes only `writable`. What the system refuses stays.

    Of a path that is not there yet, the nearest folder that is counts.
    """
    user, group = os.geteuid(), os.getegid()
    spaces = _NEW_NETWORK | (0 if user else _NEW_MOUNTS)
    # Only root may create other namespaces without a user namespace.
    entered = _LIBC.unshare(spaces) == 0
    if not entered and _LIBC.unshare(spaces | _NEW_USER) == 0:
        entered = True
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    if user == 0:
        if entered:
            _make_read_only([_folder(path) for path in (*writable, _SHARED)])
        _drop_capabilities()


def _folder(path: Path) -> Path:
    found = path.absolute()
    while not found.is_dir():
        found = found.parent
    return found.resolve()


def _make_read_only(but: Sequence[Path]) -> None:
    here = Path.cwd()
    _mount(None, Path("/"), None, _RECURSIVE | _PRIVATE)
    _hide_devices()
    for path in but:
        _mount(path, path, None, _BIND | _RECURSIVE)
    if _SOCKETS.is_dir() and not any(path.is_relative_to(_SOCKETS) for path in but):
        _mount(Path("none"), _SOCKETS, "tmpfs", _KEPT["nosuid"] | _KEPT["nodev"])
    for place, flags in _mounts().items():
        if not any(place.is_relative_to(path) for path in but):
            _mount(None, place, None, _REMOUNT | _BIND | _READ_ONLY | flags)
    # Or this would still be the folder below the mounts.
    os.chdir(here)


def _hide_devices() -> None:
    """Covers the devices by a folder with those that do no harm."""
    kept = [_DEVICES / name for name in (*_HARMLESS, _SHARED.name)]
    opened = {path: os.open(path, os.O_PATH) for path in kept if path.exists()}
    if _mount(Path("none"), _DEVICES, "tmpfs", _KEPT["nosuid"]):
        try:
            for path, number in opened.items():
                path.mkdir() if path == _SHARED else path.touch()
                _mount(Path(f"/proc/self/fd/{number}"), path, None, _BIND | _RECURSIVE)
            Path(_DEVICES, "fd").symlink_to("/proc/self/fd")
        except OSError:
            # Nobody may make files in a user namespace that does not know the group.
            _LIBC.umount2(os.fsencode(_DEVICES), _DETACH)
    for number in opened.values():
        os.close(number)


def _mounts() -> dict[Path, int]:
    """Returns where mounts are, each with the flags that it must keep."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        place, options = line.split()[4:6]
        # Spaces and the like are in octal.
        name = place.decode("unicode_escape").encode("latin-1")
        kept = (_KEPT.get(option, 0) for option in options.decode("ascii").split(","))
        found[Path(os.fsdecode(name))] = sum(kept)
    return found


def _mount(source: Path | None, place: Path, kind: str | None, flags: int) -> bool:
    """Returns whether the system allows it; a mount that another one hides stays as it is."""
    named = None if source is None else os.fsencode(source)
    type_ = None if kind is None else kind.encode()
    return bool(_LIBC.mount(named, os.fsencode(place), type_, flags, None) == 0)


def _drop_capabilities() -> None:
    _LIBC.prctl(_AMBIENT, _CLEAR, 0, 0, 0)
    for capability in range(_CAPABILITIES):
        _LIBC.prctl(_DROP_FROM_BOUND, capability, 0, 0, 0)
    none = (ctypes.c_uint32 * 6)()
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    _LIBC.capset(header, none)
    _LIBC.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
