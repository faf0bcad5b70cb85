"""What `bench --cores` prints: modeled cycles of models on cores, and what kernels for no core in particular cost."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.table import Table

from tools.report.bench.core_cycles import ModelCycles, OnCore
from tools.report.table import table as aligned

# What is other than in a core's file, as headings have it.
_OTHER = {"": "", "no waits": "-w", "halved": "/2"}
_MEANING = (
    "-w: if loads do not wait for readers of what they replace, which nobody knows",
    "/2: if what is only assumed of the core is half as fast",
)


def tables(models: Sequence[ModelCycles], wanted: Collection[str] = ()) -> list[str | Table]:
    """Returns a table of cycles, and one of what the default costs beside the choice for each core.

    Args:
      models: at least one, all on the same cores.
      wanted: names of the cores to show; none: all.
    """
    on = [[each for each in model.cores if not wanted or each.core in wanted] for model in models]
    cycles = [
        [*(f"{each.default:,.0f}" for each in taken if not each.other), _own(model), model.name]
        for model, taken in zip(models, on, strict=True)
    ]
    costs = [
        [*(f"{_cost(each):z.1f}" for each in taken), model.name]
        for model, taken in zip(models, on, strict=True)
    ]
    means = [sum(map(_cost, column)) / len(models) for column in zip(*on, strict=True)]
    costs.append([*(f"{mean:z.1f}" for mean in means), "mean"])
    files = [each.core for each in on[0] if not each.other]
    ways = [each.core + _OTHER[each.other] for each in on[0]]
    return [
        "modeled cycles of one inference, in bmc's own kernels, of so many dispatches",
        aligned([*files, "own", "model"], cycles, indented=False),
        "",
        "how many percent more they are than with kernels for the core",
        aligned([*ways, "model"], costs, indented=False),
        *_MEANING,
    ]


def _own(model: ModelCycles) -> str:
    return f"{model.own} of {model.dispatches}"


def _cost(taken: OnCore) -> float:
    """Returns how many percent more the default takes than what was chosen."""
    return 100 * (taken.default / taken.chosen - 1) if taken.chosen else 0.0
