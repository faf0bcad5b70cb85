"""A boot loader that shows itself as a disk: the image is copied there."""

from __future__ import annotations

from pathlib import Path

from tools.flash import pack, safety
from tools.flash.errors import FlashError
from tools.flash.job import Console, Job

_MOUNTS = Path("/proc/self/mounts")


class Copy:
    """Finds the volume by its label's mount point, or takes the folder named with --port."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._label = str(job.settings["label"])

    def _folder(self) -> Path:
        if self._job.port:
            return self._job.target("the folder")
        for line in _MOUNTS.read_text().splitlines():
            where = Path(line.split()[1].replace("\\040", " "))
            if where.name == self._label:
                return where
        raise FlashError(
            f"no disk {self._label} is mounted: bring the board into its boot loader (usually by "
            "holding a button while plugging it in), or name the folder with --port"
        )

    def _name(self) -> str:
        return f"ironcast-{self._job.board.name}.bin"

    def commands(self) -> list[str]:
        where = self._job.port or f"the disk {self._label}"
        return [f"write {len(self._job.image.flat())} bytes to {where}/{self._name()}"]

    def run(self) -> None:
        job = self._job
        safety.check_image(job.image, job.board)
        folder = self._folder()
        if not folder.is_dir():
            raise FlashError(f"{folder} is not a folder: name where the board's disk is mounted")
        data = job.image.flat()
        pack.write(folder / self._name(), data)
        job.progress(len(data), len(data))

    def console(self) -> Console | None:
        return None
