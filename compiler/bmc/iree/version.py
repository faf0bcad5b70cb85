"""The one version of IREE that bmc knows: its IR, its flags and its executable ABI change with each."""

from __future__ import annotations

import importlib.metadata

from bmc.errors import BmcError

PINNED = "3.13.0"


def installed_version() -> str:
    """Version of the installed iree-base-compiler package."""
    return importlib.metadata.version("iree-base-compiler")


def check(any_version: bool) -> None:
    """Refuses another IREE than the pinned one, unless the user insists.

    Raises:
      BmcError: another version is installed. A missing package is left to the tools to report.
    """
    try:
        installed = installed_version()
    except importlib.metadata.PackageNotFoundError:
        return
    if installed != PINNED and not any_version:
        raise BmcError(
            "iree-version",
            f"iree-base-compiler {installed} is installed, but bmc is made for {PINNED}",
            hint=f"pip install iree-base-compiler=={PINNED} iree-base-runtime=={PINNED}, or try your luck"
            " with `bmc --any-iree`",
        )
