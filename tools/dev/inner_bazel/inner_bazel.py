"""A Bazel in a test: it builds another workspace with what this one has fetched already."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path

# Repositories that hold the same for every workspace; not those that are made for one, like @pypi.
_PACKAGES = re.compile(r"(pypi_|debian_)\w+|spike")
_RULESETS = re.compile(r"(rules_|bazel_)\w+|platforms")
_NOT_SHARED = {"bazel_tools"}


def external() -> Path:
    """The folder of this workspace's repositories. The test runs in a folder of the same output base."""
    execroot = next(folder for folder in Path.cwd().parents if folder.name == "execroot")
    return execroot.parent / "external"


def shared() -> dict[str, Path]:
    """Repositories in external() that are complete: rulesets, and packages that are inputs of this test.

    With others, what the test finds would depend on what has been fetched, and its result would be kept wrongly. Bazel
    writes a repository's marker last. A link leads to a folder that Bazel has not fetched itself.
    """
    inputs = {folder.name for folder in Path.cwd().parent.iterdir()}
    return {
        folder.name: folder
        for folder in sorted(external().iterdir())
        if _is_shared(folder.name, inputs)
        and (folder.is_symlink() or (external() / f"@{folder.name}.marker").exists())
    }


def _is_shared(name: str, inputs: set[str]) -> bool:
    if _PACKAGES.fullmatch(name):
        return name in inputs
    return _RULESETS.fullmatch(name) is not None and name not in _NOT_SHARED


def environment() -> dict[str, str]:
    """Not what Bazel sets for a test: the inner Bazel would take itself for a part of it."""
    return {
        name: value
        for name, value in os.environ.items()
        if not re.match("TEST_|RUNFILES_|BUILD_|XML_|GTEST_|PYTHON", name)
    }


def configure(workspace: Path, root: Path, *options: str) -> None:
    """Gives the inner Bazel options, in the file that the workspace's .bazelrc reads.

    root: folder for everything that Bazel writes.
    """
    # A server ends by itself if a test was killed before it ended it.
    startup = [
        f"--output_user_root={root}",
        "--max_idle_secs=600",
        "--host_jvm_args=-Xmx1g",
        "--host_jvm_args=-XX:+UseSerialGC",
    ]
    # It does all actions itself.
    every = ["--noshow_progress", "--color=no", "--curses=no", "--disk_cache=", *options]
    lines = [f"startup {option}" for option in startup] + [f"build {o}" for o in every]
    (workspace / "user.bazelrc").write_text("\n".join(lines) + "\n")


def remove(folder: Path) -> None:
    """Removes a folder in which Bazel has made folders read-only; links are removed, not followed."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            below = Path(path, name)
            if not below.is_symlink():
                below.chmod(below.stat().st_mode | stat.S_IRWXU)
    shutil.rmtree(folder)
