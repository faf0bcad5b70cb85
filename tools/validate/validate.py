"""Runs a model on the target with your own data, and compares its answers with the framework's.

The target runs service firmware: an emulator, a program on this machine, or a board on a serial port. It receives
each sample over the console and sends back what it computed. Ctrl-C ends the run and keeps what is done.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bmc import artifacts
from bmc.artifacts import ImportedModel
from bmc.dtype import Array
from tools import console
from tools.emulate.process import EmulatorError
from tools.flash.errors import FlashError
from tools.status import decode
from tools.validate import framework, measures, page, samples
from tools.validate.links import PortLink, ProgramLink
from tools.validate.samples import DataError
from tools.validate.service import Run, Service, ServiceError

_BAUD = 115200


@dataclass(frozen=True)
class Job:
    """What is sent and what should come back: for each sample, one array per input or output."""

    model: ImportedModel
    inputs: tuple[tuple[Array, ...], ...]
    want: tuple[tuple[Array, ...], ...]
    labels: Array | None


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument(
        "--data",
        type=_user_path,
        required=True,
        metavar="FILE",
        help=".npz with an array for each input (and labels, if there are any), or .npy of the only input;"
        " samples along the first axis",
    )
    parser.add_argument(
        "--labels", type=_user_path, metavar="FILE", help=".npy with the class of each sample"
    )
    parser.add_argument(
        "--expected",
        type=_user_path,
        metavar="FILE",
        help=".npz with an array for each output; without it, the model's framework computes them",
    )
    parser.add_argument("--count", type=_positive, metavar="N", help="use the first N samples only")
    parser.add_argument("--model", default="", help="name of the model; default: the first one")
    parser.add_argument(
        "--port", default="", help="serial port of a board that runs the service firmware"
    )
    parser.add_argument(
        "--baud", type=_positive, default=_BAUD, help="of the port; default: %(default)s"
    )
    parser.add_argument(
        "--worst",
        type=_user_path,
        metavar="FILE",
        help="file for the samples with the largest errors, as .npz: index, inputs, target's and expected outputs",
    )
    options = parser.parse_args(args)
    session = json.loads(options.session.read_text())
    try:
        return _validate(session, options, console.standard_output())
    except (DataError, EmulatorError, FlashError, ServiceError) as error:
        print(f"validate: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("validate: stopped before the first sample was done", file=sys.stderr)
        return 2


def _user_path(text: str) -> Path:
    # Relative to where the user typed the command.
    return Path(os.environ.get("BUILD_WORKING_DIRECTORY", ""), text)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _validate(session: dict[str, Any], options: argparse.Namespace, out: Console) -> int:
    index, chosen = _choose(session["models"], options.model)
    with out.status("the framework computes what is expected"):
        job = _job(chosen, options)
    with _service(session, options) as service:
        opened = service.open(index)
        _check_same_model(opened.name, chosen["c_name"])
        runs = _run(service, job, out)
    if not runs:
        raise KeyboardInterrupt
    return _report(job, runs, options, out)


def _choose(models: Sequence[dict[str, Any]], name: str) -> tuple[int, dict[str, Any]]:
    for index, model in enumerate(models):
        if name in ("", model["name"]):
            return index, model
    raise DataError(
        f"the firmware has no model {name}: it has {', '.join(m['name'] for m in models)}"
    )


def _job(chosen: dict[str, Any], options: argparse.Namespace) -> Job:
    """Reads the data, and has the framework compute what is not given."""
    model = artifacts.load(Path(chosen["imported"]))
    if model.golden.calls:
        raise DataError(
            f"{chosen['name']} has several entry points or state, so one call depends on another: only its"
            " own cases can be checked, with the model's tests"
        )
    inputs, labels = samples.read(options.data, model.inputs)
    if options.labels:
        labels = samples.read_labels(options.labels, len(inputs[0]))
    if options.count:
        inputs = [array[: options.count] for array in inputs]
        labels = None if labels is None else labels[: options.count]
    if options.expected is None:
        model = framework.answers(chosen["importer"], inputs)
        return Job(model, model.golden.inputs, model.golden.outputs, labels)
    want, _ = samples.read(options.expected, model.outputs)
    if len(want[0]) < len(inputs[0]):
        raise DataError(
            f"{options.expected} has {len(want[0])} samples and {options.data} {len(inputs[0])}: give"
            " the expected outputs of each"
        )
    for info, array in zip(model.inputs, inputs, strict=True):
        if array.dtype != info.dtype.numpy:
            raise DataError(
                f"{info.name} is {array.dtype}, and the model takes {info.describe()}: without --expected,"
                " the framework quantizes it; with it, give what the model takes"
            )
    cases = tuple(zip(*inputs, strict=True))
    return Job(model, cases, tuple(zip(*want, strict=True))[: len(cases)], labels)


@contextlib.contextmanager
def _service(session: dict[str, Any], options: argparse.Namespace) -> Iterator[Service]:
    link: PortLink | ProgramLink
    if options.port:
        link = PortLink(options.port, options.baud)
    elif session["run"]:
        link = ProgramLink(session["run"], session["path_tools"])
    else:
        raise DataError(
            f"{session['board']} runs on no emulator: put its service firmware on the board"
            " (`.service.flash` instead of `.validate`), and give the port of its console with --port"
        )
    with contextlib.closing(link):
        root = Path(__file__).resolve().parent.parent.parent
        yield Service(link, session["deadline"], lambda word: decode.describe(word, root))


def _check_same_model(found: str, wanted: str) -> None:
    if found != wanted:
        raise ServiceError(
            f"the target runs the model {found}, not {wanted}: flash the service firmware of {wanted}"
        )


def _run(service: Service, job: Job, out: Console) -> list[Run]:
    """Runs all samples, or those before Ctrl-C."""
    bar = Progress(
        TextColumn("samples"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=out,
        transient=True,
        disable=not out.is_terminal,
    )
    runs: list[Run] = []
    with bar, contextlib.suppress(KeyboardInterrupt):
        for case in bar.track(job.inputs):
            runs.append(service.run([np.ascontiguousarray(array).tobytes() for array in case]))
    return runs


def _report(job: Job, runs: Sequence[Run], options: argparse.Namespace, out: Console) -> int:
    infos = job.model.outputs
    got = [
        tuple(
            np.frombuffer(data, info.dtype.numpy).reshape(info.shape)
            for data, info in zip(run.outputs, infos, strict=True)
        )
        for run in runs
    ]
    want = job.want[: len(got)]
    labels = None if job.labels is None else job.labels[: len(got)]
    found = [
        measures.output(info.name, g, w, policy)
        for info, g, w, policy in zip(
            infos,
            zip(*got, strict=True),
            zip(*want, strict=True),
            job.model.golden.policies,
            strict=True,
        )
    ]
    out.print(page.outputs(found))
    for output in found:
        if output.steps:
            out.print(page.steps(output))
    named = measures.classes([g[0] for g in got], [w[0] for w in want], labels)
    if named is not None:
        out.print(*page.classes(named), sep="\n")
        if named.confusion is not None:
            out.print(page.confusion(named.confusion))
    order = measures.worst(got, want)
    if options.worst:
        _save_worst(options.worst, job, got, order[:10])
        out.print(f"wrote the samples with the largest errors to {options.worst}")
    instret = [run.instret for run in runs]
    if any(instret):
        out.print(f"instructions of a run: {min(instret):,} to {max(instret):,}")
    bad = sorted({index for output in found for index in output.misses})
    if len(runs) < len(job.inputs):
        out.print(f"stopped after {len(runs)} of {len(job.inputs)} samples")
    if bad:
        shown = [index for index in order if index in set(bad)][:5]
        out.print(
            f"{len(bad)} of {len(runs)} samples are outside of the model's tolerance; the worst are"
            f" {', '.join(map(str, shown))}"
        )
        return 1
    out.print(f"all {len(runs)} samples are within the model's tolerance")
    return 0


def _save_worst(
    path: Path, job: Job, got: Sequence[tuple[Array, ...]], order: Sequence[int]
) -> None:
    arrays: dict[str, Array] = {"index": np.array(order)}
    for number, info in enumerate(job.model.inputs):
        arrays[info.name] = np.stack([job.inputs[index][number] for index in order])
    for number, info in enumerate(job.model.outputs):
        arrays[f"target_{info.name}"] = np.stack([got[index][number] for index in order])
        arrays[f"expected_{info.name}"] = np.stack([job.want[index][number] for index in order])
    try:
        np.savez(path, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
