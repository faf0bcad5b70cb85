"""A kernel library as the compiler sees it: a name, a header, and a matcher."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bmc.errors import BmcError
from bmc.libraries.call import Call, Packed, Scratch, Sums
from bmc.libraries.dispatch import ARRAYS, Dispatch, Operand

_FUNCTION = "take"


@dataclass(frozen=True)
class Library:
    """A kernel library.

    Attributes:
      name: as users name it, such as "//kernels:vendor".
      header: that C includes to call its functions.
      file: with the matcher.
      take: the matcher.
    """

    name: str
    header: str
    file: Path
    take: Callable[[Dispatch], Call | None]

    def call(self, dispatch: Dispatch) -> Call | None:
        """Returns the call that computes a dispatch, None if the library leaves it.

        Raises:
          BmcError: the matcher raised an exception, or returned no call that C could express.
        """
        try:
            found = self.take(dispatch)
        except Exception as error:
            raise self._wrong(dispatch, f"raised {type(error).__name__}: {error}") from error
        if found is None:
            return None
        if not isinstance(found, Call):
            raise self._wrong(dispatch, f"returned {type(found).__name__}: return a Call or None")
        if problem := _problem(found, dispatch):
            raise self._wrong(dispatch, f"returned a call of '{found.function}' {problem}")
        return found

    def _wrong(self, dispatch: Dispatch, what: str) -> BmcError:
        return BmcError(
            "bad-kernel-library",
            f"the matcher of {self.name}, asked about '{dispatch.name}', {what}",
            where=str(self.file),
        )


@dataclass(frozen=True)
class Taken:
    """A dispatch that a kernel library takes."""

    library: Library
    dispatch: Dispatch
    call: Call


def load(name: str, header: str, file: Path) -> Library:
    """Loads a matcher, a Python file with a function `take`.

    Raises:
      BmcError: the file does not exist, cannot be loaded, or has no such function.
    """
    if not file.is_file():
        raise BmcError("file-missing", f"matcher '{file}' does not exist")
    spec = importlib.util.spec_from_file_location(f"_matcher_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise BmcError("bad-kernel-library", f"matcher '{file}' cannot be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look for their module there.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BmcError(
            "bad-kernel-library",
            f"the matcher of {name} failed to load: {type(error).__name__}: {error}",
            where=str(file),
        ) from error
    take = getattr(module, _FUNCTION, None)
    if not callable(take):
        raise BmcError(
            "bad-kernel-library",
            f"the matcher of {name} has no function '{_FUNCTION}'",
            where=str(file),
            hint="define take(dispatch: Dispatch) -> Call | None",
        )
    return Library(name, header, file, take)


def _problem(call: Call, dispatch: Dispatch) -> str:
    """Returns what is wrong with a call, "" if nothing is."""
    names = (call.function, *call.params, *([call.wait] if call.wait else []))
    if bad := [name for name in names if not str(name).isidentifier() or not str(name).isascii()]:
        return f"with the name '{bad[0]}': names are C identifiers"
    for name, value in call.params.items():
        if not isinstance(value, int | float | np.integer | np.floating):
            return f"whose parameter '{name}' is a {type(value).__name__}: parameters are numbers"
    known = set(map(id, dispatch.operands))
    for number, argument in enumerate(call.arguments):
        operand = argument.operand if isinstance(argument, Packed) else argument
        if isinstance(operand, Operand):
            if id(operand) not in known:
                return f"whose argument {number} is an operand of another dispatch"
        elif isinstance(operand, Scratch):
            if not 0 < operand.byte_count < 2**31:
                return f"with scratch of {operand.byte_count} bytes: it takes 1 to {2**31 - 1}"
        elif isinstance(operand, np.ndarray):
            if operand.dtype.name not in ARRAYS:
                return f"whose argument {number} is an array of {operand.dtype.name}: use {', '.join(ARRAYS)}"
        elif not isinstance(operand, Sums):
            return f"whose argument {number} is a {type(operand).__name__}"
    given = [a.operand if isinstance(a, Packed) else a for a in call.arguments]
    if call.finishes and not any(each is dispatch.result for each in given):
        return "that finishes the result but does not get it: dispatch.result is no argument"
    if dispatch.padding and not call.pads:
        return (
            "that says nothing about the padding of an image: say pads=True if the function reads what dispatch.padding"
            " says, or leave the dispatch"
        )
    sums = [argument for argument in call.arguments if isinstance(argument, Sums)]
    if len(sums) > 1:
        return "with two arguments for sums"
    if not sums and not call.finishes and (dispatch.epilogue or dispatch.initial):
        return (
            "that says nothing about what follows the sums: give it Sums() for the result, or finishes=True if the"
            " function computes dispatch.initial and dispatch.epilogue as well"
        )
    return ""
