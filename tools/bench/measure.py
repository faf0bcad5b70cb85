"""What each dispatch of an image took in a run on Spike, next to what it could take: one image, one VLEN."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.bench import bound, code, mca
from tools.emulate import result
from tools.size import image_report, size

# spike -g prints how often each instruction ran: "80001f4c 12".
_COUNT = re.compile(r"^([0-9a-f]{8,16}) (\d+)$")
_SYMBOL = re.compile(r"^([0-9a-f]+) <(\w+)>:$")
_VSET = re.compile(r"^vseti?vli$")


def histogram(lines: Iterable[str]) -> dict[int, int]:
    """Returns how often the instruction at each address ran."""
    found = (_COUNT.match(line) for line in lines)
    return {int(match[1], 16): int(match[2]) for match in found if match}


def image(
    report: dict[str, Any], outcome: result.Outcome, disassembly: list[str], core: mca.Core
) -> list[dict[str, Any]]:
    """Returns a row of numbers for every model of an image, with one for every command of its plan.

    Args:
      report: of the image, without a run.
      outcome: a run of the profile image on Spike with -g.
      disassembly: of the image.
      core: whose cycles are modeled.
    """
    run = size.run_summary(outcome)
    counts = histogram(outcome.lines)
    symbols = {m[2]: int(m[1], 16) for line in disassembly if (m := _SYMBOL.match(line))}
    instructions = code.instructions(disassembly)
    vlen = int(run["boot"]["vlen"])
    rows = []
    for model, measured in zip(report["models"], run["models"], strict=True):
        prefix = f"{model['name']}_k_"
        names = {d["name"]: prefix + re.sub(r"\W", "_", d["name"]) for d in model["dispatches"]}
        # Kernels that the runtime loads are nowhere in the image. Only their instructions are known.
        starts = {name: symbols[symbol] for name, symbol in names.items() if symbol in symbols}
        # The last kernel ends at the next symbol of the image.
        ends = sorted(
            address for address in symbols.values() if address > max(starts.values(), default=0)
        )
        limited = [i for i in instructions if not ends or i.address < ends[0]]
        kernels = code.kernels(limited, starts)
        rows.append(_model(model, measured, kernels, counts, vlen, core))
    return rows


def _model(
    model: dict[str, Any],
    measured: dict[str, Any],
    kernels: dict[str, code.Kernel],
    counts: dict[int, int],
    vlen: int,
    core: mca.Core,
) -> dict[str, Any]:
    by_name = {dispatch["name"]: dispatch for dispatch in model["dispatches"]}
    launches: dict[str, int] = defaultdict(int)
    spent: dict[str, int] = defaultdict(int)
    for row in measured["commands"]:
        command = model["commands"][row["index"]]
        x, y, z = command["workgroups"]
        launches[command["function"]] += x * y * z * row["times"]
        spent[command["function"]] += row["instructions"]
    executed = {
        name: _executed(kernel, counts, launches[name], core) for name, kernel in kernels.items()
    }
    commands = []
    for row in measured["commands"]:
        command = model["commands"][row["index"]]
        dispatch = by_name.get(command["function"])
        lowest = bound.of_command(command, dispatch, vlen) * row["times"]
        share = row["instructions"] / max(spent[command["function"]], 1)
        found = executed.get(command["function"], {})
        commands.append(
            {
                "kind": command["kind"],
                "function": command["function"],
                "op": dispatch["op"] if dispatch else command["kind"],
                "layer": command["layer"],
                "source": dispatch["source"] if dispatch else "",
                "class": bound.class_of(command, dispatch),
                "times": row["times"],
                "instructions": row["instructions"],
                "macs": dispatch["macs"] * row["times"] if dispatch else 0,
                "bound": round(lowest, 1),
                **{
                    name: None if value is None else round(value * share, 1)
                    for name, value in found.items()
                },
            }
        )
    return {
        "name": model["name"],
        "isa": model["isa"],
        "vlen": vlen,
        "core": core.name,
        "instructions": measured["instructions"],
        "arena_bytes": model["arena"]["bytes"],
        "liveness_bound_bytes": model["arena"]["liveness_bound_bytes"],
        "commands": commands,
    }


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


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="measure", description=__doc__)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--disassembly", type=Path, required=True)
    parser.add_argument("--mca", required=True)
    parser.add_argument("--core", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    record = json.loads(options.run.read_text())
    try:
        rows = image(
            json.loads(options.report.read_text()),
            result.Outcome(tuple(record["lines"]), record["exit_status"]),
            options.disassembly.read_text().splitlines(),
            mca.Core(options.mca, options.core),
        )
    except (image_report.SizeError, result.RecordError) as error:
        print(f"measure: {error}", file=sys.stderr)
        return 1
    options.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
