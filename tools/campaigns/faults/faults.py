"""Makes small faults in a copy of this checkout, one at a time, and expects their tests to fail.

example:
  tools/bazel run //tools/campaigns/faults -- --count 10

The faults and their tests are in tools/campaigns/faults/tables; a trial is a fault, in their order.
What is not committed is not in the copy. A find is a fault that no test noticed, though the table
gives no reason for that.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import campaign
from rich.console import Console

from tools import cli
from tools.campaigns.faults import table, trials
from tools.campaigns.faults.table import Fault


@cli.program("faults", __doc__, status=2)
def main(parser: cli.Parser, args: list[str]) -> int:
    faults = table.load()
    campaign.add_arguments(parser, count=len(faults))
    parser.add_argument("--only", metavar="NAME", help="run this fault alone")
    options = parser.parse_args(args)
    chosen = [pair for pair in enumerate(faults) if pair[0] in campaign.budget(options).trials()]
    if options.only:
        chosen = [pair for pair in enumerate(faults) if pair[1].name == options.only]
    if not chosen:
        parser.error("no fault has this name or number")
    return _run(cli.workspace(), chosen, options.finds, Console())


def _run(checkout: Path, chosen: list[tuple[int, Fault]], finds: Path, console: Console) -> int:
    with tempfile.TemporaryDirectory() as work:
        copy = trials.Copy.make(checkout, Path(work) / "copy")
        try:
            trials.check_baseline(copy, [fault for _, fault in chosen])
            results = trials.run(copy, chosen)
            status = campaign.run(
                "faults", results, count=len(chosen), finds=finds, console=console
            )
        finally:
            copy.remove()
    for _, fault in chosen:
        if fault.survives:
            console.print(f"{fault.name} may survive: {fault.survives}", highlight=False)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
