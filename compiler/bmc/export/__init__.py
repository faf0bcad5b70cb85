"""Compiled models and their runtime as a folder that other build systems build.

`bmc export` and `Compiled.export` of the wheel, and `X.export` of a workspace. The program that compiles models in a
build lacks it, so that a change to the runtime does not compile every model again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bmc.export import folder
from bmc.export.complete import qemu_arguments
from bmc.export.contents import contents
from bmc.export.kernels import KernelLibrary, read_libraries
from bmc.export.models import Model, read_model

__all__ = ["KernelLibrary", "Model", "export", "qemu_arguments", "read_libraries", "read_model"]


def export(
    models: Sequence[Model],
    target: Path,
    libraries: Sequence[KernelLibrary] = (),
    *,
    complete: bool = False,
) -> str:
    """Writes the models, one or more for the same ISA, and their kernel libraries into the folder `target`.

    If it is to be complete, make builds an image there that boots in QEMU and checks itself.

    Returns:
      What was written, to be shown to the user.

    Raises:
      BmcError: the models do not go together or cannot run in QEMU, or the folder cannot be written.
    """
    files = contents(models, libraries, boots=complete)
    folder.write(target, files)
    return "\n".join(
        (*sorted(files), f"{len(files)} files in {target}; its README.md says how to use them")
    )
