"""Which disks may be written: removable ones that nothing uses."""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

from tools.cli import UserError

_SECTOR = 512


@dataclasses.dataclass(frozen=True, slots=True)
class Disk:
    """A whole disk, `uses` says what it or a part of it is used for."""

    device: str
    removable: bool
    size: int
    title: str
    uses: tuple[str, ...]


def disks(root: Path = Path("/")) -> list[Disk]:
    """Every whole disk; `root` is another tree in tests."""
    found = []
    for entry in sorted((root / "sys/block").glob("*")):
        size = int(_text(entry / "size") or 0) * _SECTOR
        if size == 0:
            continue
        real = str(entry.resolve())
        removable = (
            _text(entry / "removable") == "1" or "/usb" in real or "/mmc_host/" in real
        ) and not entry.name.startswith("loop")
        title = " ".join(
            _text(entry / "device" / part) for part in ("vendor", "model", "name")
        ).strip()
        device = f"/dev/{entry.name}"
        names = [entry.name, *(part.parent.name for part in entry.glob("*/partition"))]
        found.append(Disk(device, removable, size, title, _uses(root, names, entry)))
    return found


def _uses(root: Path, names: list[str], entry: Path) -> tuple[str, ...]:
    devices = {f"/dev/{name}" for name in names}
    uses = []
    for line in _text(root / "proc/self/mounts").splitlines():
        source, where = line.split()[:2]
        if source in devices:
            uses.append(f"mounted on {where}")
    for line in _text(root / "proc/swaps").splitlines()[1:]:
        if line.split()[0] in devices:
            uses.append("swap")
    for holders in [entry / "holders", *(entry / name / "holders" for name in names)]:
        if holders.is_dir() and any(holders.iterdir()):
            uses.append("held by another device (LVM, RAID or encryption)")
    return tuple(uses)


def check(target: Path, root: Path = Path("/")) -> None:
    """Refuses a disk that must not be written; a file or a name not yet taken is fine."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        if str(target).startswith("/dev/"):
            raise UserError(
                f"{target} is not there: plug the card in; --list shows disks"
            ) from None
        return
    if stat.S_ISREG(mode):
        return
    if not stat.S_ISBLK(mode):
        raise UserError(f"{target} is neither a disk nor a file: --list shows disks")
    check_disk(os.path.realpath(target), root)


def check_disk(device: str, root: Path = Path("/")) -> None:
    """Refuses a disk by its device name."""
    for disk in disks(root):
        if disk.device != device:
            continue
        if disk.uses:
            raise UserError(
                f"{device} is {disk.uses[0]}: unmount it first (umount), or name another disk"
            )
        if not disk.removable:
            raise UserError(
                f"{device} is built into this computer, not a card or stick: name another disk"
            )
        return
    raise UserError(f"{device} is not a whole disk: name the disk, not a part of it")


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
