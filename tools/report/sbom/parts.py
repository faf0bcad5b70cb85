"""What Ironcast takes from others for an image, from the one table of third-party software and the Python lock."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources.abc import Traversable

from third_party.python.lock import entries
from tools.launcher.table import read_table

_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
# Where modules are in use, the repository's name has a prefix.
_LINKED = re.compile(r"\bexternal/(?:[^/ ]*[~+])?(debian_\w+)/")
# The compiler of firmware. What it emits is the project's own code; none of its libraries are linked.
_FIRMWARE_COMPILER = "debian_llvm"
# Its code generator writes the kernels, and links its own library of functions into them.
_KERNEL_COMPILER = "iree-base-compiler"


@dataclass(frozen=True)
class Part:
    """Third-party software.

    `purl` is its package URL, `license` an SPDX expression. `sha256s` are the files that the lock accepts, of which one
    was used. `on_target` says what of it the image contains; empty: only the build uses it.
    """

    name: str
    version: str
    license: str
    why: str
    purl: str
    sha256s: tuple[str, ...] = ()
    on_target: str = ""


def python(ironcast: Traversable, names: Iterable[str]) -> list[Part]:
    """Returns the Python packages with these names, sorted.

    Of a package of the user's own, which is not in Ironcast's lock, only the name is known.
    """
    lock = ironcast.joinpath("third_party", "python", "requirements_lock.txt")
    locked = entries(lock.read_text(encoding="utf-8"))
    table = read_table(ironcast, "PYTHON_PACKAGES")
    parts = []
    for name in sorted(set(names)):
        if name not in locked:
            parts.append(Part(name, "", "", "a package of the model's own", f"pkg:pypi/{name}"))
            continue
        version = locked[name].split("==", 1)[1].split()[0]
        parts.append(
            Part(
                name,
                version,
                table[name]["license"],
                table[name]["why"],
                f"pkg:pypi/{name}@{version}",
                tuple(sorted(_HASH.findall(locked[name]))),
                "the kernels that it generated, with functions of its own library"
                if name == _KERNEL_COMPILER
                else "",
            )
        )
    return parts


def debian(ironcast: Traversable, link_map: str) -> list[Part]:
    """Returns the compiler of the firmware, and the libraries that are linked into it, as its link map says."""
    tools = read_table(ironcast, "DEBIAN_TOOLS", "debian", "packages.bzl")
    linked = set(_LINKED.findall(link_map))
    parts = []
    for tool in sorted(linked | {_FIRMWARE_COMPILER}):
        about = tools[tool]
        versions = about["versions"]
        for package in about["packages"]:
            parts.append(
                Part(
                    package,
                    versions[package],
                    about["license"],
                    about["why"],
                    f"pkg:deb/debian/{package}@{versions[package].replace(':', '%3A')}",
                    on_target="functions that the linker took from its archive"
                    if tool in linked
                    else "",
                )
            )
    return parts
