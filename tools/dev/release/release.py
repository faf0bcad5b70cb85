"""Packs the source tree for other repositories: release --tree DIR --contents FILE --out DIR --version V [--tracked].

Writes ironcast.tar.gz, its sha256, and the lines that a WORKSPACE file needs. The same tree gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from tools import cli

NAME = "ironcast.tar.gz"
# What builds nothing: pages, continuous integration, tools' caches, downloaded checkpoints.
_LEFT_OUT = re.compile(r"docs/|\.ci/|(.*/)?(\.\w+_cache|__pycache__|checkpoint)/|.*\.pyc$")

# So many files are named in a sentence.
_NAMED = 5

SNIPPET = """\
# Ironcast {version}.
load("@bazel_tools//tools/build_defs/repo:http.bzl", "http_archive")

# `url` is where you put the archive; file:///... works too.
http_archive(
    name = "ironcast",
    sha256 = "{sha256}",
    url = "https://example.com/{name}",
)

load("@ironcast//:deps.bzl", "ironcast_deps")

ironcast_deps(requirements_lock = "//:requirements_lock.txt")

load("@ironcast//:toolchains.bzl", "ironcast_toolchains")

ironcast_toolchains()
"""


def files_of(contents: str) -> list[str]:
    """The files of @tree//:contents.txt that belong into an archive, in order."""
    names = [line.split(" ", 2)[2] for line in contents.splitlines()]
    return sorted(name for name in names if not _LEFT_OUT.match(name))


def require_tracked(tree: Path, names: list[str]) -> None:
    """Checks that git tracks these files. A tree that is no checkout is taken as it is.

    Raises:
      UserError: it does not track some, or cannot say.
    """
    if not (tree / ".git").exists():
        return
    try:
        # Whose checkout it is does not matter to a list of its files.
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
        done = subprocess.run(command, cwd=tree, capture_output=True, check=False)
    except OSError as error:
        raise cli.UserError(
            f"git, which knows the files of a release, does not start: {error.strerror}"
        ) from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise cli.UserError(f"git does not list the files of a release: {reason}")
    tracked = {os.fsdecode(name) for name in done.stdout.split(b"\0")}
    if others := [name for name in names if name not in tracked]:
        named = ", ".join(others[:_NAMED])
        more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
        raise cli.UserError(
            f"git does not track {named}{more}: add to git what belongs into a release, and remove what does not"
        )


def archive(tree: Path, names: list[str]) -> bytes:
    """A .tar.gz of these files that depends on nothing but their contents and whether they are programs."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in names:
            content = (tree / name).read_bytes()
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mode = 0o755 if (tree / name).stat().st_mode & 0o100 else 0o644
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


@cli.program("release", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--tree", type=Path, required=True, help="a file at the top of the tree")
    parser.add_argument("--contents", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", required=True, help="of Ironcast")
    parser.add_argument(
        "--tracked", action="store_true", help="refuse files that git does not track"
    )
    options = parser.parse_args(args)
    tree = options.tree.resolve().parent
    names = files_of(options.contents.read_text())
    if options.tracked:
        require_tracked(tree, names)
    packed = archive(tree, names)
    sha256 = hashlib.sha256(packed).hexdigest()
    (options.out / NAME).write_bytes(packed)
    (options.out / f"{NAME}.sha256").write_text(f"{sha256}  {NAME}\n")
    (options.out / "ironcast.snippet").write_text(
        SNIPPET.format(name=NAME, sha256=sha256, version=options.version)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
