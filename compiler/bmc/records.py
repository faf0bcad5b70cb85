"""JSON as frozen dataclasses, and back.

The fields of a dataclass are the keys of an object, without a `_` at their end, which a word of Python needs. A field
without a default is in every object. One with a default is left out where it has that value.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
_Reader = Callable[[Any], Any]


class MisfitError(ValueError):
    """The message is the place of the first value that is not what its field says, such as "entries[0].name"."""

    def below(self, place: str) -> MisfitError:
        """Returns the same with the place that the value's owner has."""
        inner = str(self)
        dot = "." if inner and not inner.startswith("[") else ""
        return MisfitError(f"{place}{dot}{inner}")


def encode(value: Any) -> Any:
    """Returns JSON data of a dataclass, or of lists and dicts of them."""
    kind: Any = type(value)
    if is_record(kind):
        return {
            field.key: encode(content)
            for field in fields(kind)
            if (content := getattr(value, field.name)) is not field.default
        }
    if isinstance(value, dict):
        return {key: encode(content) for key, content in value.items()}
    return [encode(each) for each in value] if isinstance(value, (list, tuple)) else value


def decode(kind: type[T], data: Any) -> T:
    """Returns JSON data as a dataclass; raises MisfitError."""
    wanted: Any = kind
    found: T = _reader(wanted)(data)
    return found


def is_record(kind: Any) -> bool:
    """Whether a type is a dataclass."""
    return dataclasses.is_dataclass(kind)


class Field(typing.NamedTuple):
    """A field of a dataclass; `hint` is its type, `default` dataclasses.MISSING if every object has it."""

    name: str
    key: str
    hint: Any
    default: Any


@functools.cache
def fields(kind: Any, *, texts: bool = False) -> tuple[Field, ...]:
    """Returns the fields of a dataclass, in order; with `texts`, the hints are annotated."""
    hints = typing.get_type_hints(kind, include_extras=texts)
    return tuple(
        Field(field.name, field.name.rstrip("_"), hints[field.name], field.default)
        for field in dataclasses.fields(kind)
    )


@functools.cache
def _reader(kind: Any) -> _Reader:
    """Returns what reads data of a type."""
    if kind is Any:
        return lambda data: data
    if is_record(kind):
        return _object(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(inner)
    if origin is tuple:
        return _items(inner)
    if origin is dict:
        return _values(_reader(inner[1]))
    return _scalar(kind, inner)


def _object(kind: type) -> _Reader:
    parts = {field.key: (field.name, _reader(field.hint)) for field in fields(kind)}
    least = {field.key for field in fields(kind) if field.default is dataclasses.MISSING}

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise MisfitError
        for key in sorted({*(data.keys() - parts.keys()), *(least - data.keys())}):
            raise MisfitError(key)
        values = {}
        for key, value in data.items():
            name, reader = parts[key]
            try:
                values[name] = reader(value)
            except MisfitError as error:
                raise error.below(key) from None
        return kind(**values)

    return read


def _items(inner: tuple[Any, ...]) -> _Reader:
    """Of `tuple[X, ...]`, or of a tuple with a known number of items of one type."""
    reader = _reader(inner[0])
    count = None if inner[-1] is ... else len(inner)

    def read(data: Any) -> Any:
        if not isinstance(data, (list, tuple)) or count not in (None, len(data)):
            raise MisfitError
        try:
            found = []
            for each in data:
                found.append(reader(each))
            return tuple(found)
        except MisfitError as error:
            raise error.below(f"[{len(found)}]") from None

    return read


def _values(reader: _Reader) -> _Reader:
    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise MisfitError
        found = {}
        for key, value in data.items():
            try:
                found[key] = reader(value)
            except MisfitError as error:
                raise error.below(key) from None
        return found

    return read


def _one_of(inner: tuple[Any, ...]) -> _Reader:
    """Of alternatives. What fits none of them is misplaced in the last."""
    *readers, last = (_reader(each) for each in inner if each is not type(None))
    optional = type(None) in inner

    def read(data: Any) -> Any:
        if data is None and optional:
            return None
        for reader in readers:
            try:
                return reader(data)
            except MisfitError:
                continue
        return last(data)

    return read


def _scalar(kind: Any, values: tuple[Any, ...]) -> _Reader:
    """Of a number, a text, or one of some `values`."""

    def read(data: Any) -> Any:
        # A bool is an int to isinstance.
        right = data in values if values else type(data) is kind
        if not (right or (kind is float and type(data) is int)):
            raise MisfitError
        return data

    return read
