"""`bmc compile`: imported model -> plan, kernels, weights, golden data and report in one folder."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bmc import artifacts, budget, optimize, records
from bmc.artifacts import ImportedModel
from bmc.cores.core import Core
from bmc.elf import kernels
from bmc.elf.kernels import Kernels
from bmc.emit import c_text, golden_c, kernels_asm, model_h, plan_c, report, symbols
from bmc.errors import BmcError
from bmc.facts.operands import Kernel
from bmc.host import evaluate
from bmc.host.program import HostProgram
from bmc.iree import linking, phases
from bmc.iree.phases import Phase
from bmc.iree.tool import IreeTool
from bmc.iree.version import installed_version
from bmc.libraries.library import Library
from bmc.observers import Facts
from bmc.optimize import Optimized
from bmc.plan import audit, build, calls, weights
from bmc.plan.calls import LinkedCall
from bmc.plan.fast import Memories
from bmc.plan.tables import Plan
from bmc.plan.weights import PackedWeights
from bmc.release import VERSION
from bmc.rewrites.context import Config, Context
from bmc.rewrites.decisions import Again, Decisions, decided
from bmc.rewrites.iree import lowering_configs, soft_halves
from bmc.rewrites.kernels import tuning
from bmc.rewrites.kernels.tuning import Tuning
from bmc.rewrites.pipeline import FOR_TARGET
from bmc.rewrites.runner import Runner, Stopped
from bmc.target import Target

_LOG = logging.getLogger(__name__)

_REPORT = "report.json"


@dataclass(frozen=True)
class CompileOptions:
    """The options of `bmc compile`.

    Attributes:
      name: C name of the model, which is the prefix of every symbol.
      target: instruction set.
      out: folder for the results, which is created.
      optimized: folder of `bmc optimize`, None to do its work too. `keep`, `stop_after` and `plain` do it anyway.
      tuning: path of tuning.json, None to use the defaults.
      float_parts: the parts of an int8 model that use floating point, or of an f16 model that use f32, with reasons
        (plan/audit.py).
      libcalls: archives with functions that kernels call for instructions the ISA lacks, e.g. __mulsf3.
      keep: folder that receives every intermediate of the pipeline as text, None to keep none.
      stop_after: name of the rewrite to stop after, "" to compile to the end.
      plain: leave out the rewrites that only make kernels faster, to compare results with and without.
      proposes: the report has other kernels that dispatches could have, for a search.
      libraries: kernel libraries; the first one that wants a dispatch gets it.
      harts: how many harts share the work of a dispatch.
      first_cases: on how many cases the target is checked, None for all.
      core: the core whose cycles decide which kernels a model has, None for a blend of cores.
      explain: name of a dispatch or a layer, or a part of one, whose kernels are explained instead of written.
      ram: how many bytes of RAM the model may need besides fast memory, None to save none.
      memories: what memory costs, and the fast memory that the model may use; None for none.
      stored_weights: "f16" to store weights of f32 so that f16 holds exactly, "" to store them as they are.
    """

    name: str
    target: Target
    out: Path
    tuning: Path | None = None
    float_parts: Mapping[str, str] = field(default_factory=dict)
    libcalls: tuple[Path, ...] = ()
    keep: Path | None = None
    stop_after: str = ""
    plain: bool = False
    proposes: bool = False
    libraries: tuple[Library, ...] = ()
    harts: int = 1
    first_cases: int | None = None
    optimized: Path | None = None
    stored_weights: str = ""
    explain: str = ""
    ram: int | None = None
    memories: Memories | None = None
    core: Core | None = None

    def __post_init__(self) -> None:
        """Raises BmcError for a name that cannot be in a C symbol, no cases, no RAM, and a file that is missing."""
        c_text.check_name(self.name)
        if self.first_cases is not None and self.first_cases < 1:
            raise BmcError(
                "bad-cases", f"the first {self.first_cases} cases are none: give 1 or more"
            )
        if self.ram is not None and self.ram < 1:
            raise BmcError("bad-ram", f"{self.ram} bytes of RAM are none: give 1 or more")
        for file in (*((self.tuning,) if self.tuning else ()), *self.libcalls):
            if not file.is_file():
                raise BmcError("file-missing", f"file '{file}' does not exist")


@dataclass(frozen=True)
class Lowered:
    """A model after IREE and the host program have run.

    Attributes:
      program: the host program with the kernels' ELF.
      weights: its constants, packed.
      configs: tile sizes of the kernels.
      planes: how many shapes of convolutions have planes as results.
      operands: the kernels' operands, by dispatch function.
      liveness_bound: smallest possible arena, in bytes.
      macs: multiply-accumulates of every entry point.
      int8: the result of plan/audit.py, None for a model that is not int8.
      flags: iree-compile's flags for the first step.
      calls: those of kernel libraries, by dispatch function.
      code: the kernels, None for a model without any.
      plan: the plan.
    """

    program: HostProgram
    weights: PackedWeights
    configs: tuple[Config, ...]
    planes: int
    operands: dict[str, Kernel]
    liveness_bound: int
    macs: dict[str, int]
    int8: dict[str, Any] | None
    flags: tuple[str, ...]
    calls: dict[str, LinkedCall]
    code: Kernels | None
    plan: Plan


def compile_model(model: ImportedModel, options: CompileOptions) -> dict[str, Any]:
    """Compiles a model and writes all output files; returns the report as JSON data.

    Raises:
      BmcError: the model cannot be compiled for the target.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    if options.first_cases is not None:
        model = replace(model, golden=model.golden.first(options.first_cases))
    with tempfile.TemporaryDirectory() as work:
        lowered = lower(model, options, Path(work))
    packed, code, plan = lowered.weights, lowered.code, lowered.plan
    files = _emit(plan, model, code, packed, options.target, lowered.operands)
    # Written last, so that it is never beside the files of another model or of a part of one.
    (options.out / _REPORT).unlink(missing_ok=True)
    for file, data in files.items():
        (options.out / file).write_bytes(data)
    made = report.report(
        model=model,
        target=options.target,
        result=plan,
        kernels=code,
        weights=packed,
        configs=lowered.configs,
        planes=lowered.planes,
        ram_bytes=plan.arena_bytes
        + plan.state_bytes
        + budget.scratch_bytes(lowered.configs, options.harts),
        operands=lowered.operands,
        golden_bytes=len(files["golden.bin"]),
        liveness_bound_bytes=lowered.liveness_bound,
        macs=lowered.macs,
        flags=lowered.flags,
        versions={"ironcast": VERSION, "iree-base-compiler": installed_version()},
        int8=lowered.int8,
        outputs={file: artifacts.sha256(data) for file, data in files.items()},
    )
    result: dict[str, Any] = records.encode(made)
    artifacts.write_json(options.out / _REPORT, result)
    return result


def rewrite_until(model: ImportedModel, options: CompileOptions) -> Path:
    """Runs the pipeline up to the rewrite options.stop_after; returns the file with the IR as text.

    Raises:
      BmcError: the model cannot be compiled for the target, or that rewrite does not apply to it.
    """
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        try:
            lower(model, options, Path(work))
        except Stopped as stopped:
            path = options.out / f"{options.stop_after}.mlir"
            path.write_text(stopped.text, encoding="utf-8")
            return path
    raise BmcError(
        "not-rewritten",
        f"the rewrite '{options.stop_after}' does not apply to this model on {options.target.isa}",
        hint="`bmc compile --print-pipeline` lists all rewrites",
    )


def lower(model: ImportedModel, options: CompileOptions, work: Path) -> Lowered:
    """Runs IREE, the rewrites and the host program; writes intermediate files into `work`.

    What is done for the target is done in rounds (rewrites/decisions.py).

    Also writes the folder options.keep, and a reproducer in options.out if IREE fails.

    Raises:
      BmcError: the model cannot be compiled for the target.
      Stopped: the rewrite options.stop_after has run.
    """
    if model.f16 and not options.target.has_f16:
        raise soft_halves.refusal(options.target, "is to compute", "leave out quantize")
    if options.stored_weights and not options.target.has_f16:
        raise soft_halves.refusal(options.target, "is to store weights", "leave out stored_weights")
    tuned = tuning.read(options.tuning, options.target) if options.tuning else Tuning()
    if not options.libraries:
        tuned = tuned.without_libraries()
    if options.optimized and not (options.keep or options.stop_after or options.plain):
        optimized = optimize.load(options.optimized, model)
    else:
        optimized = optimize.optimize(
            model,
            work,
            options.out / "reproducer",
            plain=options.plain,
            keep=options.keep,
            stop_after=options.stop_after,
        )
    exact_halves = weights.exact_halves(optimized.archive) if options.stored_weights else None

    def compile_with(
        decisions: Decisions, cuts: budget.Cuts, scratch: int | None = None
    ) -> tuple[Lowered, Context]:
        context = Context(
            options.target,
            model.int8,
            model.f16,
            tuned,
            options.proposes,
            options.harts,
            options.libraries,
            optimized.states,
            decisions,
            exact_halves=exact_halves,
            core=options.core,
            has_budget=options.ram is not None,
            cuts=cuts,
            scratch=scratch,
        )
        return _lower(model, options, work, optimized, context), context

    def attempt(cuts: budget.Cuts, scratch: int | None) -> budget.Attempt[Lowered]:
        lowered, context = decided(lambda decisions: compile_with(decisions, cuts, scratch))
        return budget.measured(lowered, lowered.plan, context)

    if options.ram is None:
        return decided(lambda decisions: compile_with(decisions, {}))[0]
    return budget.fit(attempt, options.ram).result


def _lower(
    model: ImportedModel,
    options: CompileOptions,
    work: Path,
    optimized: Optimized,
    context: Context,
) -> Lowered:
    tool = IreeTool(work, options.out / "reproducer")
    facts = Facts(
        context,
        options.float_parts,
        model.mixed,
        lambda types: weights.unpacked(optimized.archive, types, model.parameters),
    )
    linker = linking.link_with(work, options.libcalls)
    pipeline = tuple(rewrite for rewrite in FOR_TARGET if not (options.plain and rewrite.faster))
    applied = {rewrite.name for rewrite in pipeline if rewrite.applies(context)}
    # Only if what IREE should not do is kept from it, and kernels of bmc's own can read through paddings.
    within = (phases.PADDINGS_WITHIN,) if {"copied_paddings", "own_kernels"} <= applied else ()

    every = (*options.target.iree_flags(), phases.BINDINGS_APART)

    def flags(phase: Phase) -> tuple[str, ...]:
        more = (
            (linker,)
            if phase is phases.VM
            else within
            if phase in (phases.FORMED, phases.FLOW)
            else ()
        )
        return (*every, phases.HOIST_NO_MORE, *more)

    observers = {
        phases.PARAMETERS: facts.of_parameters,
        phases.FLOW: facts.of_flow,
        phases.CONFIGURED: facts.of_configured,
    }
    runner = Runner(tool, pipeline, context, flags, observers, options.keep, options.stop_after)
    vm = runner.run(optimized.mlir, phases.PARAMETERS, phases.VM)
    if "lowering_configs" in applied:
        lowering_configs.check_names(context)
    if options.target.xlen == 32:
        linking.check(work)
    program = evaluate.run(vm, model.signatures, context.states)
    if left := calls.not_constant(program, context.taken):
        raise Again(Decisions(left=left))
    contents = weights.read(program, optimized.archive, facts.stored)
    linked = calls.link(program, context.taken, contents, facts.stored, facts.operands)
    packed = weights.pack(linked.program, linked.contents, linked.types, model.parameters)
    int8 = None
    if model.int8:
        int8 = audit.check(
            facts.products, packed.table.values(), options.float_parts, mixed=model.mixed
        )
    executable = linked.program.executable
    code = kernels.load(executable, options.target) if executable else None
    return Lowered(
        program=linked.program,
        weights=packed,
        configs=tuple(_marked(config, context.tuning) for config in context.configs),
        planes=len(context.planes),
        operands=linked.operands,
        liveness_bound=facts.liveness_bound,
        macs=facts.macs,
        int8=int8,
        flags=(*every, *optimized.flags),
        calls=linked.calls,
        code=code,
        plan=build.plan(
            options.name,
            options.target,
            model,
            linked.program,
            code,
            packed,
            linked.operands,
            linked.calls,
            has_budget=options.ram is not None,
            memories=options.memories,
        ),
    )


def _marked(config: Config, tuned: Tuning) -> Config:
    """Names an entry of tuning.json that was made instead of another kernel than the dispatch would have now."""
    entry = tuned.of(config.function, config.op)
    if entry is None or not entry.instead_of or config.digest in entry.instead_of:
        return config
    _LOG.warning(
        "the entry for '%s' in '%s' is stale: without it, the dispatch has another kernel than when it was made",
        config.op,
        tuned.file,
    )
    return replace(config, stale=True)


def _emit(
    plan: Plan,
    model: ImportedModel,
    code: Kernels | None,
    packed: PackedWeights,
    target: Target,
    operands: dict[str, Kernel],
) -> dict[str, bytes]:
    """Returns the contents of every output file except report.json, by name."""
    weights_s = c_text.include_blob(
        f".bm.weights.{plan.name}", symbols.weights(plan.name), "weights.bin"
    )
    kernels_s = kernels_asm.source(plan.name, code, target) if code else kernels_asm.EMPTY
    return {
        f"{plan.name}.h": model_h.source(plan, code, target, model.classes).encode(),
        "plan.c": plan_c.source(plan, code).encode(),
        "kernels.S": kernels_s.encode(),
        "kernels.bin": code.image if code else b"",
        "kernels.elf": code.elf if code else b"",
        "weights.S": weights_s.encode(),
        "weights.bin": packed.data,
        "golden.S": golden_c.assembly(plan).encode(),
        "golden.c": golden_c.source(plan, model.golden, operands).encode(),
        "golden.bin": golden_c.data(model.golden),
    }
