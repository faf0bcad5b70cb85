"""What bmc's command line takes."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path

from bmc import frontends, target
from bmc.cores import core as cores
from bmc.frontends import importing
from bmc.plan.tables import MAX_HARTS
from bmc.release import VERSION
from bmc.rewrites.pipeline import PIPELINE
from bmc.rewrites.runner import describe

# That of bm_model_suite.
_USUAL_ISA = "rv64gcv_zvl256b"

_ABOUT = """Compiles machine-learning models for bare-metal RISC-V.

examples:
  bmc compile --src model.onnx --isa rv64gcv_zvl256b --name net --out compiled
  bmc inspect compiled
  bmc check model.onnx
"""


def parser() -> argparse.ArgumentParser:
    """Returns the parser of bmc's arguments, which also names the `command`."""
    whole = argparse.ArgumentParser(
        prog="bmc", description=_ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    whole.add_argument(
        "--version", action="version", version=f"bmc {VERSION}", help="print the version and exit"
    )
    importing.add_general(whole)
    commands = whole.add_subparsers(dest="command", required=True, metavar="COMMAND")

    importing.add_command(commands)

    checker = commands.add_parser(
        "check",
        help="say what a model needs and takes, before there is a BUILD file",
        description="Lists all that blocks a model's import, its inputs and outputs, estimates of what it takes, and"
        " the BUILD lines to paste. Exit status: 0 if nothing blocks it, 1 otherwise.",
    )
    checker.add_argument("source", help=f"the model: {frontends.KINDS}")
    importing.add_options(checker)
    checker.add_argument(
        "--isa",
        default=_USUAL_ISA,
        choices=target.ISA_NAMES,
        help="instruction set of the estimates and the BUILD lines (default: %(default)s)",
    )
    checker.set_defaults(host_check=False, inputs=None)

    optimizer = commands.add_parser(
        "optimize",
        help="do once what compiling for every instruction set begins with",
        description="Optimizes an imported model as far as that is the same for every instruction set.",
    )
    optimizer.add_argument("--import", dest="imported", type=Path, required=True)
    optimizer.add_argument(
        "--out", type=Path, required=True, help="folder for `bmc compile --optimized`"
    )

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

    verifier = commands.add_parser(
        "verify",
        help="run an imported model in IREE's host runtime against its golden data",
        description="Compares an imported model, run by IREE on this machine, with its framework's answers.",
    )
    verifier.add_argument("--import", dest="imported", type=Path, required=True)
    verifier.add_argument(
        "--out", type=Path, help="file for the result of each case, which is printed otherwise"
    )

    mutator = commands.add_parser(
        "mutate",
        help="change the largest elements of a weight, for a negative control",
        description="Changes the largest elements of a weight, so that a check must notice it.",
    )
    mutator.add_argument("--report", type=Path, required=True, help="report.json of `bmc compile`")
    mutator.add_argument("--weights", type=Path, required=True, help="weights.bin beside it")
    mutator.add_argument("--out", type=Path, required=True, help="file for the changed weights")

    # The program that compiles models in a build lacks it.
    if find_spec("bmc.export"):
        _add_export(commands)
    if find_spec("bmc.boot"):
        _add_run(commands)
    return whole


def _add_compile(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compiler = commands.add_parser(
        "compile",
        help="compile a model for one instruction set",
        description="Compiles a model to C tables, prelinked kernels and weights for one instruction set.",
        # Leaves the table of --print-pipeline as it is.
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = compiler.add_mutually_exclusive_group(required=True)
    what.add_argument("--import", dest="imported", type=Path, help="directory of `bmc import`")
    what.add_argument("--src", dest="source", help="model to import first")
    importing.add_options(compiler)
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
        "--ram",
        type=int,
        metavar="BYTES",
        help="how much RAM the model may need for tensors, state, and its kernels' scratch memory; default: any",
    )
    compiler.add_argument(
        "--memories",
        type=Path,
        metavar="BOARD.JSON",
        help="a board that says what its memories cost: what is read often goes into its fast memory",
    )
    compiler.add_argument(
        "--fast-ram",
        type=int,
        metavar="BYTES",
        help="how much of its fast memory the model may use, besides --ram; default: a memory for nothing else",
    )
    compiler.add_argument(
        "--core",
        help=f"the core whose cycles decide between kernels: {', '.join(cores.names())}; default: a blend of them",
    )
    compiler.add_argument(
        "--optimized",
        type=Path,
        metavar="DIR",
        help="folder of `bmc optimize` for the same import; default: optimize it first",
    )
    compiler.add_argument(
        "--first-cases", type=int, metavar="N", help="check the target on no more"
    )
    compiler.add_argument(
        "--stored-weights",
        choices=("f16",),
        default="",
        help="store weights so that f16 holds exactly, which products extend as they read them",
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
        help="archive to link into the kernels, e.g. libgcc.a for floats on an ISA without F, instead of"
        " those that the wheel brings",
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
        "--explain",
        default="",
        metavar="LAYER",
        help="print how the kernels of a dispatch or layer came about (problem, tree, text), and write nothing",
    )
    compiler.add_argument(
        "--print-pipeline",
        action="version",
        version=describe(PIPELINE),
        help="show the phases and rewrites with their purposes and the reasons for their order, and exit",
    )
    compiler.set_defaults(host_check=True, inputs=None)


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
        "--complete",
        action="store_true",
        help="with startup code, linker script and main, so that make builds an image that boots in QEMU",
    )
    exporter.add_argument(
        "--loaded",
        action="append",
        default=[],
        metavar="NAME",
        help="model whose kernels the program copies to RAM when it starts, not linked in place",
    )


def _add_run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    runner = commands.add_parser(
        "run",
        help="boot compiled models in QEMU and compare them with their frameworks",
        description="Builds an image of compiled models, boots it in QEMU, and compares what it computes with what the"
        " models' frameworks computed. Exit status: 0 if it agrees, 1 otherwise.",
    )
    runner.add_argument(
        "compiled", nargs="+", type=Path, help="folder of `bmc compile`, one for each model"
    )
    runner.add_argument(
        "--raw", action="store_true", help="show the console as the firmware writes it"
    )


def _named_reason(text: str) -> tuple[str, str]:
    name, _, reason = text.partition("=")
    if not name or not reason.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=REASON")
    return name, reason.strip()
