"""The command line of bmc, and the only module that prints."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bmc import artifacts, errors, frontends, inspection, mutate, progress, target, verify
from bmc.artifacts import ImportedModel
from bmc.compile import CompileOptions, compile_model, rewrite_until
from bmc.errors import BmcError
from bmc.frontends.options import F16, INT8, ImportOptions
from bmc.iree import version
from bmc.libraries import library
from bmc.plan.tables import MAX_HARTS
from bmc.rewrites.pipeline import PIPELINE
from bmc.rewrites.runner import describe

# Longer lines are hard to read, however wide the terminal is.
_WIDTH = 100
_ABOUT = """Compiles machine-learning models for bare-metal RISC-V.

examples:
  bmc compile --src model.onnx --isa rv64gcv_zvl256b --name net --out compiled
  bmc inspect compiled
"""


def main(argv: Sequence[str]) -> int:
    """Runs one subcommand; returns 0, 1 (the user's mistake) or 70 (a mistake in bmc).

    Raises:
      SystemExit: for a usage error (status 2), and after --help and --print-pipeline (status 0).
    """
    arguments = _parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING,
        format="%(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        arguments.run(arguments)
    except BmcError as error:
        return fail(error)
    except (MemoryError, RecursionError) as error:
        return fail(_too_large(error))
    except OSError as error:
        if not error.filename:
            return _internal()
        return fail(BmcError("file-failed", f"'{error.filename}': {error.strerror}"))
    except Exception:
        return _internal()
    return 0


def _too_large(error: Exception) -> BmcError:
    deep = isinstance(error, RecursionError)
    what = "is nested more deeply than Python can follow" if deep else "does not fit into memory"
    return BmcError("too-large", f"the model {what}")


def _internal() -> int:
    traceback.print_exc()
    print("bmc: internal error: please report the lines above", file=sys.stderr)
    return errors.EXIT_INTERNAL_ERROR


def fail(error: BmcError) -> int:
    """Prints what the user has to fix, folded between words on a terminal; returns the exit status."""
    lines = f"bmc: {error}".splitlines()
    if sys.stderr.isatty():
        width = min(shutil.get_terminal_size().columns, _WIDTH)
        # A name with hyphens stays one word, which can be copied.
        wrap = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        lines = [wrap.fill(line) for line in lines]
    print(*lines, sep="\n", file=sys.stderr)
    return errors.EXIT_USER_ERROR


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bmc", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--verbose", action="store_true", help="log every command of IREE and its messages"
    )
    parser.add_argument(
        "--any-iree", action="store_true", help=f"accept IREE versions other than {version.PINNED}"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    importer = commands.add_parser(
        "import",
        help="import a model as MLIR, with its golden data",
        description="Runs a model's framework, and writes the model as MLIR, with inputs and the framework's answers.",
    )
    importer.add_argument("source", help=f"the model: {frontends.KINDS}")
    _add_import_options(importer)
    importer.add_argument("--out", type=Path, required=True, help="import directory to write")
    importer.add_argument(
        "--no-host-check",
        dest="host_check",
        action="store_false",
        help="leave the comparison with IREE's host runtime to `bmc verify`, on which reports then rely",
    )
    importer.add_argument(
        "--inputs",
        type=Path,
        help=".npz file with other inputs than the model's own cases: arrays named 0, 1, ..., one for each input,"
        " whose first axis counts the cases; of a model with entry points or state PART.ENTRY.INPUT, whose first"
        " axes count cases and steps",
    )
    importer.set_defaults(run=_run_import)

    _add_compile(commands)

    inspector = commands.add_parser(
        "inspect",
        help="show what a compiled model consists of",
        description="Shows sizes, inputs, outputs and dispatches of a compiled model.",
    )
    inspector.add_argument(
        "compiled",
        type=Path,
        help="folder or report.json of `bmc compile`, or X.report.json of an image",
    )
    inspector.add_argument("--configs", action="store_true", help="show tile sizes of the kernels")
    inspector.set_defaults(run=_run_inspect)

    verifier = commands.add_parser(
        "verify",
        help="run an imported model in IREE's host runtime against its golden data",
        description="Compares an imported model, run by IREE on this machine, with its framework's answers.",
    )
    verifier.add_argument("--import", dest="imported", type=Path, required=True)
    verifier.add_argument(
        "--out", type=Path, help="file for the result of each case, which is printed otherwise"
    )
    verifier.set_defaults(run=_run_verify)

    mutator = commands.add_parser(
        "mutate",
        help="change the largest elements of a weight, for a negative control",
        description="Changes the largest elements of a weight, so that a check must notice it.",
    )
    mutator.add_argument("--report", type=Path, required=True, help="report.json of `bmc compile`")
    mutator.add_argument("--weights", type=Path, required=True, help="weights.bin beside it")
    mutator.add_argument("--out", type=Path, required=True, help="file for the changed weights")
    mutator.set_defaults(run=_run_mutate)

    # The program that compiles models in a build lacks it.
    if find_spec("bmc.export"):
        _add_export(commands)
    return parser


def _add_compile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compiler = commands.add_parser(
        "compile",
        help="compile a model for one instruction set",
        description="Compiles a model to C tables, prelinked kernels and weights for one instruction set.",
    )
    what = compiler.add_mutually_exclusive_group(required=True)
    what.add_argument("--import", dest="imported", type=Path, help="directory of `bmc import`")
    what.add_argument("--src", dest="source", help="model to import first")
    _add_import_options(compiler)
    compiler.add_argument("--isa", required=True, choices=target.ISA_NAMES, help="instruction set")
    compiler.add_argument("--name", required=True, help="C name of the model")
    compiler.add_argument("--out", type=Path, required=True, help="folder for the results")
    compiler.add_argument(
        "--harts",
        type=int,
        choices=range(1, MAX_HARTS + 1),
        default=1,
        metavar="N",
        help=f"how many harts share the model, 1 to {MAX_HARTS}; default 1",
    )
    compiler.add_argument(
        "--first-cases", type=int, metavar="N", help="check the target on no more"
    )
    compiler.add_argument("--tuning", type=Path, help="tuning.json with tile sizes")
    compiler.add_argument(
        "--float-part",
        dest="float_parts",
        action="append",
        type=_named_reason,
        default=[],
        metavar="NAME=REASON",
        help="dispatch or weight of an int8 model that may use floating point, and why",
    )
    compiler.add_argument(
        "--libcalls",
        action="append",
        type=Path,
        default=[],
        help="archive to link into the kernels, e.g. libgcc.a for floats on an ISA without F",
    )
    compiler.add_argument(
        "--kernel-library",
        dest="libraries",
        action="append",
        nargs=3,
        default=[],
        metavar=("NAME", "HEADER", "MATCHER"),
        help="kernel library: its name, the header that C includes, and a Python file with a function take()",
    )
    compiler.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="folder for the IR after every phase and rewrite, numbered, without large constants",
    )
    compiler.add_argument(
        "--stop-after",
        default="",
        choices=[rewrite.name for rewrite in PIPELINE],
        metavar="REWRITE",
        help="write the IR after this rewrite to OUT/REWRITE.mlir, and nothing else",
    )
    compiler.add_argument(
        "--print-pipeline",
        action=_PrintPipeline,
        help="show the phases and rewrites with the reason for their order, and exit",
    )
    compiler.set_defaults(run=_run_compile, host_check=True, inputs=None)


def _add_export(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    exporter = commands.add_parser(
        "export",
        help="write compiled models and their runtime for CMake, make, Zephyr or Arduino",
        description="Writes compiled models and their runtime into a folder that builds without Bazel.",
    )
    exporter.add_argument(
        "compiled", nargs="+", type=Path, help="folder of `bmc compile`, one for each model"
    )
    exporter.add_argument(
        "--out", type=Path, required=True, help="a new or empty folder, or an earlier export"
    )
    exporter.add_argument(
        "--loaded",
        action="append",
        default=[],
        metavar="NAME",
        help="model whose kernels the program copies to RAM when it starts, not linked in place",
    )
    exporter.set_defaults(run=_run_export)


def _add_import_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cases",
        default="",
        help="module.py:function that returns bmc.spec.Cases, for a model that is a file",
    )
    parser.add_argument(
        "--output-type",
        choices=("stablehlo", "linalg"),
        default="stablehlo",
        help="dialect that torch-mlir lowers PyTorch to (default: %(default)s)",
    )
    parser.add_argument(
        "--quantize",
        choices=("", INT8, F16),
        default="",
        help="quantize the model with its own framework and its calibration data, or compute in f16 on the target",
    )


def _named_reason(text: str) -> tuple[str, str]:
    name, _, reason = text.partition("=")
    if not name or not reason.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=REASON")
    return name, reason.strip()


def _run_import(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    with progress.Phases() as phases:
        model = _import(arguments, arguments.out)
        took = phases.summary(time.time())
    checked = f" {model.second_reference}." if arguments.host_check else ""
    print(f"imported {model.source}: {_cases(model)}.{checked} It took: {took}.")


def _import(arguments: argparse.Namespace, out: Path) -> ImportedModel:
    options = ImportOptions(
        arguments.cases,
        arguments.output_type,
        arguments.quantize,
        arguments.inputs,
        arguments.host_check,
    )
    model = frontends.import_model(arguments.source, options, out)
    for note in model.notes:
        print(f"note: {note}")
    return model


def _cases(model: ImportedModel) -> str:
    count = len(model.golden.inputs)
    return f"{count} case{'s' if count > 1 else ''} for the target"


class _PrintPipeline(argparse.Action):
    """Prints and exits, like --version."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(describe(PIPELINE), end="")
        parser.exit()


def _run_compile(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    options = CompileOptions(
        arguments.name,
        target.find(arguments.isa),
        arguments.out,
        arguments.tuning,
        dict(arguments.float_parts),
        tuple(arguments.libcalls),
        arguments.keep,
        arguments.stop_after,
        libraries=tuple(
            library.load(name, header, Path(matcher))
            for name, header, matcher in arguments.libraries
        ),
        harts=arguments.harts,
        first_cases=arguments.first_cases,
    )
    if arguments.imported:
        _compile(artifacts.load(arguments.imported), options)
    else:
        with tempfile.TemporaryDirectory() as imported, progress.Phases():
            model = _import(arguments, Path(imported))
            progress.begin("compile")
            _compile(model, options)


def _compile(model: ImportedModel, options: CompileOptions) -> None:
    if options.stop_after:
        print(f"wrote {rewrite_until(model, options)}")
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
    print(export.export(models, arguments.out))


def _run_verify(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    model = artifacts.load(arguments.imported)
    out: Path | None = arguments.out
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
    report = inspection.read(arguments.report)
    data, change = mutate.mutate(arguments.weights.read_bytes(), report)
    arguments.out.write_bytes(data)
    more = f", and {change.count - 1} more as large" if change.count > 1 else ""
    print(f"{change.weight}[{change.index}]: {change.before:g} became {change.after:g}{more}")
