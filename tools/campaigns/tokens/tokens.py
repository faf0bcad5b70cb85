"""Compares tokenizers that were compiled for the target with the package `tokenizers`, on many texts.

examples:
  tools/bazel run //tools/campaigns/tokens -- --count 1000000
  tools/bazel run //tools/campaigns/tokens -- --kind llama3 --seed 7
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import compare

from tools import cli

_HERE = Path(__file__).parent
# Differences that are shown of each tokenizer.
_SHOWN = 10


@cli.program("tokens", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    kinds = sorted(path.stem for path in _HERE.glob("*.json"))
    parser.add_argument("--kind", choices=kinds, help="default: all, by turns")
    parser.add_argument("--count", type=int, default=100000, help="texts; default: %(default)s")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(args)
    chosen = [options.kind] if options.kind else kinds
    each = -(-options.count // len(chosen))
    bad = 0
    for kind in chosen:
        start = time.monotonic()
        found = 0
        program, source = _HERE / f"{kind}_tokens", _HERE / f"{kind}.json"
        # A tokenizer for words does not say how they are joined.
        decodes = not kind.startswith("wordpiece")
        for difference in compare.differences(program, source, each, options.seed, decodes=decodes):
            found += 1
            if found <= _SHOWN:
                print(f"{kind}: {difference}", flush=True)
        seconds = time.monotonic() - start
        print(f"{kind}: {found} of {each} texts differ ({seconds:.0f} s)", flush=True)
        bad += found
    return int(bad != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
