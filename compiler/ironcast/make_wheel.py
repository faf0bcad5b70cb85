"""Writes ironcast's wheel. The same files give the same bytes.

usage: make_wheel.py --out WHEEL --version V [--license-file FILE]... --lock LOCK
  [--requires [EXTRA:]PACKAGE]... PLACE=FILE...
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

_METADATA = """\
Metadata-Version: 2.4
Name: ironcast
Version: {version}
Summary: Compiles machine-learning models for bare-metal RISC-V
License-Expression: Apache-2.0 AND GPL-3.0-or-later WITH GCC-exception-3.1
{licenses}Requires-Python: >=3.11,<3.14
{requires}
Installs the program `bmc` (import, compile, inspect, verify, export, run), and for Python `ironcast.compile`,
`ironcast.run`, which boots models in QEMU, and `ironcast.Session`, which runs them on their targets given a checkout of
Ironcast's source tree. Exports have the runtime that runs the model; boards and images to flash are made in that tree.

All of it is under the Apache License 2.0, but for the files `*_libgcc.a` in `bmc/libcalls`: GCC's libgcc for kernels of
32 bits, from Debian's package gcc-riscv64-unknown-elf, whose source package has the source. It is under the GNU General
Public License 3 or later, with GCC's exception, which allows any license for a model that it is linked into.
"""
_WHEEL = """\
Wheel-Version: 1.0
Generator: ironcast
Root-Is-Purelib: true
Tag: py3-none-any
"""
_PROGRAMS = """\
[console_scripts]
bmc = bmc.__main__:main
"""
# The earliest date that a zip file can have.
_DATE = (1980, 1, 1, 0, 0, 0)


def locked(lock: str) -> dict[str, str]:
    """Returns package -> version of a requirements_lock.txt."""
    return dict(re.findall(r"^(\S+)==(\S+)", lock, re.MULTILINE))


def requirements(wanted: Iterable[str], versions: Mapping[str, str]) -> str:
    """Returns the lines of METADATA for packages as on the command line.

    Raises:
      KeyError: the lock does not have the package.
    """
    lines, extras = [], set()
    for package in wanted:
        extra, _, name = package.rpartition(":")
        if extra and extra not in extras:
            extras.add(extra)
            lines.append(f"Provides-Extra: {extra}")
        condition = f'; extra == "{extra}"' if extra else ""
        lines.append(f"Requires-Dist: {name}=={versions[name]}{condition}")
    return "".join(f"{line}\n" for line in lines)


def write(
    out: Path | IO[bytes],
    version: str,
    files: Mapping[str, bytes],
    requires: str,
    licenses: Mapping[str, bytes],
) -> None:
    """Writes a wheel.

    Args:
      out: the wheel, as a path or an open file.
      version: version of the package.
      files: place in site-packages -> contents.
      requires: see requirements().
      licenses: file name -> text.
    """
    info = f"ironcast-{version}.dist-info"
    members = dict(sorted(files.items())) | {
        f"{info}/METADATA": _METADATA.format(
            version=version,
            requires=requires,
            licenses="".join(f"License-File: {name}\n" for name in licenses),
        ).encode(),
        f"{info}/WHEEL": _WHEEL.encode(),
        f"{info}/entry_points.txt": _PROGRAMS.encode(),
        **{f"{info}/licenses/{name}": text for name, text in licenses.items()},
    }
    record = "".join(f"{name},{_sha256(data)},{len(data)}\n" for name, data in members.items())
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in members.items():
            member = zipfile.ZipInfo(name, _DATE)
            member.external_attr = 0o100644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(member, data)


def _sha256(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return f"sha256={digest.decode().rstrip('=')}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--license-file", type=Path, action="append", default=[])
    parser.add_argument("--lock", type=Path, required=True)
    parser.add_argument("--requires", action="append", default=[])
    parser.add_argument("files", nargs="+")
    given = parser.parse_args()
    places = (file.split("=", 1) for file in given.files)
    write(
        given.out,
        given.version,
        {place: Path(path).read_bytes() for place, path in places},
        requirements(given.requires, locked(given.lock.read_text(encoding="utf-8"))),
        {path.name: path.read_bytes() for path in given.license_file},
    )


if __name__ == "__main__":
    main()
