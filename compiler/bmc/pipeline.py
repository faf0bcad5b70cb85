"""`bmc compile`: imported model -> plan, kernels, weights, golden data and report in one folder."""

from __future__ import annotations

import logging
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmc import artifacts, iree_tool, kernels
from bmc.artifacts import ImportedModel
from bmc.emit import c_text, golden_c, kernels_asm, plan_c, report
from bmc.iree_tool import IreeTool
from bmc.kernels import Kernels
from bmc.stages import constants, hal, layout, schedule, weights
from bmc.target import Target

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class CompileOptions:
    """What `bmc compile` is asked to do.

    Attributes:
      name: C name of the model, prefix of every symbol.
      target: instruction set.
      out: folder for the results; it is created.
      tuning: tuning.json, or None for the defaults.
    """

    name: str
    target: Target
    out: Path
    tuning: Path | None = None


def compile_model(model: ImportedModel, options: CompileOptions) -> dict[str, Any]:
    """Compiles a model and writes all output files; returns the report.

    Raises:
      BmcError: the model or its compiled form cannot be brought to the target.
    """
    c_text.check_name(options.name)
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    flags = options.target.iree_flags()
    with tempfile.TemporaryDirectory() as work_name:
        work = Path(work_name)
        shutil.copyfile(model.mlir, work / "model.mlirbc")
        tool = IreeTool(work, out / "reproducer")
        tool.compile(
            "model.mlirbc", "optimized.mlirbc", *flags, *_phases("", "global-optimization")
        )
        constants.externalize(tool, "optimized.mlirbc", "parameters.mlirbc", "weights.irpa")
        types = layout.transpose_weights(work / "parameters.mlirbc", work / "layout.mlirbc")
        tool.compile(
            "layout.mlirbc", "flow.mlirbc", *flags, *_phases("global-optimization", "flow")
        )
        tool.compile(
            "flow.mlirbc", "kernels.mlirbc", *flags, *_phases("flow", "executable-configurations")
        )
        tool.compile(
            "kernels.mlirbc", "vm.mlirbc", *flags, *_phases("executable-configurations", "vm")
        )
        program = hal.run(work / "vm.mlirbc", model.inputs)
        packed = weights.pack(program, work / "weights.irpa", types, model.parameters)
    code: Kernels | None = (
        kernels.load(program.executable, options.target) if program.executable else None
    )
    plan = schedule.build(options.name, options.target, model, program, code, packed)
    files: dict[str, str | bytes] = {
        "plan.h": plan_c.header(plan),
        "plan.c": plan_c.source(plan),
        "weights.bin": packed.data,
        "weights.S": c_text.include_blob(
            f".bm.weights.{plan.name}", f"{plan.name}_weights", "weights.bin"
        ),
        "golden.bin": golden_c.data(plan, model.golden),
        "golden.c": golden_c.source(plan, model.golden),
        "golden.S": golden_c.assembly(plan),
        "kernels.S": kernels_asm.source(plan.name, code, options.target.is_riscv)
        if code
        else kernels_asm.EMPTY,
        "kernels.bin": code.image if code else b"",
        "kernels.elf": code.elf if code else b"",
    }
    hashes = {}
    for file, content in sorted(files.items()):
        data = content.encode("utf-8") if isinstance(content, str) else content
        (out / file).write_bytes(data)
        hashes[file] = artifacts.sha256(data)
    result = report.report(
        model=model,
        target=options.target,
        result=plan,
        kernels=code,
        weights=packed,
        golden_bytes=len(files["golden.bin"]),
        liveness_bound_bytes=0,
        flags=flags,
        versions={"iree-base-compiler": iree_tool.version()},
        outputs=hashes,
    )
    artifacts.write_json(out / "report.json", result)
    return result


def _phases(first: str, last: str) -> tuple[str, ...]:
    """Flags that run the compiler from one phase to another; "" starts at the beginning."""
    start = (f"--compile-from={first}",) if first else ()
    return (*start, f"--compile-to={last}", "--emit-mlir-bytecode")
