"""Judges recorded runs: each run against its expected end, or all of them for agreement."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tools import cli
from tools.printable import printable
from tools.run import result

TAIL_LINES = 50


def load(path: Path) -> result.Outcome:
    """Reads a run that `runner record` wrote."""
    data = json.loads(path.read_text())
    return result.Outcome(tuple(data["lines"]), data["exit_status"])


def agree(outcomes: dict[str, result.Outcome]) -> result.Verdict:
    """Decides whether all runs passed and computed the same bits (a HASH record per model)."""
    hashes: dict[str, dict[str, str]] = {}
    for name, outcome in outcomes.items():
        verdict = result.judge(outcome)
        if not verdict.ok:
            return result.Verdict(False, f"{name} did not pass: {verdict.sentence}")
        try:
            hashes[name] = _hashes(outcome)
        except result.RecordError as error:
            return result.Verdict(False, f"{name}: {error}")
        if not hashes[name]:
            return result.Verdict(False, f"{name} printed no MODEL record")
    models = sorted(set().union(*hashes.values()))
    apart = [m for m in models if len({found.get(m) for found in hashes.values()}) != 1]
    if apart:
        listed = "; ".join(
            f"{name}: {', '.join(f'{model} {found.get(model)}' for model in apart)}"
            for name, found in hashes.items()
        )
        return result.Verdict(False, f"the runs disagree bit for bit: {listed}")
    same = ", ".join(f"{model} {value}" for model, value in next(iter(hashes.values())).items())
    return result.Verdict(True, f"{len(hashes)} runs agree: {same}")


def _hashes(outcome: result.Outcome) -> dict[str, str]:
    """Returns the hash of each model's results; raises RecordError unless there is one of each."""
    hashes = {}
    for model, records in outcome.models().items():
        values = [record.hash() for record in records if record.kind == "HASH"]
        if len(values) != 1:
            raise result.RecordError(f"{len(values)} HASH records of {model}, not one")
        hashes[model] = values[0]
    return hashes


def all_end(outcomes: dict[str, result.Outcome], expect: str, text: str) -> result.Verdict:
    """Decides whether every run ended as `expect` with `text`, and names those that did not."""
    verdicts = {
        name: result.judge_expected(outcome, expect, text) for name, outcome in outcomes.items()
    }
    wrong = {name: verdict for name, verdict in verdicts.items() if not verdict.ok}
    said = "; ".join(f"{name}: {verdict.sentence}" for name, verdict in (wrong or verdicts).items())
    return result.Verdict(not wrong, said)


def second_reference(report: dict[str, Any]) -> str:
    """Returns the result of IREE's own host runtime for a model, which shows where to look for the fault."""
    return f"{report['name']}: {report['golden']['second_reference']}"


@cli.program("judge", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--expect", default="PASS", choices=result.ENDS)
    parser.add_argument(
        "--text",
        default="",
        help="words that the expected record must contain, or, for EXIT, a line of the console",
    )
    parser.add_argument("--agree", action="store_true", help="all runs must compute the same bits")
    parser.add_argument(
        "--model-report",
        type=Path,
        action="append",
        default=[],
        help="the compiler's report.json, one for each model",
    )
    parser.add_argument("records", nargs="+", type=Path)
    options = parser.parse_args(args)
    outcomes = {path.stem: load(path) for path in options.records}
    if options.agree:
        if len(outcomes) < 2:
            parser.error("--agree compares two or more runs")
        verdict = agree(outcomes)
    else:
        verdict = all_end(outcomes, options.expect, options.text)
    for name, outcome in outcomes.items():
        if not options.agree or not result.judge(outcome).ok:
            print(f"{name}:", *map(printable, outcome.lines[-TAIL_LINES:]), sep="\n")
    print(f"{'ok' if verdict.ok else 'FAILED'}: {printable(verdict.sentence)}")
    if not verdict.ok:
        for report in options.model_report:
            print(second_reference(json.loads(report.read_text())))
    return 0 if verdict.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
