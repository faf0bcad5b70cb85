"""Boots firmware in its execution environment.

`live` streams the console and ends with the verdict's exit status; `bazel run` starts it. `record`
writes the whole run to a JSON file for tests and reports to judge. It fails only when the run could
not start or did not end, so a verdict is never confused with a broken harness.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tools.emulate import process, result

TAIL_LINES = 50


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="runner", description=__doc__)
    parser.add_argument("mode", choices=("live", "record"))
    parser.add_argument("--deadline", type=float, required=True, help="seconds")
    parser.add_argument(
        "--expect", default="PASS", choices=result.ENDS, help="end that makes `live` succeed"
    )
    parser.add_argument("--tool-path", action="append", default=[], help="program to put on PATH")
    parser.add_argument("--out", type=Path, help="JSON file written by `record`")
    own, separator, argv = _split(args)
    options = parser.parse_args(own)
    if not separator or not argv:
        parser.error("no emulator named: put `-- emulator arguments...` at the end")
    env = process.with_tools(options.tool_path)
    try:
        if options.mode == "live":
            return _live(argv, options.deadline, env, options.expect)
        if options.out is None:
            parser.error("`record` needs --out FILE")
        return _record(argv, options.deadline, env, options.out)
    except process.EmulatorError as error:
        print(f"runner: {error}", file=sys.stderr)
        return 2


def _split(args: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in args:
        return args, False, []
    at = args.index("--")
    return args[:at], True, args[at + 1 :]


def _live(argv: list[str], deadline: float, env: dict[str, str], expect: str) -> int:
    start = time.monotonic()
    outcome = process.run(argv, deadline, lambda line: print(line, flush=True), env)
    seconds = time.monotonic() - start
    verdict = result.judge_expected(outcome, expect)
    print()
    try:
        print(*summary(outcome), sep="\n")
    except result.RecordError as error:
        verdict = result.Verdict(False, str(error))
    print(
        f"{'PASS' if verdict.ok else 'FAIL'}: {verdict.sentence} ({seconds:.1f} s in the emulator)"
    )
    return 0 if verdict.ok else 1


def summary(outcome: result.Outcome) -> list[str]:
    """Returns the run's numbers as sentences, each about one model; may raise RecordError."""
    return [
        f"{name}: {sentence}"
        for name, records in outcome.models().items()
        for sentence in _model_summary(records)
    ]


def _model_summary(records: list[result.Record]) -> list[str]:
    sentences = []
    cases = [record for record in records if record.kind == "CASE"]
    if cases:
        worst = max(case.real("max_abs") for case in cases)
        matched = sum(case.field("result") == "ok" for case in cases)
        sentences.append(
            f"{matched} of {len(cases)} cases match the framework's own output; "
            f"largest difference {worst:.2g}"
        )
    for record in records:
        number = record.number
        if record.kind == "ACCURACY":
            sentences.append(
                f"{number('correct')} of {number('total')} classified correctly; the framework: "
                f"{number('framework')}"
            )
        elif record.kind == "STATS":
            sentences.append(
                f"{number('instret'):,} instructions, arena {number('arena'):,} bytes, "
                f"stack {number('stack'):,} bytes"
            )
    return sentences


def _record(argv: list[str], deadline: float, env: dict[str, str], out: Path) -> int:
    outcome = process.run(argv, deadline, env=env)
    if outcome.exit_status is None:
        print(*outcome.lines[-TAIL_LINES:], sep="\n", file=sys.stderr)
        print(
            f"runner: {Path(argv[0]).name} did not end within {deadline:g} s (last lines above); "
            "on a slow machine, raise the deadline of its bm_exec_env",
            file=sys.stderr,
        )
        return 1
    out.write_text(
        json.dumps({"exit_status": outcome.exit_status, "lines": outcome.lines}, indent=0) + "\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
