"""The one IREE version that bmc supports: IR, flags and executable ABI change with every version."""

from __future__ import annotations

import importlib.metadata

from bmc.errors import BmcError

PINNED = "3.13.0"


def installed_version() -> str:
    """Returns the version of the installed iree-base-compiler package."""
    return importlib.metadata.version("iree-base-compiler")


def check(any_version: bool) -> None:
    """Refuses any IREE version but the pinned one, unless the user insists.

    Raises:
      BmcError: another version is installed. The tools themselves report a missing package.
    """
    try:
        installed = installed_version()
    except importlib.metadata.PackageNotFoundError:
        return
    if installed != PINNED and not any_version:
        raise BmcError(
            "iree-version",
            f"iree-base-compiler {installed} is installed, but bmc supports only {PINNED}",
            hint=f"pip install iree-base-compiler=={PINNED} iree-base-runtime=={PINNED}, or try this one"
            " anyway with `bmc --any-iree`",
        )
