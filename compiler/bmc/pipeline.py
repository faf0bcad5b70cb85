"""`bmc compile`: imported model -> plan, kernels, weights, golden data and report in one folder."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bmc import artifacts, iree_tool, kernels
from bmc.artifacts import ImportedModel
from bmc.emit import c_text, golden_c, kernels_asm, plan_c, report
from bmc.errors import BmcError
from bmc.host_program import HostProgram
from bmc.iree_tool import IreeTool
from bmc.kernels import Kernels
from bmc.plan import Plan
from bmc.stages import (
    audit,
    biases,
    channels_last,
    columns,
    configs,
    constants,
    gathers,
    hal,
    layout,
    liveness,
    macs,
    operands,
    rounding,
    scalar_operands,
    schedule,
    soft_fma,
    states,
    views,
    weights,
    windows,
)
from bmc.stages.configs import Config
from bmc.stages.operands import Kernel
from bmc.stages.weights import PackedWeights
from bmc.target import Target

# The phases of iree-compile between which bmc looks at the IR or changes it.
_OPTIMIZED = "global-optimization"
_FLOW = "flow"
_CONFIGURED = "executable-configurations"
_TARGETS = "executable-targets"
_VM = "vm"
# Constant expressions are evaluated at build time, unless that makes them larger. Later phases must
# not hoist more of them: what they hoist runs on the target as initialization.
_HOIST_EARLY = "--iree-opt-const-expr-max-size-increase-threshold=0"
_HOIST_NO_MORE = "--iree-opt-const-expr-hoisting=false"
# Evaluated by IREE's interpreter: its compiler would use what the builder's CPU has, fused
# multiply-add among it, and weights would differ from builder to builder.
_EVALUATE_ALIKE = "--iree-hal-local-host-device-backends=vmvx"


@dataclass(frozen=True)
class CompileOptions:
    """What `bmc compile` is asked to do.

    Attributes:
      name: C name of the model, prefix of every symbol.
      target: instruction set.
      out: folder for the results; it is created.
      tuning: tuning.json, or None for the defaults.
      float_parts: of an int8 model, what is in floating point and why, see stages/audit.py.
      libcalls: archives with what kernels call where the ISA has no instruction, e.g. __mulsf3.
    """

    name: str
    target: Target
    out: Path
    tuning: Path | None = None
    float_parts: Mapping[str, str] = field(default_factory=dict)
    libcalls: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """Raises BmcError for a name that no C symbol can have, and for a file that is missing."""
        c_text.check_name(self.name)
        for file in (*((self.tuning,) if self.tuning else ()), *self.libcalls):
            if not file.is_file():
                raise BmcError("file-missing", f"file '{file}' does not exist")


@dataclass(frozen=True)
class Lowered:
    """What IREE made of the model.

    Attributes:
      program: the host program with the kernels' ELF.
      weights: its constants, packed.
      configs: tile sizes of the kernels.
      operands: what their bindings hold.
      liveness_bound: least arena in bytes.
      macs: multiply-accumulates of every entry point.
      int8: what stages/audit.py found, None for a model that is not int8.
    """

    program: HostProgram
    weights: PackedWeights
    configs: tuple[Config, ...]
    operands: dict[str, Kernel]
    liveness_bound: int
    macs: dict[str, int]
    int8: dict[str, Any] | None


def compile_model(model: ImportedModel, options: CompileOptions) -> dict[str, Any]:
    """Compiles a model and writes all output files; returns the report.

    Raises:
      BmcError: the model or its compiled form cannot be brought to the target.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        lowered = _lower(model, options, Path(work))
    program, packed = lowered.program, lowered.weights
    code = kernels.load(program.executable, options.target) if program.executable else None
    plan = schedule.build(options.name, options.target, model, program, code, packed)
    files = _emit(plan, model, code, packed, options.target)
    for file, data in files.items():
        (options.out / file).write_bytes(data)
    result = report.report(
        model=model,
        target=options.target,
        result=plan,
        kernels=code,
        weights=packed,
        configs=lowered.configs,
        operands=lowered.operands,
        golden_bytes=len(files["golden.bin"]),
        liveness_bound_bytes=lowered.liveness_bound,
        macs=lowered.macs,
        flags=(*options.target.iree_flags(), *_first_phase_flags(model)),
        versions={"iree-base-compiler": iree_tool.version()},
        int8=lowered.int8,
        outputs={file: artifacts.sha256(data) for file, data in files.items()},
    )
    artifacts.write_json(options.out / "report.json", result)
    return result


def _lower(model: ImportedModel, options: CompileOptions, work: Path) -> Lowered:
    """Runs IREE phase by phase; every file name is fixed, since symbol names derive from some."""
    tool = IreeTool(work, options.out / "reproducer")
    flags = options.target.iree_flags()
    linker = tool.link_with(options.libcalls)

    def run(source: str, output: str, first: str, last: str, *extra: str) -> None:
        start = (f"--compile-from={first}",) if first else ()
        phases = (*start, f"--compile-to={last}", "--emit-mlir-bytecode")
        tool.compile(source, output, *flags, *phases, *extra)

    remembered = states.make_explicit(model.mlir, work / "model.mlirbc")
    if model.int8:
        biases.detach(work / "model.mlirbc")
    run("model.mlirbc", "optimized.mlirbc", "", _OPTIMIZED, *_first_phase_flags(model))
    constants.externalize(tool, "optimized.mlirbc", "parameters.mlirbc", "weights.irpa")
    windows.gather(work / "parameters.mlirbc", work / "windows.mlirbc")
    permuted = channels_last.apply(work / "windows.mlirbc", work / "channels.mlirbc")
    columns.apply(work / "channels.mlirbc", work / "columns.mlirbc")
    types = layout.transpose_operands(work / "columns.mlirbc", work / "layout.mlirbc", permuted)
    run("layout.mlirbc", "flow.mlirbc", _OPTIMIZED, _FLOW, _HOIST_NO_MORE)
    rounding.apply(work / "flow.mlirbc", work / "rounded.mlirbc")
    run("rounded.mlirbc", "kernels.mlirbc", _FLOW, _CONFIGURED, _HOIST_NO_MORE)
    views.apply(work / "kernels.mlirbc", work / "views.mlirbc")
    chosen = configs.apply(
        work / "views.mlirbc", work / "tuned.mlirbc", options.target, options.tuning
    )
    scalar_operands.lower(tool, "tuned.mlirbc", "lowered.mlirbc")
    gathers.apply(work / "lowered.mlirbc", work / "gathers.mlirbc")
    ready, phase = "gathers.mlirbc", _CONFIGURED
    if options.target.soft_float:
        run(ready, "targets.mlirbc", phase, _TARGETS, _HOIST_NO_MORE)
        ready, phase = "soft.mlirbc", _TARGETS
        soft_fma.apply(work / "targets.mlirbc", work / ready)
    run(ready, "vm.mlirbc", phase, _VM, _HOIST_NO_MORE, linker)
    if options.target.xlen == 32:
        tool.check_linked()
    program = hal.run(work / "vm.mlirbc", model.signatures, remembered)
    packed = weights.pack(program, work / "weights.irpa", types, model.parameters)
    int8 = None
    if model.int8:
        products = audit.products(work / "tuned.mlirbc")
        int8 = audit.check(products, packed.table.values(), options.float_parts)
    bound = liveness.bound(work / "flow.mlirbc", remembered)
    held = operands.read(work / "tuned.mlirbc")
    return Lowered(program, packed, chosen, held, bound, macs.count(work / "layout.mlirbc"), int8)


def _first_phase_flags(model: ImportedModel) -> tuple[str, ...]:
    flags = (*iree_tool.f64_flags(model.signatures), _HOIST_EARLY)
    # The interpreter has no floats of 16 bits.
    return flags if constants.has_half_floats(model.mlir) else (*flags, _EVALUATE_ALIKE)


def _emit(
    plan: Plan, model: ImportedModel, code: Kernels | None, packed: PackedWeights, target: Target
) -> dict[str, bytes]:
    """Returns the contents of every output file but report.json, by name."""
    weights_s = c_text.include_blob(
        f".bm.weights.{plan.name}", f"{plan.name}_weights", "weights.bin"
    )
    kernels_s = kernels_asm.source(plan.name, code, target) if code else kernels_asm.EMPTY
    return {
        "plan.h": plan_c.header(plan, code).encode(),
        "plan.c": plan_c.source(plan, code).encode(),
        "kernels.S": kernels_s.encode(),
        "kernels.bin": code.image if code else b"",
        "kernels.elf": code.elf if code else b"",
        "weights.S": weights_s.encode(),
        "weights.bin": packed.data,
        "golden.S": golden_c.assembly(plan).encode(),
        "golden.c": golden_c.source(plan, model.golden).encode(),
        "golden.bin": golden_c.data(model.golden),
    }
