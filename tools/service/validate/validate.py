"""Runs a model on the target with your own data, and compares its answers with the framework's.

example:
  tools/bazel run //models:resnet8_int8_rv64.validate -- --data images.npz

The target runs service firmware: an emulator, a program on this machine, or a board on a serial
port. It receives each sample over the console and sends back what it computed. Ctrl-C ends the run
and keeps what is done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bmc import artifacts
from bmc.report import Model
from tools import cli, console
from tools.report.files import load
from tools.service import sessions
from tools.service.service import Run, Service
from tools.service.validate import job as jobs
from tools.service.validate import page, results, serve
from tools.service.validate.comparison import Comparison
from tools.service.validate.job import Job, Options


@cli.program("validate", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    what.add_argument(
        "--data",
        type=cli.user_path,
        metavar="FILE",
        help=".npz with an array for each input (and labels, if there are any), or .npy of the only input;"
        " samples along the first axis",
    )
    parser.add_argument(
        "--labels", type=cli.user_path, metavar="FILE", help=".npy with the class of each sample"
    )
    parser.add_argument(
        "--expected",
        type=cli.user_path,
        metavar="FILE",
        help=".npz with an array for each output; without it, the model's framework computes them",
    )
    parser.add_argument(
        "--entry",
        action="append",
        default=[],
        metavar="NAME",
        help="entry point to call; several: a sample calls them in this order, and arrays are named ENTRY.INPUT",
    )
    parser.add_argument(
        "--per-layer",
        type=sessions.positive,
        nargs="?",
        const=sys.maxsize,
        default=0,
        metavar="N",
        help="also compare what each layer computes with this machine's build, in the first N samples (default: all)",
    )
    parser.add_argument(
        "--count", type=sessions.positive, metavar="N", help="use the first N samples only"
    )
    parser.add_argument("--model", default="", help="name of the model; default: the first one")
    parser.add_argument(
        "--port",
        default="",
        help="serial port of a board that runs the service firmware; with `.probe`, selects the probe",
    )
    parser.add_argument(
        "--baud",
        type=sessions.positive,
        default=sessions.BAUD,
        help="of the port; default: %(default)s",
    )
    parser.add_argument(
        "--worst",
        type=cli.user_path,
        metavar="FILE",
        help="file for the samples with the largest errors, as .npz: index, inputs, target's and expected outputs",
    )
    options = parser.parse_args(args)
    session = json.loads(options.session.read_text())
    try:
        if options.serve:
            return _serve(session, options)
        return _validate(session, options, console.standard_output())
    except KeyboardInterrupt:
        print("validate: stopped before the first sample was done", file=sys.stderr)
        return 2


def _serve(session: dict[str, Any], options: argparse.Namespace) -> int:
    index, chosen = _choose(session["models"], options.model)
    model = artifacts.load(Path(chosen["imported"]))
    with sessions.service(session, options.port, options.baud) as target:
        sessions.open_model(target, index, chosen["c_name"], model.signatures)
        serve.serve(target, model.signatures, sys.stdin.buffer, sys.stdout.buffer)
    return 0


def _validate(session: dict[str, Any], options: argparse.Namespace, out: Console) -> int:
    index, chosen = _choose(session["models"], options.model)
    reference = _reference(session, index) if options.per_layer else None
    given = Options(
        options.data, options.labels, options.expected, tuple(options.entry), options.count or 0
    )
    with out.status("the framework computes what is expected"):
        job = jobs.read(chosen, given)
    with contextlib.ExitStack() as ends:
        target = ends.enter_context(sessions.service(session, options.port, options.baud))
        opened = index, chosen["c_name"], job.model.signatures
        sessions.open_model(target, *opened)
        compared = None
        if reference:
            other = ends.enter_context(sessions.program(reference["run"], (), session["deadline"]))
            sessions.open_model(other, *opened)
            report = load(Path(chosen["report"]), Model)
            compared = Comparison(target, other, report, reference["report"])
        runs = _run(target, job, compared, options.per_layer, out)
    if not runs:
        raise KeyboardInterrupt
    if compared:
        for name, grown in compared.found.items():
            out.print(*page.layers(name if len(compared.found) > 1 else "", grown), sep="\n")
    return results.report(job, runs, options.worst, out)


def _reference(session: dict[str, Any], index: int) -> dict[str, Any]:
    """Returns how to run this machine's build, and the report of a model in it."""
    reference = session["reference"]
    if reference is None:
        raise cli.UserError(
            "--per-layer compares a target with this machine: use it without `.host` in the target's name"
        )
    report = load(Path(reference["reports"][index]), Model)
    return {"run": reference["run"], "report": report}


def _choose(models: Sequence[dict[str, Any]], name: str) -> tuple[int, dict[str, Any]]:
    for index, model in enumerate(models):
        if name in ("", model["name"]):
            return index, model
    raise cli.UserError(
        f"the firmware has no model {name}: it has {', '.join(m['name'] for m in models)}"
    )


def _run(
    service: Service, job: Job, compared: Comparison | None, most: int, out: Console
) -> list[Run]:
    """Makes all calls, or those before Ctrl-C; the first `most` samples are compared layer by layer."""
    bar = Progress(
        TextColumn(job.unit),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    runs: list[Run] = []
    with bar, contextlib.suppress(KeyboardInterrupt):
        for index, case in enumerate(bar.track(job.inputs)):
            data = [np.ascontiguousarray(array).tobytes() for array in case]
            name, reset = job.signature(index).name, job.calls[index].reset
            if compared and job.samples[index] < most:
                runs.append(compared.run(name, reset, data))
            else:
                service.entry(name)
                if reset:
                    service.reset()
                runs.append(service.run(data))
    return runs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
