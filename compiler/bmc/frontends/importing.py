"""`bmc import`: its arguments, and what it prints."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path

from bmc import frontends, limits, names, progress
from bmc.artifacts import ImportedModel
from bmc.frontends.options import F16, INT4, INT4_INT8, INT8, ImportOptions
from bmc.iree import version


def add_general(parser: argparse.ArgumentParser) -> None:
    """Adds the options that come before any subcommand."""
    parser.add_argument(
        "--verbose", action="store_true", help="log every command of IREE and its messages"
    )
    parser.add_argument(
        "--any-iree", action="store_true", help=f"accept IREE versions other than {version.PINNED}"
    )


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    importer = commands.add_parser(
        "import",
        help="import a model as MLIR, with its golden data",
        description="Runs a model's framework, and writes the model as MLIR, with inputs and the framework's answers.",
    )
    importer.add_argument("source", help=f"the model: {frontends.KINDS}")
    add_options(importer)
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


def add_options(parser: argparse.ArgumentParser) -> None:
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
        choices=("", INT8, F16, INT4, INT4_INT8),
        default="",
        help="quantize the model with its own framework and its calibration data, compute in f16 on the target, or give"
        " linear layers of PyTorch weights of 4 bits, which may multiply bytes",
    )
    defaults = ", ".join(f"{name}={getattr(limits.DEFAULT, name)}" for name in limits.NAMES)
    parser.add_argument(
        "--limit",
        dest="limits",
        action="append",
        type=_limit,
        default=[],
        metavar="NAME=NUMBER",
        help=f"what the import of a model file may take, where it is not {defaults}",
    )
    parser.add_argument(
        "--shape",
        dest="shapes",
        action="append",
        type=_shape,
        default=[],
        metavar="NAME=1x512",
        help="shape of an input of a model file whose dimensions are dynamic",
    )
    parser.add_argument(
        "--constant",
        dest="constants",
        action="append",
        type=_constant,
        default=[],
        metavar="NAME=VALUE",
        help="an input of an .onnx file that always has one value, and so becomes a constant",
    )
    parser.add_argument(
        "--context",
        type=_tokens,
        default=0,
        help="how many tokens the language model of a .gguf file remembers",
    )


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, _, dims = text.rpartition("=")
    if not name or not re.fullmatch(r"[1-9]\d{0,8}(x[1-9]\d{0,8})*", dims):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=SHAPE, as in audio=1x512")
    return name, tuple(map(int, dims.split("x")))


def _constant(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        number = int(value) if re.fullmatch(r"-?\d{1,19}", value) else float(value)
    except ValueError:
        name = ""
    if not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE, as in sr=16000")
    return name, number


def _tokens(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of tokens")
    return int(text)


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    if name not in limits.NAMES or not number.isdecimal() or not int(number):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not NAME=NUMBER with one of {', '.join(limits.NAMES)}"
        )
    return name, int(number)


def run(arguments: argparse.Namespace) -> None:
    version.check(arguments.any_iree)
    with progress.Phases() as phases:
        model = import_(arguments, arguments.out)
        took = phases.summary(time.time())
    checked = f" {model.second_reference}." if arguments.host_check else ""
    source = names.printable(model.source)
    print(f"imported {source}: {_cases(model)}.{checked} It took: {took}.")


def options(arguments: argparse.Namespace) -> ImportOptions:
    return ImportOptions(
        arguments.cases,
        arguments.output_type,
        arguments.quantize,
        arguments.inputs,
        arguments.host_check,
        limits.changed(arguments.limits),
        dict(arguments.shapes),
        dict(arguments.constants),
        arguments.context,
    )


def import_(arguments: argparse.Namespace, out: Path) -> ImportedModel:
    model = frontends.import_model(arguments.source, options(arguments), out)
    for note in model.notes:
        print(f"note: {names.printable(note)}")
    return model


def _cases(model: ImportedModel) -> str:
    count = len(model.golden.inputs)
    return f"{count} case{'s' if count > 1 else ''} for the target"
