"""Ironcast for notebooks and scripts: check() and compile() take a module in memory, run() boots it in QEMU.

Session runs images of a source tree on their targets.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle

from bmc import export as _export
from bmc.errors import BmcError
from bmc.release import VERSION
from bmc.spec import ModelSpec
from ironcast.errors import IroncastError
from ironcast.session import Session

__all__ = ["Checked", "Compiled", "IroncastError", "Ran", "Session", "check", "compile", "run"]

__version__ = VERSION

# What bmc imports instead of the user's model.py.
_LOADER = """\
import pickle
from pathlib import Path


def module():
    return pickle.loads(Path(__file__).with_name("module.pickle").read_bytes())
"""


@dataclass(frozen=True)
class Compiled:
    """A compiled model.

    Attributes:
      folder: the files that `bmc compile` writes: plan, kernels, weights, golden data, report.json.
      report: report.json: sizes, entry points, kernels, hashes.
      summary: what `bmc compile` printed: notes on the import, and the most important sizes.
    """

    folder: Path
    report: dict[str, Any]
    summary: str

    def export(self, folder: Path | str, *, complete: bool = False) -> Path:
        """Writes the model and its runtime into a folder that CMake, make, Zephyr and Arduino build.

        Several models for one program: `bmc export`.

        Args:
          folder: a new or empty folder, or an earlier export.
          complete: with startup code, linker script and main, so that make builds an image that boots in QEMU.

        Returns:
          The folder; its README.md says how to use it.

        Raises:
          IroncastError: the folder holds something else, the model is not for RISC-V, or QEMU cannot run it.
        """
        try:
            _export.export([_export.read_model(self.folder, ())], Path(folder), complete=complete)
        except BmcError as error:
            raise IroncastError(f"bmc: {error}") from error
        return Path(folder)


@dataclass(frozen=True)
class Checked:
    """What `bmc check` says of a model.

    Attributes:
      ok: whether nothing blocks its import.
      text: what it needs and takes, for people to read.
    """

    ok: bool
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Ran:
    """How a model did in QEMU.

    Attributes:
      ok: whether it computed what its framework did.
      text: what `bmc run` says, for people to read.
    """

    ok: bool
    text: str

    def __str__(self) -> str:
        return self.text


def check(
    model: Any,
    example_inputs: Sequence[Any] | None = None,
    *,
    isa: str = "rv64gcv_zvl256b",
    options: Sequence[str] = (),
) -> Checked:
    """Says what blocks a model's import, what it takes, and how its BUILD file would look, as `bmc check` does.

    Args:
      model: path of a model file or SavedModel folder, `model.py:factory`, or a module as for compile().
      example_inputs: as for compile(), for a module.
      isa: instruction set of the estimates.
      options: more options of `bmc check`, such as ("--shape", "audio=1x512").

    Raises:
      IroncastError: the module cannot be copied, or bmc ends without a result.
    """
    with tempfile.TemporaryDirectory() as work:
        is_named = isinstance(model, (str, os.PathLike))
        source = _source(model, example_inputs, work)
        status, printed, errors = _run(("check", source, "--isa", isa, *options), work)
    if status not in (0, 1) or not printed.strip():
        raise _error(errors)
    # A module in memory has no file that BUILD lines could name.
    text = printed if is_named else printed.partition("; BUILD.bazel")[0]
    return Checked(status == 0, text.strip())


def compile(
    model: Any,
    example_inputs: Sequence[Any] | None = None,
    *,
    isa: str,
    name: str = "model",
    folder: Path | str | None = None,
    ram: int | None = None,
    options: Sequence[str] = (),
) -> Compiled:
    """Compiles a model for one instruction set and checks it against its framework.

    It does what `bmc compile` does, and in the same way: in another process, which computes the same on every machine.
    A module goes there as a copy, with its classes and functions if they are of a notebook or script.

    Args:
      model: path of a model file or SavedModel folder, `model.py:factory`, torch.nn.Module, keras.Model of Keras's own
        layers or function of JAX arrays, on the CPU; or a ModelSpec, which can also give tolerances, several cases and
        calls.
      example_inputs: one tensor or array per input of a module, which is exported for their shapes and checked on
        their values. None with a path or a ModelSpec.
      isa: instruction set, as for `bmc compile --isa`.
      name: C name of the model.
      folder: where to write the results; by default `NAME_ISA` in the current folder.
      ram: how many bytes of RAM the model may need, as for `bmc compile --ram`; None for any number.
      options: more options of `bmc compile`, such as ("--quantize", "int8").

    Raises:
      IroncastError: the module cannot be copied, or bmc refuses it.
    """
    out = Path(folder or f"{name}_{isa}").absolute()
    with tempfile.TemporaryDirectory() as work:
        source = _source(model, example_inputs, work)
        arguments = ("--isa", isa, "--name", name, "--out", str(out), *options)
        if ram is not None:
            arguments += ("--ram", str(ram))
        summary = _bmc(("compile", "--src", source, *arguments), work)
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return Compiled(out, report, summary)


def run(compiled: Compiled | Path | str) -> Ran:
    """Boots a compiled model in QEMU, where it computes its golden data's cases and compares, as `bmc run` does.

    Args:
      compiled: what compile() returned, or its folder.

    Raises:
      IroncastError: QEMU, make or a compiler for RISC-V is missing, or QEMU cannot run the model.
    """
    folder = compiled.folder if isinstance(compiled, Compiled) else Path(compiled)
    with tempfile.TemporaryDirectory() as work:
        status, printed, errors = _run(("run", str(folder.absolute())), work)
    if status not in (0, 1) or not printed.strip():
        raise _error(errors)
    return Ran(status == 0, printed.strip())


def _source(model: Any, example_inputs: Sequence[Any] | None, work: str) -> str:
    """The model as bmc takes it: its path, or a copy of the module in `work`."""
    if not isinstance(model, (str, os.PathLike)):
        return _write(_spec(model, example_inputs), Path(work))
    if example_inputs is not None:
        raise IroncastError("a model file has inputs of its own: leave out example_inputs")
    return os.fspath(model)


def _spec(module: Any, example_inputs: Sequence[Any] | None) -> ModelSpec:
    if isinstance(module, ModelSpec):
        if example_inputs is not None:
            raise IroncastError("a ModelSpec has cases of its own: leave out example_inputs")
        return module
    if not isinstance(example_inputs, (tuple, list)):
        found = type(example_inputs).__name__
        raise IroncastError(f"example_inputs is {found}, not a tuple: write (x,) for one input")
    return ModelSpec(module, (tuple(example_inputs),), ())


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Moves the code of notebooks and scripts into the model's folder, so that errors name its lines."""

    def __init__(self, file: Any, folder: Path) -> None:
        super().__init__(file)
        self._folder = folder

    def reducer_override(self, value: Any) -> Any:
        if not isinstance(value, types.CodeType):
            return super().reducer_override(value)
        moved = value.replace(co_filename=str(self._folder / Path(value.co_filename).name))
        return self.dispatch_table[types.CodeType](moved)


def _write(model: ModelSpec, folder: Path) -> str:
    """Writes the model as a source for bmc."""
    loader = folder / "ironcast_module.py"
    loader.write_text(_LOADER, encoding="utf-8")
    try:
        with (folder / "module.pickle").open("wb") as file:
            _Pickler(file, folder).dump(model)
    except Exception as error:  # An object that the module holds may raise anything.
        raise IroncastError(
            f"the module cannot be copied to another process: {type(error).__name__}: {error}"
        ) from error
    return f"{loader}:module"


def _bmc(arguments: Sequence[str], work: str) -> str:
    """Runs bmc and returns what it prints; raises IroncastError if it fails."""
    status, printed, errors = _run(arguments, work)
    if status:
        raise _error(errors)
    return printed.strip()


def _error(errors: str) -> IroncastError:
    usage = re.search(r"^bmc \w+: error:", errors, re.MULTILINE)
    start = max(errors.find("bmc: error["), usage.start() if usage else 0, 0)
    return IroncastError(errors[start:].strip())


def _run(arguments: Sequence[str], work: str) -> tuple[int, str, str]:
    """Runs bmc; returns its status and what it writes. What it leaves behind if it is interrupted is in `work`."""
    # Modules that lie in the user's folder are copied by name.
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-m", "bmc", *arguments],
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": work},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        process_group=0,
    )
    try:
        printed, errors = process.communicate()
    except BaseException:
        # The notebook's "interrupt": bmc has children of its own.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.returncode, printed, errors
