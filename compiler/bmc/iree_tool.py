"""The only file that starts iree-compile and iree-opt.

Commands run inside the work folder on fixed file names: module names, and with them symbol names in
the kernels, derive from file names.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import re
import shlex
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from bmc.artifacts import Signature
from bmc.dtype import DType
from bmc.errors import BmcError, InternalError

_LOG = logging.getLogger(__name__)
_DEADLINE_SECONDS = 1800

# Frontends write locations outside the model's own folder as "<python>/..."; they are not the user's lines.
LIBRARY_PREFIX = "<python>/"

_DIAGNOSTIC = re.compile(
    r'^(?:loc\()?"?(?P<file>[^\s":][^"]*?)"?:(?P<line>\d+):\d+\)?: (?P<kind>\w+): (?P<text>.*)$'
)
_UNDEFINED = re.compile(r"iree-lld: error: undefined symbol: (\w+)")
_LINK_SCRIPT = "link.sh"
_LINK_MAP = "link.map"
# Of the C library that IREE links to kernels of 32 bits: it is compiled as if uint64_t had 32 bits, so
# what needs more is empty or returns anything.
_BROKEN = ("exp", "expf", "floor", "fmaf", "log", "powf", "round")
# Sections of the kernels' own object file that the linker kept; an archive's members end in ".o)".
_KEPT = re.compile(r"\.o:\(\.text\.(\w+)\)$", re.MULTILINE)
# Without a file: <unknown>:0: error: loc("node"): failed to ...
_NAMED = re.compile(r'^<unknown>:0: error: (?:loc\("(?P<name>[^"]*)"[^:]*\): )?(?P<text>.*)$')
_OP = re.compile(r"'([a-z_]+\.[\w.]+)'")
# What an op of another framework is called inside 'torch.operator'.
_FOREIGN_OP = re.compile(r'<\{name = "([\w.:]+)"')

# torch-mlir names what an op is given, a constant as a rule, when it is the op that has no form.
_TORCH_ARGUMENT = re.compile(r"torch\.(?:constant|prim|vtensor)\.")
_TORCH_OP = re.compile(
    r'= torch\.(?:operator "(?P<foreign>[\w.:]+)"|(?!constant|prim|vtensor)(?P<op>[\w.]+)).*'
    r'loc\([^"]*"(?P<name>[^"]+)"(?P<line>:\d+)?'
)
_SHOW_REJECTED = (
    "--mlir-print-ir-after-failure",
    "--mlir-print-debuginfo",
    "--mlir-elide-elementsattrs-if-larger=8",
    "--mlir-elide-resource-strings-if-larger=8",
)


@dataclass(frozen=True)
class IreeTool:
    """Runs the tools of the iree-base-compiler package.

    Attributes:
      work: folder in which commands run; all file names are relative to it.
      reproducer: folder that receives input, command line and messages of a failed command.
    """

    work: Path
    reproducer: Path

    def compile(self, source: str, output: str, *flags: str) -> None:
        """Runs iree-compile; raises BmcError naming op and model line when it rejects the model."""
        self._run("iree-compile", source, output, flags)

    def opt(self, source: str, output: str, *flags: str) -> None:
        """Runs iree-opt, see compile()."""
        self._run("iree-opt", source, output, flags)

    def lower_torch(self, source: str, output: str, pipeline: str) -> None:
        """Runs a pipeline of torch-mlir's passes, see compile()."""
        self.opt(source, output, pipeline, "--emit-bytecode", *_SHOW_REJECTED)

    def link_with(self, archives: tuple[Path, ...]) -> str:
        """Returns the flag that links archives to kernels: their own linker is given no library."""
        script = self.work / _LINK_SCRIPT
        linker = shlex.quote(str(_find("iree-lld")))
        more = shlex.join(
            [f"-Map={(self.work / _LINK_MAP).resolve()}", *(str(a.resolve()) for a in archives)]
        )
        script.write_text(f'#!/bin/sh\nexec {linker} "$@" {more}\n', encoding="utf-8")
        script.chmod(0o755)
        return f"--iree-llvmcpu-embedded-linker-path={script.resolve()}"

    def check_linked(self) -> None:
        """Checks kernels of 32 bits that were linked by link_with().

        Raises:
          BmcError: they call a function of which IREE has nothing that works.
        """
        path = self.work / _LINK_MAP
        if not path.is_file():
            return  # A model without kernels.
        kept = set(_KEPT.findall(path.read_text(encoding="utf-8")))
        broken = sorted(kept.intersection(_BROKEN))
        if broken:
            raise BmcError(
                "broken-function",
                f"the kernels call {', '.join(broken)}, which IREE's library for 32 bits does not"
                " compute right",
                hint="compute that part of the model in f32 and with other ops, or use an instruction"
                " set of 64 bits",
            )

    def _run(self, tool: str, source: str, output: str, flags: tuple[str, ...]) -> None:
        argv = [str(_find(tool)), source, "-o", output, *flags]
        _LOG.info("%s %s", tool, shlex.join(argv[1:]))
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
            )
        except subprocess.TimeoutExpired:
            self._save(tool, argv, source, "deadline exceeded")
            raise BmcError(
                "iree-timeout",
                f"{tool} did not finish within {_DEADLINE_SECONDS} s",
                hint=f"reproducer: {self.reproducer}",
            ) from None
        for line in done.stderr.splitlines():
            _LOG.debug("%s: %s", tool, line)
        if done.returncode != 0:
            self._save(tool, argv, source, done.stderr)
            raise rejection(tool, done.stderr, done.returncode, self.reproducer)

    def _save(self, tool: str, argv: list[str], source: str, messages: str) -> None:
        self.reproducer.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.work / source, self.reproducer / source)
        (self.reproducer / "command.sh").write_text(
            shlex.join([tool, *argv[1:]]) + "\n", encoding="utf-8"
        )
        (self.reproducer / "stderr.txt").write_text(messages, encoding="utf-8")


def f64_flags(signatures: tuple[Signature, ...]) -> tuple[str, ...]:
    """Flags for a model with these entry points.

    IREE computes f64 as f32. That suits f32 models, where PyTorch has f64 inside a layer norm only, but
    not a model that takes or gives f64.
    """
    tensors = [tensor for s in signatures for tensor in (*s.inputs, *s.outputs)]
    demote = all(tensor.dtype is not DType.F64 for tensor in tensors)
    return () if demote else ("--iree-input-demote-f64-to-f32=false",)


def rejection(tool: str, messages: str, returncode: int, reproducer: Path) -> BmcError:
    """Turns MLIR diagnostics into one sentence: which op, which line of the model."""
    undefined = sorted(set(_UNDEFINED.findall(messages)))
    library = [name for name in undefined if not name.startswith("__")]
    if library:
        return BmcError(
            "missing-function",
            f"the kernels call {', '.join(library)}, of which IREE has no code",
            hint="compute that part of the model with other ops",
        )
    if undefined:
        return BmcError(
            "missing-function",
            f"the kernels call {', '.join(undefined)}: this instruction set has no instruction for it",
            hint="use an instruction set with F; the command line takes archives that have it, e.g."
            " GCC's libgcc.a, with --libcalls",
        )
    error = ""
    where = ""
    for line in messages.splitlines():
        named = _NAMED.match(line)
        if named and not error:
            error, where = named["text"], named["name"] or ""
        match = _DIAGNOSTIC.match(line)
        if match is None:
            continue
        if match["kind"] == "error" and not error:
            error = match["text"]
        if error and not where and not match["file"].startswith(LIBRARY_PREFIX):
            where = f"{match['file']}:{match['line']}"
    hint = f"rewrite that part of the model with other ops; reproducer: {reproducer}"
    if not error and returncode < 0:
        return BmcError(
            "iree-crashed",
            f"{tool} crashed with {signal.Signals(-returncode).name}, without saying why",
            hint="unroll loops (Keras: unroll=True), or leave out parts of the model to find the op;"
            f" reproducer: {reproducer}",
        )
    if not error:
        first = next(
            (line for line in messages.splitlines() if "error" in line.lower()), "no message"
        )
        return BmcError(
            "iree-failed",
            f"{tool} failed with status {returncode}: {first.strip()}",
            hint=f"reproducer: {reproducer}",
        )
    op = _FOREIGN_OP.search(error) or _OP.search(error)
    name = op[1] if op else ""
    reader = _TORCH_OP.search(messages) if _TORCH_ARGUMENT.match(name) else None
    if reader:
        name = reader["foreign"] or reader["op"]
        where = reader["name"] + (reader["line"] or "")
    if where.startswith(LIBRARY_PREFIX):
        where = ""
    what = f"cannot compile op '{name.removeprefix('torch.')}'" if name else "rejects the model"
    if not name or not error.startswith("failed to legalize"):
        what += f": {_short(error)}"
    return BmcError("op-rejected", f"{tool} {what}", where=where, hint=hint)


def _short(error: str) -> str:
    """Drops the printed operation that MLIR appends after the reason."""
    return error.split(": %", 1)[0].split(': "', 1)[0][:200]


def version() -> str:
    """Version of the installed iree-base-compiler package."""
    return importlib.metadata.version("iree-base-compiler")


def _find(tool: str) -> Path:
    package = importlib.util.find_spec("iree.compiler._mlir_libs")
    if package is None or package.origin is None:
        raise BmcError(
            "iree-missing",
            "the iree-base-compiler package is not installed",
            hint="pip install iree-base-compiler==3.13.0",
        )
    path = Path(package.origin).parent / tool
    if not path.is_file():
        raise InternalError(f"{path} is missing from the iree-base-compiler package")
    return path
