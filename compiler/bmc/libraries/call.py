"""What a matcher answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bmc.libraries.dispatch import Array, Operand


@dataclass(frozen=True, eq=False)
class Packed:
    """A weight in the layout that a function wants, made when the model is built.

    Attributes:
      operand: the weight. The dispatch stays as it is if the operand is no constant.
      pack: makes the new array from one with an axis for each loop that moves the operand, in the order of the loops.
    """

    operand: Operand
    pack: Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory for the time of the call, aligned to 64 bytes; it has a place in the model's arena."""

    byte_count: int


@dataclass(frozen=True, slots=True)
class Sums:
    """Where the function writes sums, f32 or i32, if it computes nothing else.

    They are dense, in the order of the loops that are not summed. C that bmc writes computes dispatch.initial and
    dispatch.epilogue from them.
    """


Argument = Operand | Packed | Scratch | Sums | Array


@dataclass(frozen=True, eq=False)
class Call:
    """A call that computes a dispatch: `function(&params, argument, ...)`, which returns 0 if it could.

    Attributes:
      function: name in C. It takes a `const <function>_params_t *` and a pointer for each argument.
      arguments: an operand where it is, a packed weight, memory, or an array of numbers.
      params: the fields of the struct; their names are those of the keys.
      finishes: whether the function computes dispatch.initial and dispatch.epilogue as well. Otherwise one of the
        arguments is Sums().
      pads: whether the function reads what dispatch.padding says around an image.
      wait: name of a function `bm_status_t wait(void)`, for a call that may return before its memory is read and
        written. It returns once everything is, or says what failed. The plan calls it before a command that depends on
        the call, before the model's run ends, and after a call that failed. Sums() are there when the call returns.
    """

    function: str
    arguments: tuple[Argument, ...]
    params: Mapping[str, int | float] = field(default_factory=dict)
    finishes: bool = False
    pads: bool = False
    wait: str = ""
