"""A boot loader that shows itself as a disk: the image is copied there."""

from __future__ import annotations

from pathlib import Path

from tools.cli import UserError
from tools.flash import pack
from tools.flash.job import Console, Job, Step

MOUNTS = Path("/proc/self/mounts")


class Copy:
    """Finds the volume by its label's mount point, or takes the folder named with --port."""

    has_console = False

    def __init__(self, job: Job) -> None:
        self._job = job
        self._label = str(job.settings["label"])
        self._name = f"ironcast-{job.board.name}.bin"
        self._data = job.image.flat()

    def steps(self) -> list[Step]:
        where = self._job.port or f"the disk {self._label}"
        return [Step(f"write {len(self._data)} bytes to {where}/{self._name}", self._write)]

    def _write(self) -> None:
        folder = self._folder()
        if not folder.is_dir():
            raise UserError(f"{folder} is not a folder: name where the board's disk is mounted")
        pack.write(folder / self._name, self._data)
        self._job.progress(len(self._data), len(self._data))

    def _folder(self) -> Path:
        if self._job.port:
            return self._job.target("the folder")
        for line in MOUNTS.read_text().splitlines():
            where = Path(line.split()[1].replace("\\040", " "))
            if where.name == self._label:
                return where
        raise UserError(
            f"no disk {self._label} is mounted: bring the board into its boot loader (usually by "
            "holding a button while plugging it in), or name the folder with --port"
        )

    def console(self) -> Console | None:
        return None
