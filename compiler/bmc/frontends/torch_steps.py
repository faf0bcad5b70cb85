"""Loops in decompositions of PyTorch's ops, for series whose length depends on data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def repeat(
    goes_on: Callable[..., Any], step: Callable[..., Sequence[Any]], state: Sequence[Any]
) -> tuple[Any, ...]:
    """Returns what tensors become by steps, as long as a test of them is true.

    Args:
      goes_on: returns a truth value of the tensors, all of whose parts depend on the model's inputs: torch-mlir loses
        the test of a loop that always takes a first step, and computes tests of constants wrong.
      step: returns the new tensors, of the same shapes and types.
      state: all tensors that the loop reads, because torch-mlir knows no others.
    """
    from torch._higher_order_ops.while_loop import while_loop_op

    def following(*now: Any) -> tuple[Any, ...]:
        return tuple(each.clone() for each in step(*now))

    return tuple(while_loop_op(goes_on, following, tuple(each.clone() for each in state), ()))
