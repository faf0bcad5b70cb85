"""The only file that starts iree-compile and iree-opt.

Commands run in the work folder with fixed file names, because IREE derives module names and the kernels'
symbol names from file names.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bmc import guard, supervisor
from bmc.errors import BmcError, InternalError
from bmc.iree import diagnostics, version

_LOG = logging.getLogger(__name__)
_DEADLINE_SECONDS = 1800

_SHOW_FAILED = "--mlir-print-ir-after-failure"
# Not for IREE's own phases: it does not compile to the end what they write with these.
_SHOW_REJECTED = (
    "--mlir-print-debuginfo",
    "--mlir-elide-elementsattrs-if-larger=8",
    "--mlir-elide-resource-strings-if-larger=8",
)


@dataclass(frozen=True)
class IreeTool:
    """Runs the tools of the iree-base-compiler package.

    Attributes:
      work: folder in which commands run; file names are relative to it.
      reproducer: folder that receives the input, command line and messages of a failed command.
    """

    work: Path
    reproducer: Path

    def compile(self, source: str, output: str, *flags: str) -> None:
        """Runs iree-compile.

        Args:
          source: input file in the work folder.
          output: file to write there.
          flags: further flags.

        Raises:
          BmcError: the tool rejected the model (the error names the op and the model line), crashed, or
            ran past its deadline.
        """
        self._run("iree-compile", source, output, flags)

    def opt(self, source: str, output: str, *flags: str) -> None:
        """Runs iree-opt. Arguments and errors are those of compile()."""
        self._run("iree-opt", source, output, flags)

    def run_passes(self, source: str, output: str, passes: str) -> None:
        """Runs passes in iree-opt. Errors are those of compile(), and name a pass that gives no reason."""
        self.opt(source, output, f"--pass-pipeline={passes}", "--emit-bytecode", _SHOW_FAILED)

    def lower_torch(self, source: str, output: str, pipeline: str) -> None:
        """Runs a pipeline of torch-mlir passes in iree-opt. Errors are those of compile()."""
        self.opt(source, output, pipeline, "--emit-bytecode", _SHOW_FAILED, *_SHOW_REJECTED)

    def _run(self, tool: str, source: str, output: str, flags: tuple[str, ...]) -> None:
        argv = [str(find(tool)), source, "-o", output, *flags]
        _LOG.info("%s %s", tool, shlex.join(argv[1:]))
        supervisor.tell(step=tool)
        parent = os.getpid()
        try:
            done = subprocess.run(
                argv,
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_DEADLINE_SECONDS,
                check=False,
                preexec_fn=lambda: guard.end_with(parent),
            )
        except subprocess.TimeoutExpired:
            self._save(tool, argv, source, "deadline exceeded")
            raise BmcError(
                "iree-timeout",
                f"{tool} did not finish within {_DEADLINE_SECONDS} s",
                hint=f"reproducer: {self.reproducer}",
            ) from None
        supervisor.tell(step="")
        messages = diagnostics.without_sources(done.stderr)
        for line in messages.splitlines():
            _LOG.debug("%s: %s", tool, line)
        if done.returncode != 0:
            self._save(tool, argv, source, messages)
            given = (self.work / source).read_bytes()
            raise diagnostics.rejection(tool, messages, done.returncode, self.reproducer, given)

    def _save(self, tool: str, argv: list[str], source: str, messages: str) -> None:
        self.reproducer.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.work / source, self.reproducer / source)
        (self.reproducer / "command.sh").write_text(
            shlex.join([tool, *argv[1:]]) + "\n", encoding="utf-8"
        )
        (self.reproducer / "stderr.txt").write_text(messages, encoding="utf-8")


def find(tool: str) -> Path:
    """Returns the path of a program in the iree-base-compiler package.

    Raises:
      BmcError: the package is not installed.
      InternalError: the package lacks the program.
    """
    package = importlib.util.find_spec("iree.compiler._mlir_libs")
    if package is None or package.origin is None:
        raise BmcError(
            "iree-missing",
            "the iree-base-compiler package is not installed",
            hint=f"pip install iree-base-compiler=={version.PINNED}",
        )
    path = Path(package.origin).parent / tool
    if not path.is_file():
        raise InternalError(f"{path} is missing from the iree-base-compiler package")
    return path
