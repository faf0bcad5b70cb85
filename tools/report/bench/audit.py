"""Checks in a model's disassembly that its products of many numbers are made of vectors.

A kernel that is not is ten to a hundred times slower than it could be. It fails the build of a model that lists its
known ones, and otherwise the build says so.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

from bmc.report import Code, Dispatch, Model
from tools import cli
from tools.actions.persistent_worker import persistent_worker
from tools.report.bench import code
from tools.report.files import load, save

# Fewer multiply-accumulates are not worth the words.
_FEW_MACS = 1000
# The known ones: `model isa op: reason`, a line each.
_COMMENT = "#"


@dataclasses.dataclass(frozen=True, order=True)
class Known:
    """A kernel that is known not to be vectorized."""

    model: str
    isa: str
    op: str


def known(text: str) -> dict[Known, str]:
    """Returns the reasons in a list of known kernels; raises UserError for a line that is none."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(_COMMENT):
            continue
        head, colon, reason = line.partition(":")
        if not colon or not reason.strip() or len(head.split()) != 3:
            raise cli.UserError(f"line {number} is not `model isa op: reason`: {line.strip()}")
        found[Known(*head.split())] = reason.strip()
    return found


def facts(report: Model, disassembly: list[str]) -> dict[str, Code]:
    """Returns what the code of each kernel shows, by the kernel's name.

    Args:
      report: the compiler's.
      disassembly: of its kernels.elf.
    """
    starts = {dispatch.name: dispatch.address for dispatch in report.dispatches}
    kernels = code.kernels(code.instructions(disassembly), starts)
    return {
        name: Code(
            hot_loop=tuple(map(str, kernel.hot_loop.body)) if kernel.hot_loop else (),
            scalar_products=kernel.scalar_products,
            spills=kernel.spills,
            vectorized=kernel.vectorized,
        )
        for name, kernel in kernels.items()
    }


def scalar(report: Model, kernels: dict[str, Code]) -> list[Dispatch]:
    """Returns the dispatches with many products whose kernel multiplies one number at a time."""
    return [
        dispatch
        for dispatch in report.dispatches
        if dispatch.macs > _FEW_MACS and not dispatch.call and not kernels[dispatch.name].vectorized
    ]


def sentence(report: Model, dispatch: Dispatch, kernel: Code) -> str:
    """Says which layer of the model is slow, and why."""
    launches = [c for c in report.commands if c.function == dispatch.name]
    layers = list(dict.fromkeys(c.layer for c in launches if c.layer))
    layer = layers[0] if layers else dispatch.source or dispatch.name
    more = f" and {len(layers) - 1} more" if len(layers) > 1 else ""
    where = f" ({dispatch.source})" if layers and dispatch.source else ""
    names = ", ".join(kernel.scalar_products)
    how = (
        f"its loops multiply one number at a time ({names})"
        if names
        else "it has no vector products"
    )
    return (
        f"layer '{layer}'{more}{where} did not vectorize for {report.isa}: {dispatch.macs:,} "
        f"multiply-accumulates, and {how}; kernel {dispatch.op}"
    )


def check(report: Model, kernels: dict[str, Code], listed: dict[Known, str]) -> list[str]:
    """Returns one sentence for every scalar kernel that is not listed, and for every line that is stale."""
    found = {
        Known(report.name, report.isa, dispatch.op): dispatch
        for dispatch in scalar(report, kernels)
    }
    problems = [
        sentence(report, dispatch, kernels[dispatch.name])
        for key, dispatch in found.items()
        if key not in listed
    ]
    stale = [
        key
        for key in sorted(listed)
        if (key.model, key.isa) == (report.name, report.isa) and key not in found
    ]
    problems += [f"kernel {key.op} is vectorized now: remove its line" for key in stale]
    return problems


@cli.program("audit", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--model", required=True, help="label of the model")
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--elf", type=Path, required=True)
    parser.add_argument("--objdump", required=True)
    parser.add_argument("--known", type=Path, help="kernels that may be scalar; others fail")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    report = load(options.report, Model)
    kernels: dict[str, Code] = {}
    if report.vlen_bits and report.dispatches:
        command = [options.objdump, "-d", "--no-show-raw-insn", str(options.elf)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        kernels = facts(report, text.splitlines())
    try:
        listed = known(options.known.read_text()) if options.known else {}
    except cli.UserError as error:
        raise cli.UserError(f"{options.known}: {error}") from None
    problems = check(report, kernels, listed) if kernels else []
    kind = "error" if options.known else "warning"
    for problem in problems:
        print(f"{options.model}: {kind}: {problem}", file=sys.stderr)
    if problems and not options.known:
        print("docs/performance.md says what can be done about it", file=sys.stderr)
    if problems and options.known:
        print(f"{options.known} lists the known ones, with reasons", file=sys.stderr)
        return 1
    save(options.out, kernels)
    return 0


if __name__ == "__main__":
    sys.exit(persistent_worker.run(main, sys.argv[1:]))
