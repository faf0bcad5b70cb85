"""Compares tokenizers that were compiled for the target with the package `tokenizers`, on many texts.

examples:
  tools/bazel run //tools/campaigns/tokens -- --count 1000000
  tools/bazel run //tools/campaigns/tokens -- --kind llama3 --seed 7
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import compare

from tools import cli

# Differences that are shown of each tokenizer.
_SHOWN = 10


@cli.program("tokens", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    # The rule gives these: kind, source and program.
    parser.add_argument("--tokenizer", action="append", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kind", help="default: all, one after the other")
    parser.add_argument("--count", type=int, default=100000, help="texts; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)
    known = {kind: files for kind, *files in (each.split("=") for each in options.tokenizer)}
    if options.kind and options.kind not in known:
        raise cli.UserError(f"there is no {options.kind}: --kind is one of {', '.join(known)}")
    chosen = [options.kind] if options.kind else list(known)
    each = -(-options.count // len(chosen))
    bad = 0
    for kind in chosen:
        source, program = map(Path, known[kind])
        start = time.monotonic()
        found = 0
        for difference in compare.differences(program, source, each, options.seed):
            found += 1
            if found <= _SHOWN:
                print(f"{kind}: {difference}", flush=True)
        seconds = time.monotonic() - start
        print(f"{kind}: {found} of {each} texts differ ({seconds:.0f} s)", flush=True)
        bad += found
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
