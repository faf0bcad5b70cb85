"""Damaged model files through `bmc import`: it reads each of them or ends with one sentence."""

from __future__ import annotations

import importlib
import io
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from unittest import mock

import damage

# A good file is imported in 20 seconds. The first limit is the system's own count; the second ends a
# process that waits for something that never comes.
_CPU_SECONDS = 60
_WALL_SECONDS = 600
# What a process may allocate, so that no file takes the machine's memory.
_DATA_BYTES = 6 << 30
# Exit status of a child that has read the file and would start iree-compile: that takes seconds.
_READ = 99
_USER_ERROR = 1

# What each kind of file is read with: one process never imports both torch and TensorFlow.
_MODULES = {
    ".gguf": (
        "bmc.frontends.gguf",
        "bmc.frontends.gguf_decoder",
        "bmc.frontends.gguf_file",
        "bmc.frontends.gguf_reference",
        "torch_mlir.fx",
    ),
    ".keras": ("bmc.frontends.keras", "keras", "tensorflow"),
    ".mlir": ("bmc.frontends.mlir",),
    ".onnx": ("bmc.frontends.onnx", "onnx.reference", "onnxruntime"),
    ".pt2": (
        "bmc.frontends.torch_program",
        "torch._dynamo.aot_compile",
        "torch._export.serde.serialize",
        "torch_mlir.fx",
    ),
    ".tflite": (
        "bmc.frontends.tflite",
        "ai_edge_litert.interpreter",
        "tosa_converter_for_tflite",
    ),
    "": ("bmc.frontends.keras", "keras", "tensorflow"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """`word` is counted; `fault` says what is wrong, "" if nothing is."""

    word: str
    fault: str


def damaged(good: Path, folder: Path, dice: random.Random) -> Path:
    """Writes a damaged copy of a model, a file or a folder, and returns where it is."""
    copy = folder / good.name
    files = sorted(path for path in good.rglob("*") if path.is_file()) or [good]
    for path in files:
        target = copy / path.relative_to(good)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    # Small files get as many faults as large ones.
    file = copy / dice.choice(files).relative_to(good)
    original = file.read_bytes()
    if dice.randrange(20) == 0:
        file.write_bytes(_another_kind(original, dice))
    elif original.startswith(b"PK") and dice.randrange(4) != 0:
        file.write_bytes(_damaged_member(original, dice))
    else:
        file.write_bytes(damage.apply(original, damage.choose(original, dice)))
    return copy


def _another_kind(original: bytes, dice: random.Random) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr("model.json", "[]")
    return dice.choice(
        (
            b"",
            b"\0" * len(original),
            b"func.func @main() { return }\n",
            b'{"class_name": 1, "config": null}',
            archive.getvalue(),
            dice.randbytes(200),
            b"\x08" * 1000,
        )
    )


def _damaged_member(original: bytes, dice: random.Random) -> bytes:
    """Damages one file of an archive, whose checksums then agree with it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(original)) as good, zipfile.ZipFile(archive, "w") as made:
        names = good.namelist()
        chosen = dice.choice(names)
        for name in names:
            data = good.read(name)
            if name == chosen:
                data = damage.apply(data, damage.choose(data, dice))
            made.writestr(name, data)
    return archive.getvalue()


def load(kind: str) -> None:
    """Imports what reads this kind of file, once for all the children to come."""
    for module in ("bmc.cli", "numpy.random", *_MODULES[kind]):
        importlib.import_module(module)


def read(model: Path) -> Outcome:
    """What `bmc import` says of a model, in a child process that ends where iree-compile would start."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            _import(model, said.fileno())
        status = _wait(child)
        said.seek(0)
        return judge(status, said.read().decode(errors="replace"))


def command(argv: list[str], model: Path) -> Outcome:
    """What the whole command says: bmc and its sandbox, in a process of its own."""
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*argv, "import", str(model), "--out", out],
            stdout=said,
            stderr=said,
            start_new_session=True,
            preexec_fn=_limit,
        )
        status = _wait(process.pid)
        said.seek(0)
        return judge(status, said.read().decode(errors="replace"))


def _import(model: Path, said: int) -> NoReturn:
    from bmc import cli, command, guard
    from bmc.errors import BmcError
    from bmc.iree.tool import IreeTool

    status = 70
    try:
        os.setsid()
        _limit()
        os.dup2(said, 1)
        os.dup2(said, 2)
        with (
            tempfile.TemporaryDirectory() as out,
            mock.patch.object(IreeTool, "compile", _end),
            mock.patch.object(IreeTool, "lower_torch", _end),
        ):
            try:
                status = guard.run(
                    lambda: cli.main(["import", str(model), "--out", out]), outputs=[Path(out)]
                )
            except BmcError as crash:
                status = command.fail(crash)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _end(*_arguments: object) -> NoReturn:
    os._exit(_READ)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_BYTES, _DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _wait(child: int) -> int | None:
    """Returns the exit status of a leader of a session; None if it had to be ended."""
    process = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(process, select.POLLIN)
        in_time = bool(poll.poll(_WALL_SECONDS * 1000))
        if not in_time:
            os.killpg(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return status if in_time else None
    finally:
        os.close(process)


def judge(status: int | None, said: str) -> Outcome:
    """Decides by the exit status, None if it had to be ended, and what was printed."""
    if status is None or "SIGXCPU" in said or status == -signal.SIGXCPU:
        return Outcome("hang", f"it did not end\n{said}")
    if "Traceback (most recent call last)" in said:
        return Outcome("traceback", said)
    if status in (0, _READ):
        return Outcome("read", "")
    lines = [line for line in said.splitlines() if re.match("bmc: (?!still busy)", line)]
    if status != _USER_ERROR or len(lines) != 1:
        return Outcome("no sentence", f"exit status {status}, {len(lines)} sentences\n{said}")
    return Outcome("crash with a sentence" if " crashed with SIG" in said else "sentence", "")


def attempts(
    good: Path, dice: random.Random, count: int, attempt: Callable[[Path], Outcome]
) -> Iterator[tuple[Outcome, bytes]]:
    """Yields what became of each damaged copy of `good`, and the copy as an archive if it is a find."""
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            copy = damaged(good, Path(folder), dice)
            outcome = attempt(copy)
            yield outcome, _packed(copy) if outcome.fault else b""


def _packed(model: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        for file in sorted(model.rglob("*")) if model.is_dir() else [model]:
            if file.is_file():
                made.write(file, file.relative_to(model.parent))
    return archive.getvalue()
