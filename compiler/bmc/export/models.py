"""A compiled model, as an export takes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bmc import inspection, target
from bmc.emit import c_text
from bmc.errors import BmcError
from bmc.target import Target

# What the folder needs of what bmc writes, besides the header; kernels.bin or kernels.elf comes with it.
_MODEL_FILES = ("plan.c", "kernels.S", "weights.S", "weights.bin")
_GOLDEN_FILES = ("golden.S", "golden.c", "golden.bin")
_REPORT = {"name": str, "isa": str, "dispatches": [{"call": object}]}


@dataclass(frozen=True)
class Model:
    """A compiled model.

    Attributes:
      name: prefix of its C symbols.
      target: ISA of its kernels.
      folder: what `bmc compile` wrote.
      is_loaded: whether the program copies the kernels to RAM, as an ELF; otherwise they are linked in place.
      calls_libraries: whether functions of kernel libraries compute some of its dispatches.
    """

    name: str
    target: Target
    folder: Path
    is_loaded: bool
    calls_libraries: bool

    def files(self) -> dict[str, Path]:
        """Returns the files that an export needs: place below `src` -> file. Raises BmcError if one is missing."""
        names = [*_MODEL_FILES, "kernels.elf" if self.is_loaded else "kernels.bin"]
        header = f"{self.name}.h"
        files = {header: self.folder / header}
        files |= {f"{self.name}/{name}": self.folder / name for name in names}
        _require(files.values())
        return files

    def golden_files(self) -> dict[str, Path]:
        """Returns the files with its cases: name -> file. Raises BmcError if one is missing."""
        files = {name: self.folder / name for name in _GOLDEN_FILES}
        _require(files.values())
        return files


def _require(files: Iterable[Path]) -> None:
    for file in files:
        if not file.is_file():
            raise BmcError("file-missing", f"'{file}' is missing: compile the model again")


def read_model(folder: Path, loaded: Sequence[str]) -> Model:
    """Reads what `bmc compile` wrote; raises BmcError if it is not for a microcontroller.

    Args:
      folder: of one model.
      loaded: names of models whose kernels are loaded.
    """
    report = inspection.read(folder, _REPORT)
    isa = target.find(report["isa"])
    if not isa.is_riscv:
        raise BmcError(
            "not-exported",
            f"{report['name']} is compiled for {isa.isa}, and exports are for RISC-V without an operating system",
        )
    calls = any(dispatch["call"] for dispatch in report["dispatches"])
    # It becomes a part of paths and of C.
    name = c_text.check_name(report["name"])
    return Model(name, isa, folder, name in loaded, calls)
