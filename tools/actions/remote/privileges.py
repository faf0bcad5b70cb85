"""Makes a worker that root starts an ordinary user's, because what an action may do, its user may.

The user is root of a user namespace of its own, in which it may mount the inputs of actions, and of nothing else. In a
mount namespace of its own it also reaches what lies in root's home.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import stat
from collections.abc import Sequence
from pathlib import Path

from tools.cli import UserError

_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_DUMPABLE = 4
_LIBC = ctypes.CDLL(None, use_errno=True)


def are_needed() -> bool:
    """Whether this process is root of more than an ordinary user's own user namespace."""
    if os.geteuid() != 0:
        return False
    ids = Path("/proc/self/uid_map").read_bytes().split()
    return not (len(ids) == 3 and ids[1] != b"0" and ids[2] == b"1")


def owner(name: str) -> pwd.struct_passwd:
    """Returns the user of this name; raises UserError if there is none or it is root."""
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise UserError(f"--user {name}: there is no such user") from None
    if user.pw_uid == 0:
        raise UserError(f"--user {name}: actions would be this machine's root")
    return user


def give(folder: Path, user: pwd.struct_passwd) -> None:
    """Gives an empty folder to a user; raises UserError if it is another one's and has something in it."""
    if folder.stat().st_uid == user.pw_uid:
        return
    if any(folder.iterdir()):
        raise UserError(
            f"{folder} is not of the user {user.pw_name} and not empty: remove it, or name another with --store"
        )
    try:
        os.chown(folder, user.pw_uid, user.pw_gid)
    except OSError as error:
        raise _refused(user, error) from error


def give_up(user: pwd.struct_passwd, needed: Sequence[Path], device: Path) -> None:
    """Makes this process the user's, which reaches the files and folders `needed` and may open `device`.

    Raises UserError if the system does not allow it.
    """
    try:
        _call("unshare", _NEW_MOUNTS)
        _call("mount", None, b"/", None, _RECURSIVE | _PRIVATE, None)
        _open_ways(needed, user)
        _open_device(device)
        os.setgroups([])
        os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
        os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
        # Or the files below would be root's.
        _call("prctl", _DUMPABLE, 1, 0, 0, 0)
        _call("unshare", _NEW_USER | _NEW_MOUNTS)
        Path("/proc/self/setgroups").write_bytes(b"deny")
        Path("/proc/self/uid_map").write_bytes(f"0 {user.pw_uid} 1".encode())
        Path("/proc/self/gid_map").write_bytes(f"0 {user.pw_gid} 1".encode())
    except OSError as error:
        raise _refused(user, error) from error


def _refused(user: pwd.struct_passwd, error: OSError) -> UserError:
    return UserError(
        f"root cannot become the user {user.pw_name} here ({error.strerror}), and what others let this machine do "
        "must not be done by root: start the worker as an ordinary user"
    )


def _open_ways(paths: Sequence[Path], user: pwd.struct_passwd) -> None:
    """Lets the user through all folders above `paths`: those that are closed are covered, but for what is needed."""
    steps = []
    for way in [way for path in paths for way in (path.absolute(), path.resolve())]:
        folders = [*reversed(way.parents)]
        for folder, inside in zip(folders, [*folders[1:], way], strict=True):
            if not _may_enter(folder.stat(), user):
                # Before anything is covered.
                steps.append((folder, inside, inside.is_dir(), os.open(inside, os.O_PATH)))
    covered = set()
    for folder, inside, is_folder, opened in steps:
        if folder not in covered:
            covered.add(folder)
            _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"mode=755,size=1m")
        if not inside.exists():
            inside.mkdir() if is_folder else inside.touch()
            source = f"/proc/self/fd/{opened}".encode()
            _call("mount", source, os.fsencode(inside), None, _BIND | _RECURSIVE, None)
        os.close(opened)


def _may_enter(status: os.stat_result, user: pwd.struct_passwd) -> bool:
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & stat.S_IXUSR)
    return bool(status.st_mode & stat.S_IXOTH)


def _open_device(device: Path) -> None:
    """Puts a node for the same device, which everybody may open, in its place."""
    if not device.exists():
        return
    number = device.stat().st_rdev
    shown = Path("/mnt")
    _call("mount", b"tmpfs", os.fsencode(shown), b"tmpfs", 0, b"mode=755,size=1m")
    node = shown / "device"
    os.mknod(node, stat.S_IFCHR, number)
    node.chmod(0o666)
    _call("mount", os.fsencode(node), os.fsencode(device), None, _BIND, None)
    _call("umount2", os.fsencode(shown), 2)


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
