"""Helpers for tests: compiles a few lines of MLIR as `bmc compile` does, and runs bmc's command line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from iree.compiler import ir

from bmc import artifacts, cli, reference, spec, target, verify
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, Lowered, compile_model, lower
from bmc.dtype import Array
from bmc.elf import kernels
from bmc.errors import BmcError
from bmc.frontends import import_model, mlir
from bmc.frontends.options import ImportOptions
from bmc.ir import ir_util
from bmc.iree import phases
from bmc.iree.tool import IreeTool
from bmc.libraries.library import Library
from bmc.plan import build
from bmc.plan.tables import Plan
from bmc.rewrites.context import Context
from bmc.rewrites.model_context import ModelContext
from bmc.rewrites.model_pipeline import FOR_ALL
from bmc.rewrites.pipeline import FOR_TARGET, PIPELINE

ISA = "rv64gcv_zvl256b"
AGREES = "IREE's host runtime agrees with the framework"

ADD = """func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
  %0 = stablehlo.add %x, %x : tensor<16xf32>
  return %0 : tensor<16xf32>
}
"""


_WEIGHT = np.random.default_rng(2).standard_normal((32, 64)).astype(np.float32)
MATMUL = f"""func.func @main(%x: tensor<4x32xf32>) -> tensor<4x64xf32> {{
  %w = stablehlo.constant dense<"0x{_WEIGHT.tobytes().hex()}"> : tensor<32x64xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<4x32xf32>, tensor<32x64xf32>) -> tensor<4x64xf32>
  return %0 : tensor<4x64xf32>
}}
"""


# The beginning of a model.py whose models are functions of tensors.
TORCH_FUNCTIONS = """import numpy as np
import torch
from bmc import spec


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def _spec(function, *inputs):
    return spec.ModelSpec(Model(function), (inputs,), spec.Exact())


"""


def place(model: str, comment: str) -> str:
    """Returns "(at model.py:42)", what an error says of the one line of `model` that ends with the comment."""
    lines = model.splitlines()
    (number,) = (i for i, text in enumerate(lines, 1) if text.endswith(f"# {comment}"))
    return f"(at model.py:{number})"


def python(
    *arguments: object,
    cwd: Path | None = None,
    path: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Runs Python in another process.

    Its environment is PATH, PYTHONPATH (`path`, or that of this process) and `env`, nothing else.
    """
    plain = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(path or sys.path)}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**plain, **(env or {})},
        capture_output=True,
        text=True,
    )


def without_waiting(messages: str) -> str:
    """Returns what a program said without what it says on a slow machine."""
    return re.sub(r"bmc: still busy.*\n", "", messages)


class FolderTest(unittest.TestCase):
    """A test with a temporary folder."""

    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def on_host(self, text: str, *inputs: Array) -> spec.Case:
        """Returns what IREE's host runtime computes of MLIR text, after the rewrites that it needs too."""
        path = self.write("model.mlir", text)
        signatures = artifacts.main_signature(*mlir.signature(path, path.name))
        return reference.HostModel.compile(path, signatures, self.folder / "reproducer").run(inputs)

    def compiled_apart(
        self,
        text: str,
        phase: phases.Phase,
        flags: tuple[str, ...],
        rewrite: Callable[[Any], None] | None,
    ) -> bytes:
        """Returns what iree-compile alone makes of MLIR text, with a rewrite, if there is one, after a phase."""
        tool = IreeTool(self.folder, self.folder / "reproducer")
        self.write("source.mlir", text)
        tool.compile("source.mlir", "phase.mlirbc", *flags, *phases.ending(phase))
        with ir.Context(), ir.Location.unknown():
            module = ir_util.read(self.folder / "phase.mlirbc")
            if rewrite:
                rewrite(module)
            ir_util.write(module, self.folder / "phase.mlirbc")
        tool.compile("phase.mlirbc", "model.vmfb", *flags, *phases.resuming(phase))
        return (self.folder / "model.vmfb").read_bytes()

    def refuses(self, kind: str, *parts: str, call: Any) -> BmcError:
        """Asserts that call() raises a BmcError of this kind whose text contains all the parts."""
        with self.assertRaises(BmcError) as caught:
            call()
        error = caught.exception
        self.assertEqual(error.kind, kind, str(error))
        for part in parts:
            self.assertIn(part, str(error))
        self.assertNotIn("\n", error.message)
        return error


class FactoryTest(FolderTest):
    """Tests the import of what functions in the text MODEL return."""

    MODEL = ""

    def load(self, factory: str) -> ImportedModel:
        path = self.write("model.py", self.MODEL)
        return import_model(f"{path}:{factory}", ImportOptions(), self.folder / "out")


class OptimizedTest(FolderTest):
    """Tests a rewrite of phase global-optimization by what a model computes on the host."""

    # As for a target, constant expressions are evaluated.
    _FLAGS = tuple(flag for flag in reference.HOST_FLAGS if "const-eval" not in flag)

    def rewritten(self, text: str, rewrite: Callable[[Any, Context], None]) -> str:
        """Compiles to that phase and applies the rewrite; returns the text, and keeps it."""
        tool = IreeTool(self.folder, self.folder / "reproducer")
        self.write("source.mlir", text)
        flags = (*self._FLAGS, "--compile-to=global-optimization")
        tool.compile("source.mlir", "optimized.mlir", *flags)
        optimized = (self.folder / "optimized.mlir").read_text(encoding="utf-8")
        text = rewritten(optimized, rewrite)
        self.write("rewritten.mlir", text)
        return text

    def run_rewritten(self, *inputs: Array) -> Array:
        """Returns what the rewritten model computes, which is one tensor."""
        (result,) = self.results_rewritten(*inputs)
        return result

    def results_rewritten(self, *inputs: Array) -> tuple[Array, ...]:
        """Returns all that the rewritten model computes."""
        from iree import runtime

        tool = IreeTool(self.folder, self.folder / "reproducer")
        flags = (*self._FLAGS, "--compile-from=global-optimization")
        tool.compile("rewritten.mlir", "model.vmfb", *flags)
        data = (self.folder / "model.vmfb").read_bytes()
        module = runtime.load_vm_flatbuffer(data, driver="local-sync")
        found = module["main"](*inputs)
        results = found if isinstance(found, (list, tuple)) else (found,)
        return tuple(np.array(np.asarray(result)) for result in results)


class ModelFileTest(FolderTest):
    """Tests a frontend for files. The file is `model<SUFFIX>` in the test's folder."""

    SUFFIX = ""

    def setUp(self) -> None:
        super().setUp()
        original = reference.HostModel.build
        self.built: dict[bytes, tuple[bytes, Any]] = {}

        def recorded(mlir: Path, *arguments: Any) -> tuple[bytes, Any]:
            made = self.built[mlir.read_bytes()] = original(mlir, *arguments)
            return made

        self.enterContext(mock.patch.object(reference.HostModel, "build", recorded))

    def load(self, data: Any, cases: str = "", **options: Any) -> ImportedModel:
        """Imports a file, given as bytes or as a protobuf.

        `cases` is the body of a function that returns Cases, "" for none.
        """
        path = self.folder / f"model{self.SUFFIX}"
        path.write_bytes(data if isinstance(data, bytes) else data.SerializeToString())
        if cases:
            source = f"import numpy as np\nfrom bmc.spec import *\ndef cases():\n    {cases}\n"
            options["cases"] = f"{self.write('cases.py', source)}:cases"
        return import_model(str(path), ImportOptions(**options), self.folder / "out")

    def rejects(self, kind: str, *parts: str, data: Any, cases: str = "", **options: str) -> None:
        self.refuses(kind, *parts, call=lambda: self.load(data, cases, **options))

    def rejects_beginnings(self, data: bytes, *parts: str, count: int = 23) -> None:
        """Asserts that the file is refused when it is cut off at any of at least `count` lengths."""
        for length in range(1, len(data), len(data) // count):
            self.rejects("bad-file", *parts, data=data[:length])

    def describes(self, model: ImportedModel, *tensors: str) -> None:
        self.assertEqual([i.describe() for i in (*model.inputs, *model.outputs)], list(tensors))

    def agrees(self, model: ImportedModel) -> None:
        """Asserts that IREE's host runtime agrees with the framework, and that wrong outputs would not pass."""
        self.assertIn(AGREES, model.second_reference)
        golden = model.golden
        wrong = tuple(
            tuple(~a if a.dtype == bool else a + a.dtype.type(1) for a in case)
            for case in golden.outputs
        )
        other = replace(model, golden=replace(golden, outputs=wrong))
        # The import has compiled the same MLIR.
        again = mock.patch.object(
            reference.HostModel, "build", lambda mlir, *_: self.built[mlir.read_bytes()]
        )
        with again:
            self.refuses(
                "import-disagrees",
                call=lambda: verify.require(other, verify.run(other, self.folder)),
            )


@dataclass(frozen=True)
class CommandLine:
    status: int
    out: str
    err: str


def bmc(*arguments: object) -> CommandLine:
    """Runs the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = cli.main([str(argument) for argument in arguments])
        except SystemExit as usage:
            status = int(usage.code or 0)
    return CommandLine(status, out.getvalue(), err.getvalue())


def import_text(text: str, folder: Path) -> ImportedModel:
    """Imports MLIR text with one case of zeros. The expected outputs are zeros too."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "source.mlir").write_text(text, encoding="utf-8")
    path = folder / artifacts.MODEL_FILE
    IreeTool(folder, folder / "reproducer").opt("source.mlir", path.name, "--emit-bytecode")
    inputs, outputs = mlir.signature(path, "source.mlir")
    zeros = [tuple(np.zeros(i.shape, i.dtype.numpy) for i in infos) for infos in (inputs, outputs)]
    golden = artifacts.Golden(
        inputs=(zeros[0],),
        outputs=(zeros[1],),
        policies=(spec.Exact(),) * len(outputs),
        labels=None,
        framework_correct=0,
        source=artifacts.GOLDEN_IREE_HOST,
    )
    return ImportedModel(
        path, "source.mlir", "mlir", {}, artifacts.main_signature(inputs, outputs), golden, ()
    )


def compile_text(
    text: str, folder: Path, isa: str = ISA, tuning: Path | None = None
) -> dict[str, Any]:
    """Compiles MLIR text into folder/out; returns the report."""
    model = import_text(text, folder)
    options = CompileOptions("m", target.find(isa), folder / "out", tuning)
    return compile_model(model, options)


def rewritten(
    text: str,
    *rewrites: Callable[[Any, Any], None],
    context: Context | ModelContext | None = None,
) -> str:
    """Applies rewrites to a module given as text. Only IREE's parser and verifier run."""
    context = context or Context(target.find(ISA))
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        for rewrite in rewrites:
            rewrite(module, context)
            module.operation.verify()
        return str(module)


@contextlib.contextmanager
def without(*rewrites: str) -> Iterator[None]:
    """A context in which the pipeline lacks rewrites: the negative control of their tests."""
    assert set(rewrites) <= {rewrite.name for rewrite in PIPELINE}, rewrites
    with contextlib.ExitStack() as patches:
        for name, part in (
            ("bmc.optimize.FOR_ALL", FOR_ALL),
            ("bmc.compile.FOR_TARGET", FOR_TARGET),
        ):
            rest = tuple(rewrite for rewrite in part if rewrite.name not in rewrites)
            patches.enter_context(mock.patch(name, rest))
        yield


@dataclass(frozen=True)
class Compiled:
    lowered: Lowered
    plan: Plan

    @property
    def kinds(self) -> list[str]:
        return [command.kind.name for command in self.plan.commands]


def lower_text(
    text: str,
    folder: Path,
    isa: str = ISA,
    libraries: tuple[Library, ...] = (),
    tuning: Path | None = None,
) -> Compiled:
    """Compiles MLIR text up to the plan, without writing output files."""
    model = import_text(text, folder)
    options = CompileOptions("m", target.find(isa), folder / "out", tuning, libraries=libraries)
    with tempfile.TemporaryDirectory() as work:
        lowered = lower(model, options, Path(work))
    elf = lowered.program.executable
    code = kernels.load(elf, options.target) if elf else None
    plan = build.plan(
        "m",
        options.target,
        model,
        lowered.program,
        code,
        lowered.weights,
        lowered.operands,
        lowered.calls,
    )
    return Compiled(lowered, plan)
