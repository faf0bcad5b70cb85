"""A model on its target, from Python: Session has the shape of onnxruntime's InferenceSession.

Firmware in an emulator, or on a board, waits for inputs on its console. The program `X.validate` of the build talks to
it; with `--serve` it does so for this module, through its standard input and output. A request is a line of JSON with
the sizes of the arrays that follow it as bytes, and so is an answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bmc.dtype import DType
from ironcast.errors import IroncastError

# Where a model runs -> the target of the build that runs it there.
_PARTS = {"host": ".host.validate", "qemu": ".validate", "spike": ".spike.validate"}
_SERIAL = "serial:"
# onnxruntime's names of element types that differ from NumPy's.
_ONNX_NAMES = {DType.BF16: "bfloat16", DType.F32: "float", DType.F64: "double"}


@dataclass(frozen=True)
class Tensor:
    """An input or output of a model.

    Attributes:
      name: its name.
      shape: its extents.
      type: its element type as onnxruntime writes it, such as "tensor(float)".
      dtype: the same as NumPy has it; bfloat16, which NumPy lacks, is uint16.
    """

    name: str
    shape: list[int]
    type: str
    dtype: np.dtype[Any]


class Session:
    """A model on a target, which waits for inputs: `with ironcast.Session("//models:mlp_rv64") as session: ...`.

    Attributes:
      instructions, cycles: of the last run; 0 if the target cannot count them.
    """

    def __init__(
        self,
        source: str | Path,
        target: str = "qemu",
        *,
        board: str = "",
        baud: int = 115200,
        checkout: str | Path | None = None,
    ) -> None:
        """Builds the model's firmware if necessary, and starts it.

        Args:
          source: label of a bm_model_suite, such as "//models:mlp_rv64"; or the path of its program `X.validate`,
            built already, which decides whether that is QEMU, Spike or this machine.
          target: "qemu", "spike", "host" (this machine), or "serial:PORT" for a board whose service firmware runs
            (`X.service.flash`).
          board: label of the board behind the port, for `--board`.
          baud: of the port.
          checkout: folder of the source tree whose `tools/bazel` builds labels. Default: the one around the current
            folder.

        Raises:
          IroncastError: the model cannot be built or started.
        """
        port = target.removeprefix(_SERIAL) if target.startswith(_SERIAL) else ""
        part = _PARTS.get("qemu" if port else target)
        if part is None:
            raise IroncastError(
                f"target is {target!r}: give {', '.join(map(repr, _PARTS))} or 'serial:PORT'"
            )
        self.instructions = self.cycles = 0
        self._work = tempfile.TemporaryDirectory()
        if str(source).startswith(("//", "@")):
            program = Path(self._work.name) / "run"
            _build(_checkout(checkout), f"{source}{part}", board, program)
        else:
            program = _program(Path(source))
        words = ["--serve", *(["--port", port, "--baud", str(baud)] if port else [])]
        self._closed = False
        self._errors = Path(self._work.name) / "errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [str(program), *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                # A notebook's "interrupt" reaches what talks to the firmware once, from _interrupt().
                start_new_session=True,
            )
        try:
            model, _ = self._answer()
        except KeyboardInterrupt:
            self._interrupt()
            raise
        self._entries: dict[str, tuple[list[Tensor], list[Tensor]]] = {
            entry["name"]: (_tensors(entry["inputs"]), _tensors(entry["outputs"]))
            for entry in model["entries"]
        }
        self._first = next(iter(self._entries))

    def get_inputs(self, entry: str = "") -> list[Tensor]:
        """Returns the inputs of an entry point, by default of the first one."""
        return self._entry(entry)[0]

    def get_outputs(self, entry: str = "") -> list[Tensor]:
        """Returns the outputs of an entry point, by default of the first one."""
        return self._entry(entry)[1]

    def get_entries(self) -> list[str]:
        """Returns the names of the entry points."""
        return list(self._entries)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, npt.ArrayLike],
        *,
        entry: str = "",
    ) -> list[npt.NDArray[Any]]:
        """Computes outputs on the target. A model with state keeps it until reset().

        Args:
          output_names: the outputs to return, in this order; None for all.
          input_feed: an array for each input, of its shape and element type.
          entry: the entry point to call, by default the first one.

        Raises:
          IroncastError: the inputs do not fit, or the target stopped.
        """
        inputs, outputs = self._entry(entry)
        names = [tensor.name for tensor in outputs]
        chosen = names if output_names is None else list(output_names)
        for name in chosen:
            if name not in names:
                raise IroncastError(f"the model has no output {name}: it has {', '.join(names)}")
        data = _checked(input_feed, inputs)
        answer, arrays = self._ask({"entry": entry or self._first}, data)
        self.instructions, self.cycles = answer["instret"], answer["cycles"]
        found = {
            tensor.name: np.frombuffer(array, tensor.dtype).reshape(tensor.shape).copy()
            for tensor, array in zip(outputs, arrays, strict=True)
        }
        return [found[name] for name in chosen]

    def reset(self) -> None:
        """Gives the model its initial state; raises IroncastError."""
        self._ask({"entry": None}, [])

    def close(self) -> None:
        """Ends the firmware, or closes the port. The session cannot be used any more."""
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            try:
                stream.close()
            except BrokenPipeError:
                continue
        self._process.wait()
        self._work.cleanup()
        self._closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _entry(self, name: str) -> tuple[list[Tensor], list[Tensor]]:
        found = self._entries.get(name or self._first)
        if found is None:
            known = ", ".join(self._entries)
            raise IroncastError(f"the model has no entry point {name}: it has {known}")
        return found

    def _ask(
        self, request: dict[str, Any], data: Sequence[bytes]
    ) -> tuple[dict[str, Any], list[bytes]]:
        if self._closed:
            raise IroncastError("the session is closed: open another one")
        assert self._process.stdin is not None
        line = json.dumps({**request, "bytes": [len(part) for part in data]}) + "\n"
        try:
            self._process.stdin.write(line.encode() + b"".join(data))
            self._process.stdin.flush()
            return self._answer()
        except BrokenPipeError:
            return self._answer()
        except KeyboardInterrupt:
            # The answer will come when nobody waits for it.
            self._interrupt()
            raise

    def _interrupt(self) -> None:
        """Ends the firmware in the middle of a run, and closes the session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        self.close()

    def _answer(self) -> tuple[dict[str, Any], list[bytes]]:
        """Reads an answer; closes the session if there is none."""
        stream: IO[bytes] | None = self._process.stdout
        assert stream is not None
        line = stream.readline()
        if not line:
            self._process.wait()
            said = self._errors.read_text(errors="replace").strip().splitlines()
            self.close()
            reason = said[-1].removeprefix("validate: ") if said else "it said nothing"
            raise IroncastError(f"the program that talks to the target ended: {reason}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise IroncastError(answer["error"])
        return answer, [stream.read(size) for size in answer["bytes"]]


def _tensors(described: Sequence[dict[str, Any]]) -> list[Tensor]:
    found = []
    for tensor in described:
        kind = DType[tensor["dtype"]]
        name = _ONNX_NAMES.get(kind, kind.stored.name)
        found.append(Tensor(tensor["name"], tensor["shape"], f"tensor({name})", kind.stored))
    return found


def _checked(feed: Mapping[str, npt.ArrayLike], inputs: Sequence[Tensor]) -> list[bytes]:
    """Returns the bytes of each input."""
    wanted = [tensor.name for tensor in inputs]
    if set(feed) != set(wanted):
        raise IroncastError(
            f"inputs are given for {', '.join(feed) or 'nothing'}, and the model takes"
            f" {', '.join(wanted) or 'none'}"
        )
    data = []
    for tensor in inputs:
        array = np.asarray(feed[tensor.name])
        if array.dtype != tensor.dtype or list(array.shape) != tensor.shape:
            raise IroncastError(
                f"{tensor.name} is {_described(array.shape, array.dtype)}, and the model takes"
                f" {_described(tensor.shape, tensor.dtype)}: use astype and reshape"
            )
        data.append(array.tobytes())
    return data


def _described(shape: Sequence[int], dtype: np.dtype[Any]) -> str:
    return f"{dtype.name} [{', '.join(map(str, shape))}]"


def _checkout(given: str | Path | None) -> Path:
    """Returns the source tree with `tools/bazel`: the given folder, or one around the current folder."""
    here = Path.cwd()
    for folder in [Path(given)] if given is not None else [here, *here.parents]:
        if (folder / "tools/bazel").is_file():
            return folder
    where = f"{given} has none" if given is not None else f"there is none around {here}"
    raise IroncastError(
        f"a label is built by a source tree's tools/bazel, and {where}: give the tree as checkout="
    )


def _build(checkout: Path, label: str, board: str, program: Path) -> None:
    """Builds a target and writes `program`, which runs it; shows what Bazel says."""
    options = [f"--script_path={program}", *([f"--board={board}"] if board else [])]
    with subprocess.Popen(
        [str(checkout.absolute() / "tools/bazel"), "run", *options, label],
        cwd=checkout,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        assert process.stderr is not None
        failed = ""
        for line in process.stderr:
            # A notebook shows only what is written to Python's own stream.
            sys.stderr.write(line)
            if line.startswith("ERROR: ") and not failed:
                failed = line.removeprefix("ERROR: ").strip()
    if process.returncode:
        raise IroncastError(f"{label} was not built: {failed or 'what Bazel said is above'}")


def _program(path: Path) -> Path:
    """Returns a program `X.validate` that is built already."""
    if path.is_file() and os.access(path, os.X_OK):
        return path.absolute()
    if path.is_dir():
        raise IroncastError(
            f"{path} is a folder, and a session needs an image with a board: name the model in a bm_model_suite and"
            " give its label"
        )
    raise IroncastError(
        f"{path} is no program: give a label such as //models:mlp_rv64, or the path of a built X.validate"
    )
