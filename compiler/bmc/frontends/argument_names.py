"""Inputs of a PyTorch module have the names of the arguments of the method that takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from bmc import golden, spec
from bmc.artifacts import TensorInfo

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def inputs(model: spec.ModelSpec) -> tuple[TensorInfo, ...]:
    """Returns the inputs of the model's forward()."""
    case = model.cases[0]
    return golden.infos(case, model.input_names or first(model.module.forward, len(case)), "input")


def first(method: Callable[..., Any], count: int) -> tuple[str, ...]:
    """Returns the names of a method's first `count` arguments, () if not all of them have names of their own."""
    try:
        arguments = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):  # it is not written in Python
        return ()
    names = tuple(argument.name for argument in arguments if argument.kind in _POSITIONAL)
    return names[:count] if len(names) >= count else ()
