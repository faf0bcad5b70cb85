"""Shows how far models are from what their hardware could do: every dispatch, from real runs on Spike.

examples:
  tools/bazel run //tools/report/bench -- mlp
  tools/bazel run //tools/report/bench -- resnet8_int8 --vlen 256 --core x60
  tools/bazel run //tools/report/bench -- resnet8_int8 vww_int8 --harts 1,2,4
  tools/bazel run //tools/report/bench -- mlp_int8 --gates
  tools/bazel run //tools/report/bench -- resnet8_int8 bert --cores
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bmc import records
from tools import cli, console
from tools.report import baseline
from tools.report.bench import builds, cores, gates, mca, page, several
from tools.report.bench.core_cycles import ModelCycles
from tools.report.bench.measured import Model
from tools.report.report import Image

_BASELINE = Path("models/baseline.txt")


@cli.program("bench", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument(
        "models", nargs="*", help="labels of images or short names; default: all that are small"
    )
    parser.add_argument("--vlen", default="256", help="VLENs in bits, separated by commas")
    parser.add_argument(
        "--core", help="whose cycles are modeled; default: x280, and all of them with --cores"
    )
    parser.add_argument(
        "--harts", help="show the critical path on these numbers of harts instead: of 1, 2 and 4"
    )
    parser.add_argument(
        "--gates", action="store_true", help="show cycles on CPU designs in gates instead"
    )
    parser.add_argument(
        "--cores",
        action="store_true",
        help="show modeled cycles of bmc's own kernels on cores instead, and what is lost without `bmc --core`",
    )
    parser.add_argument("--json", type=Path, help="file for all rows")
    parser.add_argument(
        "--update", action="store_true", help="measure what the baseline holds, and renew it"
    )
    parser.add_argument(
        "--baseline", type=Path, default=_BASELINE, help="file in the workspace to renew"
    )
    options = parser.parse_args(args)
    if options.update:
        return _update(options.baseline, options.models)
    if options.harts:
        return _show_harts(options.models, _numbers(parser, "--harts", options.harts))
    if options.gates:
        return _show_gates(options.models)
    if options.cores:
        return _show_cores(options.models, options.core, options.json)
    vlens = _numbers(parser, "--vlen", options.vlen)
    return _show(options.models, vlens, _llvm_name(options.core), options.json)


def _numbers(parser: cli.Parser, option: str, text: str) -> list[int]:
    if not all(part.isdecimal() for part in text.split(",")):
        parser.error(f"{option} {text} is no list of numbers")
    return [int(part) for part in text.split(",")]


def _llvm_name(core: str | None) -> str:
    """Returns what llvm-mca calls a core; raises UserError if it has no model of it."""
    if core is None:
        return mca.DEFAULT
    if core in mca.NAMES:
        return mca.NAMES[core]
    for name, known in mca.NAMES.items():
        if core == known:
            cli.complain("bench", f"{core} is called {name} here, as in `bmc compile --core`")
            return known
    raise cli.UserError(
        f"llvm-mca has no model of a core '{core}'; it has {', '.join(mca.NAMES)}, and --cores all of bmc's"
    )


def _show_cores(names: list[str], core: str | None, out: Path | None) -> int:
    """Shows modeled cycles of models on one core, or all."""
    found = builds.results(builds.on_cores(names), tuple[ModelCycles, ...])
    models = [model for image in found.values() for model in image]
    known = {each.core for model in models for each in model.cores}
    if core and core not in known:
        raise cli.UserError(f"there is no core '{core}'; there are {', '.join(sorted(known))}")
    console.standard_output().print(*cores.tables(models, {core} if core else ()), sep="\n")
    _write(models, out)
    return 0


def _write(models: Sequence[ModelCycles | Model], out: Path | None) -> None:
    if out:
        cli.user_path(out).write_text(json.dumps(records.encode(models), indent=1) + "\n")


def _show_harts(names: list[str], counts: list[int]) -> int:
    """Shows models on several harts, beside one."""
    labels = builds.on_harts(names, counts)
    reports = builds.results([label for image in labels for label in image.values()], Image)
    images = [{count: reports[label] for count, label in image.items()} for image in labels]
    console.standard_output().print(several.table(images))
    return 0


def _show_gates(names: list[str]) -> int:
    """Shows models on CPU designs in gates, with a ROM as fast as the RAM, and with flash."""
    labels = builds.in_gates(names)
    reports = builds.results([label for pair in labels for label in pair], Image)
    screen = console.standard_output()
    for fast, slow in labels:
        screen.print(*gates.lines(reports[fast], reports[slow]), "", sep="\n")
    return 0


def _show(names: list[str], vlens: list[int], core: str, out: Path | None) -> int:
    found = builds.results(builds.benches(names, vlens, core), tuple[Model, ...])
    models = [model for image in found.values() for model in image]
    screen = console.standard_output()
    for model in models:
        screen.print(*page.table(model), "", sep="\n")
    screen.print(*page.ranking(models), sep="\n")
    _write(models, out)
    return 0


def _update(file: Path, names: list[str]) -> int:
    """Writes what images take into the baseline: those named by label, or all that wildcards test."""
    images = names or builds.held()
    reports = builds.results([f"{image}.report" for image in images], Image)
    path = cli.workspace() / file
    before = path.read_text() if path.is_file() else ""
    measured = {label.rpartition(":")[2].removesuffix(".report"): r for label, r in reports.items()}
    after = baseline.renew(before, measured)
    path.write_text(after)
    changed = set(after.splitlines()) - set(before.splitlines())
    print(*sorted(changed), f"{len(changed)} lines of {file} changed", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
