"""What each dispatch of an image took in a run on Spike, next to what it could take: one image, one VLEN."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from bmc import records
from bmc.report import Model
from tools import cli
from tools.report import size
from tools.report.bench import bound, code, mca, measured
from tools.report.files import load
from tools.report.report import Image, Inference
from tools.report.rows import Row, as_run
from tools.run import judge, result

# spike -g prints how often each instruction ran: "80001f4c 12".
_COUNT = re.compile(r"^([0-9a-f]{8,16}) (\d+)$")
_SYMBOL = re.compile(r"^([0-9a-f]+) <(\w+)>:$")
_VSET = re.compile(r"^vseti?vli$")


def histogram(lines: Iterable[str]) -> dict[int, int]:
    """Returns how often the instruction at each address ran."""
    found = (_COUNT.match(line) for line in lines)
    return {int(match[1], 16): int(match[2]) for match in found if match}


def image(
    models: Sequence[Model], outcome: result.Outcome, disassembly: list[str], core: mca.Core
) -> list[measured.Model]:
    """Returns what each model of an image took, and each command of its plan.

    Args:
      models: the compiler's reports of the models in the image.
      outcome: a run of the profile image on Spike with -g.
      disassembly: of the image.
      core: whose cycles are modeled.
    """
    run = size.run_summary(outcome)
    counts = histogram(outcome.lines)
    symbols = {m[2]: int(m[1], 16) for line in disassembly if (m := _SYMBOL.match(line))}
    instructions = code.instructions(disassembly)
    found = []
    for model, inference in zip(models, run.models, strict=True):
        prefix = f"{model.name}_k_"
        names = {d.name: prefix + re.sub(r"\W", "_", d.name) for d in model.dispatches}
        # Kernels that the runtime loads are nowhere in the image. Only their instructions are known.
        starts = {name: symbols[symbol] for name, symbol in names.items() if symbol in symbols}
        # The last kernel ends at the next symbol of the image.
        ends = sorted(
            address for address in symbols.values() if address > max(starts.values(), default=0)
        )
        limited = [i for i in instructions if not ends or i.address < ends[0]]
        kernels = code.kernels(limited, starts)
        found.append(_model(model, inference, kernels, counts, run.vlen, core))
    return found


def _model(
    model: Model,
    inference: Inference,
    kernels: dict[str, code.Kernel],
    counts: dict[int, int],
    vlen: int,
    core: mca.Core,
) -> measured.Model:
    rows = as_run(model, inference)
    launches: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    for row in rows:
        x, y, z = row.command.workgroups
        launches[row.command.function] += x * y * z * row.ran.times
        spent[row.command.function] += row.ran.instructions
    executed = {
        name: _executed(kernel, counts, launches[name], core) for name, kernel in kernels.items()
    }

    def command(row: Row) -> measured.Command:
        function = row.command.function
        lowest = bound.of_command(row.command, row.dispatch, vlen) * row.ran.times
        made = measured.Command(
            kind=row.command.kind,
            function=function,
            op=row.op,
            layer=row.command.layer,
            source=row.dispatch.source if row.dispatch else "",
            class_=bound.class_of(row.command, row.dispatch),
            times=row.ran.times,
            instructions=row.ran.instructions,
            macs=row.macs,
            bound=round(lowest, 1),
        )
        all_of_it = executed.get(function)
        if not all_of_it:
            return made
        share = row.ran.instructions / max(spent[function], 1)
        parts = {
            name: None if value is None else round(value * share, 1)
            for name, value in all_of_it.items()
        }
        return records.decode(measured.Executed, {**records.encode(made), **parts})

    return measured.Model(
        name=model.name,
        isa=model.isa,
        vlen=vlen,
        core=core.name,
        instructions=inference.instructions,
        arena_bytes=model.arena.bytes,
        liveness_bound_bytes=model.arena.liveness_bound_bytes,
        commands=tuple(map(command, rows)),
    )


def _executed(
    kernel: code.Kernel, counts: dict[int, int], launches: int, core: mca.Core
) -> dict[str, float | None]:
    """Returns what all launches of a kernel in one inference executed, by use, and their modeled cycles."""
    runs = counts.get(kernel.instructions[0].address, 0) / launches if launches else 0
    if not runs:
        return {}
    by_use: dict[code.Use, float] = defaultdict(float)
    work = 0.0
    for address, use in kernel.uses.items():
        by_use[use] += counts.get(address, 0) / runs
        work += counts.get(address, 0) / runs * kernel.work[address]
    return {
        "work": work,
        "vector_products": by_use[code.Use.VECTOR_PRODUCT],
        "scalar_products": by_use[code.Use.SCALAR_PRODUCT],
        "spills": by_use[code.Use.SPILL],
        "cycles": _cycles(kernel, counts, runs, core),
    }


def _cycles(
    kernel: code.Kernel, counts: dict[int, int], runs: float, core: mca.Core
) -> float | None:
    """Innermost loops as llvm-mca has them; every other instruction counts as its vector registers, or 1."""
    loops = [loop for loop in kernel.loops if counts.get(loop.body[-1].address)]
    modeled = mca.cycles([(loop, _setting(kernel, loop)) for loop in loops], core)
    if modeled is None:
        return None
    inside = {i.address for loop in loops for i in loop.body}
    outside = sum(
        counts.get(address, 0) * max(1.0, registers)
        for address, registers in kernel.work.items()
        if address not in inside
    )
    iterations = [counts[loop.body[-1].address] for loop in loops]
    looped = sum(n * each for n, each in zip(iterations, modeled, strict=True))
    return (outside + looped) / runs


def _setting(kernel: code.Kernel, loop: code.Loop) -> str:
    """Returns the operands of the last vsetvli before a loop, "" if the loop begins with its own."""
    before = ""
    for instruction in kernel.instructions:
        if instruction.address >= loop.body[0].address:
            break
        if _VSET.match(instruction.name):
            before = instruction.operands
    return before


@cli.program("measure", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--disassembly", type=Path, required=True)
    parser.add_argument("--mca", required=True)
    parser.add_argument("--core", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    found = image(
        load(options.report, Image).models,
        judge.load(options.run),
        options.disassembly.read_text().splitlines(),
        mca.Core(options.mca, options.core),
    )
    options.out.write_text(json.dumps(records.encode(found), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
