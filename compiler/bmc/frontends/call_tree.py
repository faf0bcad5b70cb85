"""The ops of a model whose functions call each other, once each call has become the function's ops.

Frameworks and IREE write calls out so. A chain of functions that each call the next twice doubles with each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from bmc import limits
from bmc.errors import BmcError
from bmc.limits import Limits


@dataclass(frozen=True, slots=True)
class Function:
    """How many ops a function has besides its calls, and what it calls, once for each call."""

    ops: int
    calls: Sequence[str]


def check(functions: Mapping[str, Function], source: str, allowed: Limits) -> None:
    """Raises BmcError naming a function that calls itself, or the innermost one that becomes too many ops.

    Args:
      functions: by name.
      source: name of the file.
      allowed: has the largest number of ops.
    """
    graph = {name: [c for c in one.calls if c in functions] for name, one in functions.items()}
    try:
        order = tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        raise BmcError(
            "op-rejected",
            f"function '{error.args[1][0]}' in '{source}' calls itself, directly or through others",
            hint="write the steps one after another, or as a loop: there is no stack for calls on the target",
        ) from None
    total: dict[str, int] = {}
    for name in order:
        total[name] = functions[name].ops + sum(
            total.get(call, 1) for call in functions[name].calls
        )
        if total[name] > allowed.nodes:
            raise limits.exceeded(
                "nodes",
                total[name],
                f"function '{name}' in '{source}' becomes {total[name]:,} ops, more than"
                f" {allowed.nodes:,}, once its calls are written out",
            )
