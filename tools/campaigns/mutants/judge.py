"""What becomes of a mutant: the fast tests beside its file judge it, and if they pass, the package's tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from campaign import Result

from tools.campaigns.faults.trials import Copy
from tools.campaigns.mutants import equivalent
from tools.campaigns.mutants.c_tests import Builder, Program
from tools.campaigns.mutants.mutant import Mutant
from tools.campaigns.mutants.python_tests import Tests

# Bazel's exit statuses.
_PASSED = 0
_UNTESTED = "no test beside the file"
# A test that does not end is ended by Bazel.
_TIMEOUT = "--test_timeout=300,600,900,1800"


@dataclass
class Judge:
    """Judges mutants in a copy of the checkout.

    Attributes:
      copy: the checkout, as it was committed between any two calls.
      tests: of Python files.
      builder: builds the runtime's unit tests.
      quick: whether the fast tests alone judge.
    """

    copy: Copy
    tests: Tests
    builder: Builder
    quick: bool
    equivalents: dict[tuple[str, str, str], str]
    _programs: list[Program] = field(default_factory=list)

    def __call__(self, trial: int, mutant: Mutant) -> Result:
        reason = equivalent.why(mutant, self.equivalents)
        if reason is not None:
            return Result(trial, "equivalent")
        fast = self._python if mutant.file.endswith(".py") else self._c
        outcome = fast(mutant)
        if outcome in ("survived", _UNTESTED) and not self.quick:
            outcome = self._with(mutant, lambda: self._bazel(mutant))
        if outcome == "survived":
            return Result(trial, outcome, f"trial {trial}: {outcome}\n\n{mutant.diff()}")
        return Result(trial, outcome)

    def _with(self, mutant: Mutant, act: Callable[[], str]) -> str:
        """Acts while the copy has the mutant."""
        path = self.copy.folder / mutant.file
        path.write_text(mutant.after, encoding="utf-8")
        try:
            return act()
        finally:
            path.write_text(mutant.before, encoding="utf-8")

    def _python(self, mutant: Mutant) -> str:
        noticed = self.tests.notice(mutant.file, mutant.before, mutant.after)
        if noticed is None:
            return _UNTESTED
        return "killed beside the file" if noticed else "survived"

    def _c(self, mutant: Mutant) -> str:
        self._programs = self._programs or self.builder.programs()
        programs = [program for program in self._programs if mutant.file in program.loads]
        with tempfile.TemporaryDirectory() as folder:
            return self._with(mutant, lambda: self._built(mutant, programs, Path(folder)))

    def _built(self, mutant: Mutant, programs: list[Program], folder: Path) -> str:
        outcome = "the same machine code" if programs else _UNTESTED
        for program in programs:
            changed = self.builder.rebuilt(program, mutant.file, folder)
            if changed is None:
                return "does not compile"
            if changed:
                outcome = "survived"
                if not self.builder.passes(program, changed):
                    return "killed beside the file"
            elif outcome != "survived" and self.builder.differs_on_boards(
                program, mutant.file, folder
            ):
                outcome = _UNTESTED
        return outcome

    def _bazel(self, mutant: Mutant) -> str:
        status, _ = self.copy.test([_TIMEOUT, *labels(mutant.file)])
        return "survived" if status == _PASSED else "killed by its package"


def labels(file: str) -> list[str]:
    """The tests that CONTRIBUTING.md names for a change to a file, without those of whole models."""
    if file.startswith("runtime_bm/"):
        return ["//boards/tests/...", "//runtime_bm/..."]
    folders = file.split("/")
    return [f"//{'/'.join(folders[: 3 if folders[0] == 'compiler' else 2])}/..."]
