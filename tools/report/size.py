"""Sizes and costs of an image: `room`, `report`, `merge`, `check`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmc.report import Code, Model
from tools import cli
from tools.actions.persistent_worker import persistent_worker
from tools.report import baseline, harts, image_report
from tools.report.files import load, save
from tools.report.report import Accuracy, Counted, Devices, Image, Inference, Plain, Ran, Run
from tools.run import judge, result


def with_run(
    report: Image,
    outcome: result.Outcome,
    plain: result.Outcome | None = None,
    clocks: tuple[str, ...] = (),
    cycles_of: str = "",
) -> Image:
    """Returns an image's report with what a profile run measured.

    Args:
      report: of the image.
      outcome: the run.
      plain: one of the same models without kernel libraries; None if the image has none. It only says something about
        models with calls.
      clocks: what the cycles of the machine's devices are.
      cycles_of: the hardware whose cycles the run counted; empty for none.

    Raises:
      UserError: a run did not pass, or they cannot be compared.
    """
    run = run_summary(outcome, clocks, cycles_of)
    if plain:
        groups = zip(report.models, run.models, _models(plain), strict=True)
        models = [
            replace(measured, plain=_plain(measured, without))
            if any(dispatch.call for dispatch in model.dispatches)
            else measured
            for model, measured, without in groups
        ]
        run = replace(run, models=tuple(models))
    return replace(report, run=run)


def run_summary(outcome: result.Outcome, clocks: tuple[str, ...] = (), cycles_of: str = "") -> Run:
    """Returns what a profile run measured; raises UserError if it did not pass, or a record is not as it should be."""
    models = _models(outcome, has_cycles=bool(cycles_of))
    return Run(
        boot=_only(outcome.records("BOOT"), "BOOT").fields,
        clocks=clocks,
        cycles_of=cycles_of,
        instructions=sum(model.instructions for model in models),
        models=tuple(models),
        stack_bytes=max(r.number("stack") for r in outcome.records("STATS")),
    )


def _models(outcome: result.Outcome, *, has_cycles: bool = False) -> list[Inference]:
    """Returns what one inference of each model took."""
    verdict = result.judge(outcome)
    if not verdict.ok:
        raise cli.UserError(f"the profile run failed: {verdict.sentence}")
    models = [
        model_summary(name, records, has_cycles=has_cycles)
        for name, records in outcome.models().items()
    ]
    if not models:
        raise result.RecordError("no MODEL record")
    return models


def model_summary(
    name: str, records: list[result.Record], *, has_cycles: bool = False
) -> Inference:
    """Returns what one inference of a model took, in total and for each command of its plan.

    A command that runs in a loop is listed once, with the number of times it ran. The result also says
    how close all cases came to the framework's answers. Raises RecordError.

    Args:
      name: of the model.
      records: of the run, about this model.
      has_cycles: whether its cycles are those of hardware.
    """
    stats = _only([record for record in records if record.kind == "STATS"], "STATS")
    commands: dict[int, Ran] = {}
    for record in records:
        if record.kind == "DISPATCH":
            index = record.number("index")
            commands[index] = _added(commands.get(index) or Ran(index, 0, 0), record, has_cycles)
    cases = [record for record in records if record.kind == "CASE"]
    accuracy = [record for record in records if record.kind == "ACCURACY"]
    devices = [record for record in records if record.kind == "DEVICE"]
    together = harts.summary(records)
    return Inference(
        accuracy=_accuracy(accuracy[0]) if accuracy else None,
        commands=tuple(commands.values()),
        cycles=stats.number("cycles") if has_cycles else None,
        devices=Devices(*map(devices[0].number, ("busy", "waited"))) if devices else None,
        differing=sum(case.number("differing") for case in cases),
        harts=together,
        instructions=together.critical if together else stats.number("instret"),
        max_abs=max((case.real("max_abs") for case in cases), default=0.0),
        name=name,
        plain=None,
        # None for a model without dispatches.
        walker_instructions_per_dispatch=None
        if stats.field("walker") == "-"
        else stats.number("walker"),
    )


def _added(before: Ran, record: result.Record, has_cycles: bool) -> Ran:
    """Returns what a command took with one more run of it."""

    def more(name: str, count: int | None) -> int:
        return (count or 0) + record.number(name)

    has_devices = "busy" in record.fields
    return Ran(
        before.index,
        more("instret", before.instructions),
        before.times + 1,
        cycles=more("cycles", before.cycles) if has_cycles else before.cycles,
        busy=more("busy", before.busy) if has_devices else before.busy,
        waited=more("waited", before.waited) if has_devices else before.waited,
    )


def _accuracy(record: result.Record) -> Accuracy:
    return Accuracy(*(record.number(key) for key in ("correct", "framework", "total")))


def _plain(measured: Inference, without: Inference) -> Plain:
    """Returns what a model took without kernel libraries; raises UserError if that has other commands."""
    times, others = ({r.index: r.times for r in run.commands} for run in (measured, without))
    if times != others:
        raise cli.UserError(
            f"{measured.name} has other commands without kernel libraries: its runs cannot be compared"
        )
    counted = (Counted(row.index, row.instructions, row.times) for row in without.commands)
    return Plain(tuple(counted), without.instructions)


def _only(records: list[result.Record], kind: str) -> result.Record:
    if len(records) != 1:
        raise result.RecordError(f"{len(records)} {kind} records, not one")
    return records[0]


@cli.program("size", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    commands = parser.add_subparsers(dest="command", required=True)
    room = commands.add_parser("room", help="fail if the models cannot fit on the board")
    report = commands.add_parser("report", help="write the report of a linked image")
    merge = commands.add_parser("merge", help="add a profile run to a report")
    check = commands.add_parser("check", help="check a measured report against a baseline")
    for command in (room, report):
        command.add_argument("--board", type=Path, required=True)
        command.add_argument("--model-report", type=Path, action="append", required=True)
    room.add_argument(
        "--expect", metavar="TEXT", help="fail unless they cannot fit and the reason contains TEXT"
    )
    report.add_argument("--map", type=Path, required=True)
    report.add_argument("--ram", type=int, help="fail if the image takes more bytes of RAM")
    merge.add_argument("--run", type=Path, required=True)
    merge.add_argument("--plain-run", type=Path, help="run of the models without kernel libraries")
    merge.add_argument("--clock", action="append", default=[], help="what cycles of a device are")
    merge.add_argument("--cycles-of", default="", help="hardware whose cycles the run counted")
    merge.add_argument("--code", type=Path, action="append", default=[])
    check.add_argument("--baseline", type=Path, required=True)
    check.add_argument("--image", required=True)
    for command in (merge, check):
        command.add_argument("--report", type=Path, required=True)
    room.add_argument("--out", type=Path, help="file to write if they fit")
    for command in (report, merge):
        command.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    return _run(options)


def _room(options: argparse.Namespace) -> int:
    models = _model_reports(options)
    if not options.expect:
        image_report.check_room(_board(options), models)
        options.out.write_text("")
        return 0
    try:
        image_report.check_room(_board(options), models)
    except cli.UserError as error:
        print(error)
        return 0 if options.expect in str(error) else 1
    print("fits")
    return 1


def _board(options: argparse.Namespace) -> dict[str, Any]:
    return dict(json.loads(options.board.read_text()))


def _model_reports(options: argparse.Namespace) -> list[Model]:
    return [load(path, Model) for path in options.model_report]


def _run(options: argparse.Namespace) -> int:
    if options.command == "room":
        return _room(options)
    if options.command == "report":
        lines = options.map.read_text().splitlines()
        image = image_report.build(lines, _board(options), _model_reports(options))
        if options.ram:
            image_report.check_ram(image, options.ram)
        save(options.out, image)
    elif options.command == "merge":
        outcome = judge.load(options.run)
        plain = judge.load(options.plain_run) if options.plain_run else None
        report = load(options.report, Image)
        pairs = zip(report.models, options.code, strict=True)
        models = tuple(replace(model, code=load(code, dict[str, Code])) for model, code in pairs)
        report = replace(report, models=models)
        save(
            options.out,
            with_run(report, outcome, plain, tuple(options.clock), options.cycles_of),
        )
    else:
        lines = baseline.read(options.baseline.read_text())
        problems = baseline.check(lines, options.image, load(options.report, Image))
        print(*(problems or ["as in the baseline"]), sep="\n")
        if problems:
            print(
                "tools/bazel run //tools/report/bench -- --update writes what is measured into the file"
            )
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
