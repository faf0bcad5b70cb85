"""What frontends say of outputs that have their largest size, and of the further outputs that count what is real."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bmc import spec


def judged(model: spec.ModelSpec, outputs: int, names: tuple[str, ...]) -> spec.ModelSpec:
    """Returns the user's ModelSpec with tolerances and names for the counts too.

    Args:
      model: with or without them for the model's own outputs.
      outputs: number of the model's own outputs.
      names: those of all outputs.
    """
    given, own = model.tolerance, model.output_names
    each = given if isinstance(given, tuple) else (given,) * outputs
    counts = names[outputs:]
    return replace(
        model,
        tolerance=(*each, *(spec.Exact() for _ in counts)) if len(each) == outputs else each,
        output_names=(*own, *counts) if len(own) == outputs else own,
    )


def free(wanted: str, taken: Collection[str]) -> str:
    """Returns a name, with a number behind it if it is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def note(output: str, size: int, axis: int, count: str) -> str:
    """Returns a sentence for the user about an output, and the one that counts."""
    return (
        f"output {output} has {size:,} elements along dimension {axis}, the most that it can have;"
        f" output {count} says how many are real, and zeros follow them"
    )
