"""Applies faults to a copy of a checkout, one at a time, and runs their tests there with Bazel."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from campaign import Result

from tools.campaigns.faults.table import Fault
from tools.cli import UserError

# Bazel's exit statuses.
_PASSED, _BUILD_FAILED, _TESTS_FAILED = 0, 1, 3
_FAILED = re.compile(r"^(//\S+)\s.*\b(?:FAILED|TIMEOUT)\b", re.MULTILINE)
# Compilers are told to use color.
_COLOR = re.compile(r"\x1b\[[\d;]*[mK]")
# What Bazel and its Python programs leave in the environment of this one.
_BAZELS = ("BUILD_", "PYTHON", "RUNFILES_")
# What the user keeps in the checkout for Bazel, though git ignores it: .bazelrc imports it.
_USERS = "user.bazelrc"


@dataclass(frozen=True)
class Copy:
    """A checkout of its own, with the Bazel that its `tools/bazel` starts."""

    folder: Path

    @staticmethod
    def make(checkout: Path, folder: Path) -> Copy:
        """Clones what is committed in `checkout`; raises UserError if it is no git repository."""
        command = ["git", "clone", "--quiet", str(checkout), str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UserError(f"{checkout} cannot be cloned: {done.stderr.strip()}")
        if (checkout / _USERS).is_file():
            shutil.copyfile(checkout / _USERS, folder / _USERS)
        return Copy(folder)

    def bazel(self, *arguments: str) -> tuple[int, str]:
        """Runs Bazel in the copy; returns its exit status and what it printed."""
        done = subprocess.run(
            [str(self.folder / "tools/bazel"), *arguments],
            cwd=self.folder,
            env={name: value for name, value in os.environ.items() if not name.startswith(_BAZELS)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        return done.returncode, _COLOR.sub("", done.stdout)

    def test(self, labels: Iterable[str]) -> tuple[int, str]:
        """Runs tests, all of them even if some do not build."""
        options = ("--keep_going", "--color=no", "--curses=no", "--noshow_progress")
        return self.bazel("test", *options, *labels)

    def remove(self) -> None:
        """Removes the copy and what Bazel has built for it."""
        self.bazel("clean", "--expunge")
        shutil.rmtree(self.folder)


def check_baseline(copy: Copy, faults: Iterable[Fault]) -> None:
    """Raises UserError unless all tests that the faults name pass without a fault."""
    status, said = copy.test(sorted({test for fault in faults for test in fault.tests}))
    if status != _PASSED:
        raise UserError(f"the tests must pass before anything is changed:\n{_tail(said)}")


def run(copy: Copy, faults: Iterable[tuple[int, Fault]]) -> Iterator[Result]:
    """Yields what became of each fault; the numbers are its trials'."""
    for trial, fault in faults:
        path = copy.folder / fault.file
        before = path.read_text(encoding="utf-8") if path.is_file() else ""
        try:
            path.write_text(fault.changed(before), encoding="utf-8")
        except (OSError, UserError) as error:
            yield Result(trial, "did not apply", str(error))
            continue
        try:
            status, said = copy.test(fault.tests)
        finally:
            path.write_text(before, encoding="utf-8")
        yield _judge(trial, fault, status, said)


def _judge(trial: int, fault: Fault, status: int, said: str) -> Result:
    if status == _PASSED:
        if fault.survives:
            return Result(trial, "survived as the table says")
        return Result(trial, "survived", _find(fault, "no test noticed it", said))
    if status not in (_BUILD_FAILED, _TESTS_FAILED):
        raise UserError(f"{fault.name}: Bazel ended with status {status}:\n{_tail(said)}")
    if _is_slip(fault, said):
        return Result(trial, "does not compile", _find(fault, "its text is no C", said))
    if fault.survives:
        why = f"the table says that it survives ({fault.survives})"
        return Result(trial, "killed against the table", _find(fault, why, said))
    failed = _FAILED.findall(said)
    return Result(trial, f"killed by {failed[0] if failed else 'the build'}")


def _is_slip(fault: Fault, said: str) -> bool:
    """Whether a compiler found fault with the changed file's text rather than with what it does."""
    at = rf"^{re.escape(fault.file)}:\d+:\d+: (?:fatal )?error: (?!static assertion)"
    return re.search(at, said, re.MULTILINE) is not None


def _find(fault: Fault, why: str, said: str) -> str:
    return (
        f"{fault.name}: {why}\nharm: {fault.harm}\nfile: {fault.file}\ntests: "
        f"{' '.join(fault.tests)}\n\n--- old\n{fault.old}\n+++ new\n{fault.new}\n\n{_tail(said)}\n"
    )


def _tail(said: str) -> str:
    return "\n".join(said.splitlines()[-40:])
