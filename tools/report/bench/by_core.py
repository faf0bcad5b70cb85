"""Models the cycles of a model's kernels on cores: of those that it has by default, and of those chosen for each core.

Nothing is run. The model is compiled for each length of registers that a core has, up to the plan, and its kernels are
simulated (compiler/bmc/kernels/tree/cycles.py). What a loop of a driver runs counts once. Weights that are stored in 16
bits by default are so for each core.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bmc import artifacts, compile, records, target
from bmc.cores import core as cores
from bmc.cores.core import Core
from bmc.errors import BmcError
from bmc.host.program import Dispatch
from bmc.kernels.problem.product import Product
from bmc.kernels.schedule import fastest
from bmc.kernels.tree.assembly import Kernel
from tools import cli
from tools.report.bench.core_cycles import ModelCycles, OnCore

# The one that decides if no core is named: it is no core.
_BLEND = "generic"


@dataclass(frozen=True)
class Own:
    """A kernel of bmc's own, itself and those that could be in its place, and how often one inference runs it."""

    kernel: Kernel
    others: tuple[Kernel, ...]
    times: int


@dataclass(frozen=True)
class Compiled:
    """Kernels for harts with a VLEN of at least `vlen` bits, and how many dispatches have IREE's."""

    vlen: int
    own: tuple[Own, ...]
    iree: int

    def default(self, core: Core) -> float:
        """Returns the cycles of the kernels that the model has."""
        return sum(
            each.times * fastest.cycles_of(each.kernel, self.vlen, core) for each in self.own
        )

    def chosen(self, core: Core) -> float:
        """Returns the cycles of the kernels that it would have for a core."""
        best = [(each.times, fastest.best(each.others, self.vlen, core)) for each in self.own]
        return sum(times * fastest.cycles_of(kernel, self.vlen, core) for times, kernel in best)


def modeled(name: str, compiled: Mapping[int, Compiled]) -> ModelCycles:
    """Returns what a model, compiled for several VLENs, takes on every core, with the longest registers that it has."""
    found: list[OnCore] = []
    for core_name in cores.names():
        if core_name == _BLEND:
            continue
        core = cores.find(core_name)
        model = compiled[max(vlen for vlen in compiled if vlen <= core.vlen)]
        found += [
            OnCore(core_name, other, model.default(each), model.chosen(each))
            for other, each in {"": core, **core.otherwise()}.items()
        ]
    shortest = compiled[min(compiled)]
    own = sum(each.times for each in shortest.own)
    return ModelCycles(name, own + shortest.iree, own, tuple(found))


def _compiled(facts: Mapping[str, Any], isa: str) -> Compiled:
    """Compiles a model that bm_cores recorded."""
    hart = target.find(isa)
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "out"
        out.mkdir()
        options = compile.CompileOptions(
            "m",
            hart,
            out,
            Path(facts["tuning"]) if facts["tuning"] else None,
            facts["float_parts"],
            optimized=Path(facts["optimized"]),
            stored_weights=facts["stored_weights"],
            ram=facts["ram"] or None,
        )
        lowered = compile.lower(artifacts.load(Path(facts["imported"])), options, Path(work))
    commands = [each for entry in lowered.program.entries for each in entry.commands]
    runs = Counter(each.function for each in commands if isinstance(each, Dispatch))
    own = []
    for config in lowered.configs:
        if config.kernel is not None:
            others: tuple[Kernel, ...] = (config.kernel,)
            if isinstance(config.problem, Product) and not config.tuned:
                others = tuple(fastest.kernels(config.problem, hart.vlen_bits))
            own.append(Own(config.kernel, others, runs.pop(config.function, 0)))
    return Compiled(hart.vlen_bits, tuple(own), runs.total())


@cli.program("by_core", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--models", type=Path, required=True, help="what bm_cores recorded")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(args)
    session = json.loads(options.models.read_text(encoding="utf-8"))
    longest = max(cores.find(name).vlen for name in cores.names())
    isas = [isa for isa in session["isas"] if target.find(isa).vlen_bits <= longest]
    found = []
    for facts in session["models"]:
        try:
            compiled = [_compiled(facts, isa) for isa in isas]
            found.append(modeled(facts["name"], {each.vlen: each for each in compiled}))
        except BmcError as error:
            raise cli.UserError(f"{facts['name']}: {error}") from None
    options.out.write_text(json.dumps(records.encode(found), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
