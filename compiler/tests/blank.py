"""Records of a report for tests, of which only a few fields matter."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar

from bmc import records

T = TypeVar("T")


def blank(kind: type[T], /, **values: Any) -> T:
    """Returns a record with some values; all other fields are zeros, empty or None."""
    wanted: Any = kind
    empty = {
        field.name: _empty(field.hint)
        for field in records.fields(wanted)
        if field.default is dataclasses.MISSING
    }
    return kind(**{**empty, **values})


def _empty(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return None
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)[0]
    if records.is_record(hint):
        return blank(hint)
    if typing.get_origin(hint) is tuple and ... not in typing.get_args(hint):
        return tuple(map(_empty, typing.get_args(hint)))
    return (typing.get_origin(hint) or hint)()
