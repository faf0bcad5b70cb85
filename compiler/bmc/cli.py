"""Command line of bmc; the only module that prints."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from bmc import artifacts, errors, mutate, pipeline, target
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError


def main(argv: Sequence[str]) -> int:
    """Runs one subcommand; returns 0, 1 (the user's mistake), 2 (usage) or 70 (bmc's)."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.WARNING,
        format="%(name)s: %(message)s",
        stream=sys.stderr,
    )
    try:
        arguments.run(arguments)
    except BmcError as error:
        print(f"bmc: {error}", file=sys.stderr)
        return errors.EXIT_USER_ERROR
    except Exception:
        traceback.print_exc()
        print("bmc: internal error: please report the lines above", file=sys.stderr)
        return errors.EXIT_INTERNAL_ERROR
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bmc", description=__doc__)
    parser.add_argument(
        "--verbose", action="store_true", help="log every command of IREE and its messages"
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    importer = commands.add_parser(
        "import", help="bring a model into MLIR together with its golden data"
    )
    _add_source(importer)
    importer.add_argument("--out", type=Path, required=True, help="import directory to write")
    importer.set_defaults(run=_run_import)

    compiler = commands.add_parser("compile", help="compile a model for one instruction set")
    compiler.add_argument(
        "--import", dest="imported", type=Path, help="import directory made by `bmc import`"
    )
    compiler.add_argument("--isa", required=True, choices=target.ISA_NAMES, help="instruction set")
    compiler.add_argument("--name", required=True, help="C name of the model")
    compiler.add_argument("--out", type=Path, required=True, help="folder for the results")
    compiler.add_argument("--tuning", type=Path, help="tuning.json with lowering configurations")
    compiler.set_defaults(run=_run_compile)

    mutator = commands.add_parser("mutate", help="change one weight, for a negative control")
    mutator.add_argument("--report", type=Path, required=True, help="report.json of `bmc compile`")
    mutator.add_argument("--weights", type=Path, required=True, help="weights.bin beside it")
    mutator.add_argument("--out", type=Path, required=True, help="file for the changed weights")
    mutator.set_defaults(run=_run_mutate)
    return parser


def _add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", help="model.py:factory, or a .mlir or .mlirbc file")
    parser.add_argument(
        "--cases",
        default="",
        help="module.py:function returning bmc.spec.MlirCases, for MLIR files",
    )
    parser.add_argument(
        "--output-type",
        choices=("stablehlo", "linalg"),
        default="stablehlo",
        help="what torch-mlir lowers PyTorch to",
    )


def _run_import(arguments: argparse.Namespace) -> None:
    model = _import(arguments, arguments.out)
    golden = model.golden
    print(f"imported {model.source}: {len(golden.inputs)} cases, golden data from {golden.source}")


def _import(arguments: argparse.Namespace, out: Path) -> ImportedModel:
    from bmc import frontends

    out.mkdir(parents=True, exist_ok=True)
    model = frontends.import_model(arguments.source, arguments.cases, arguments.output_type, out)
    artifacts.save(model, out)
    return model


def _run_compile(arguments: argparse.Namespace) -> None:
    model = artifacts.load(arguments.imported)
    options = pipeline.CompileOptions(
        arguments.name, target.find(arguments.isa), arguments.out, arguments.tuning
    )
    report = pipeline.compile_model(model, options)
    flash, arena = report["flash"], report["arena"]
    print(
        f"{arguments.name} for {arguments.isa}: kernels {flash['kernels_bytes']} B, weights {flash['weights_bytes']} B,"
        f" plan {flash['plan_bytes']} B, arena {arena['bytes']} B, {len(report['commands'])} commands"
    )


def _run_mutate(arguments: argparse.Namespace) -> None:
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    data, change = mutate.mutate(arguments.weights.read_bytes(), report)
    arguments.out.write_bytes(data)
    print(f"{change.weight}[{change.index}]: {change.before:g} became {change.after:g}")
