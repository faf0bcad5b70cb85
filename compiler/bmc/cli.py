"""The command line of bmc. Only this module, command.py and frontends/importing.py print."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from bmc import (
    artifacts,
    command,
    errors,
    import_json,
    inspection,
    memories,
    mutate,
    names,
    optimize,
    progress,
    target,
    tolerances,
    verify,
)
from bmc.arguments import parser
from bmc.artifacts import ImportedModel
from bmc.command import Command
from bmc.compile import CompileOptions, compile_model, rewrite_until
from bmc.cores import core as cores
from bmc.errors import BmcError
from bmc.explain import explain
from bmc.frontends import importing, mlir_dialects
from bmc.iree import version
from bmc.libraries import library
from bmc.limits import Limits
from bmc.plan.fast import Memories


def main(argv: Sequence[str]) -> int:
    """Runs one subcommand; returns 0, 1 (the user's mistake) or 70 (a mistake in bmc).

    Raises:
      SystemExit: for a usage error (status 2), and after --help and --print-pipeline (status 0).
    """
    return command.dispatch(parser().parse_args(argv), _COMMANDS)


def _run_check(arguments: argparse.Namespace) -> int:
    from bmc import check

    version.check(arguments.any_iree)
    options = importing.options(arguments)
    parts = 0

    def say(text: str) -> None:
        nonlocal parts
        # At once, because a process that takes too much is ended without a chance to write.
        shown = "\n".join(map(names.printable, text.splitlines()))
        print("\n" * bool(parts) + shown, flush=True)
        parts += 1

    clear = check.check(arguments.source, options, target.find(arguments.isa), say)
    return 0 if clear else errors.EXIT_USER_ERROR


def _run_optimize(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    progress.begin(progress.OPTIMIZE)
    optimize.optimize_into(_load(arguments.imported), arguments.out)


def _run_compile(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    options = CompileOptions(
        arguments.name,
        target.find(arguments.isa),
        arguments.out,
        arguments.tuning,
        dict(arguments.float_parts),
        tuple(arguments.libcalls) or _libcalls(arguments.isa),
        arguments.keep,
        arguments.stop_after,
        libraries=tuple(
            library.load(name, header, Path(matcher))
            for name, header, matcher in arguments.libraries
        ),
        harts=arguments.harts,
        first_cases=arguments.first_cases,
        optimized=arguments.optimized,
        stored_weights=arguments.stored_weights,
        explain=arguments.explain,
        ram=arguments.ram,
        memories=_memories(arguments),
        core=cores.find(arguments.core) if arguments.core else None,
    )
    if arguments.imported:
        _compile(_load(arguments.imported), options)
    else:
        with tempfile.TemporaryDirectory() as imported, progress.Phases():
            model = importing.import_(arguments, Path(imported))
            _compile(model, options)


def _memories(arguments: argparse.Namespace) -> Memories | None:
    if arguments.memories:
        return memories.read(arguments.memories, arguments.fast_ram)
    if arguments.fast_ram is not None:
        raise BmcError(
            "bad-ram",
            "--fast-ram without --memories: name the board.json that says what memory costs",
        )
    return None


def _load(directory: Path, *, compared: bool = False) -> ImportedModel:
    """Reads an import directory (artifacts.load); raises BmcError also if its MLIR is more than a model."""
    from iree.compiler import ir

    model = artifacts.load(directory, compared=compared)
    try:
        # Without limits: the import has kept those that the user chose.
        functions = mlir_dialects.check(
            model.mlir, str(model.mlir), Limits(nodes=sys.maxsize, trips=sys.maxsize)
        )
    except ir.MLIRError as error:
        raise import_json.damaged(directory, f"{model.mlir.name} is not MLIR") from error
    if missing := {signature.name for signature in model.signatures} - functions:
        raise import_json.damaged(directory, f"{model.mlir.name} lacks '{min(missing)}'")
    return model


def _libcalls(isa: str) -> tuple[Path, ...]:
    # The program that compiles models in a build lacks them: the build names archives itself.
    if find_spec("bmc.libcalls") is None:
        return ()
    from bmc import libcalls

    return libcalls.archives(isa)


def _compile(model: ImportedModel, options: CompileOptions) -> None:
    progress.begin(progress.COMPILE)
    if options.stop_after:
        print(f"wrote {rewrite_until(model, options)}")
    elif options.explain:
        print("\n".join(map(names.printable, explain(model, options).splitlines())))
    else:
        print("\n".join(inspection.summary(compile_model(model, options))))


def _run_inspect(arguments: argparse.Namespace) -> None:
    shown = inspection.configs if arguments.configs else inspection.full
    print(
        "\n\n".join("\n".join(shown(report)) for report in inspection.read_all(arguments.compiled))
    )


def _run_export(arguments: argparse.Namespace) -> None:
    from bmc import export

    models = [export.read_model(folder, arguments.loaded) for folder in arguments.compiled]
    print(export.export(models, arguments.out, complete=arguments.complete))


def _run_run(arguments: argparse.Namespace) -> int:
    from bmc import boot

    return boot.run(arguments.compiled, raw=arguments.raw)


def _run_verify(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    model = _load(arguments.imported, compared=True)
    # Whoever made the folder may have given it a tolerance that everything meets.
    tolerances.require_meaning(model.golden, model.signatures)
    out: Path | None = arguments.out
    progress.begin(progress.HOST_CHECK)
    # Beside the results, because the import of a build cannot be written to.
    checks = verify.run(model, (out.parent if out else arguments.imported) / "reproducer")
    lines = [
        f"case {check.case} {check.output}: {'ok' if check.difference.ok else 'MISMATCH'},"
        f" max abs error {check.difference.max_abs:.3g}, {check.difference.differing} elements differ,"
        f" min cosine {check.difference.min_cosine:.7f}"
        for check in checks
    ]
    if not out:
        print(*lines, sep="\n")
    verify.require(model, checks)
    lines.append(verify.verdict(model) + ".")
    if out:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        print(lines[-1])


def _run_mutate(arguments: argparse.Namespace) -> None:
    report = inspection.read(arguments.report, mutate.REPORT)
    data, change = mutate.mutate(arguments.weights.read_bytes(), report)
    arguments.out.write_bytes(data)
    more = f", and {change.count - 1} more as large" if change.count > 1 else ""
    print(f"{change.weight}[{change.index}]: {change.before:g} became {change.after:g}{more}")


_COMMANDS: dict[str, Command] = {
    "check": _run_check,
    "compile": _run_compile,
    "export": _run_export,
    "import": importing.run,
    "inspect": _run_inspect,
    "mutate": _run_mutate,
    "optimize": _run_optimize,
    "run": _run_run,
    "verify": _run_verify,
}
