"""Judges many models in one step, and finds those that make the step fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from bmc.errors import BmcError
from tools.run import result

V = TypeVar("V")


class RunError(Exception):
    """An image did not get through its cases."""


def name(index: int) -> str:
    """The name of a model's function, which is the location of its ops, so that error messages give it."""
    return f"g{index}"


@dataclass(frozen=True)
class Verdicts(Generic[V]):
    """What to say of models that the step itself says nothing about.

    Attributes:
      right: the verdict on a model that is right.
      failed: returns the verdict on a model that makes the step fail alone.
      beside: returns the verdict on a model that makes it fail only beside others.
    """

    right: V
    failed: Callable[[Exception], V]
    beside: Callable[[Exception], V]


def judge(
    chosen: list[int], step: Callable[[list[int]], list[V]], verdicts: Verdicts[V]
) -> dict[int, V]:
    """Judges models together, or without the one that makes the step fail, or in two halves.

    Args:
      chosen: numbers of the models.
      step: returns a verdict for each; the function of model i is name(i).
      verdicts: the other ones.
    """
    if not chosen:
        return {}
    try:
        return dict(zip(chosen, step(chosen), strict=True))
    except Exception as error:
        if len(chosen) == 1:
            return {chosen[0]: verdicts.failed(error)}
        where = error.where if isinstance(error, BmcError) else ""
        named = [index for index in chosen if name(index) == where]
        first = named or chosen[: len(chosen) // 2]
        second = [index for index in chosen if index not in first]
        found = judge(first, step, verdicts) | judge(second, step, verdicts)
        suspects = named or chosen
        if all(found[index] == verdicts.right for index in suspects):
            found[suspects[0]] = verdicts.beside(error)
        return found


def cases(outcome: result.Outcome, where: str, count: int) -> list[result.Record]:
    """Returns the records of an image's cases, which may be wrong; `where` says what ran it.

    Raises:
      RunError: there are not `count` of them, or all are right and the run ends otherwise, such as by a trap.
    """
    found = outcome.records("CASE")
    verdict = result.judge(outcome)
    is_right = all(record.field("result") == "ok" for record in found)
    if len(found) != count or outcome.exit_status is None or (is_right and not verdict.ok):
        raise RunError(f"{where}: {verdict.sentence}")
    return found
