"""Compares JSON with the shape that its reader relies on."""

from __future__ import annotations

from typing import Any

# In the shape of the JSON: a type, the items of a [list], the keys that are read of an {object} or `str` for all of
# them, and (alternatives). An `object` is anything.
Shape = Any


def misfit(value: Any, shape: Shape, place: str = "") -> str:
    """Returns the place of the first value that does not have its shape, such as "entries[0].name"; "" if all have."""
    if isinstance(shape, tuple):
        found = [misfit(value, each, place) for each in shape]
        return "" if "" in found else found[0]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return place
        parts = [(item, shape[0], f"{place}[{i}]") for i, item in enumerate(value)]
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            return place
        wanted = dict.fromkeys(value, shape[str]) if str in shape else shape
        dot = "." if place else ""
        # What is missing is none of the types, not even that of null.
        parts = [(value.get(key, ...), each, f"{place}{dot}{key}") for key, each in wanted.items()]
    else:
        # A bool is an int to isinstance.
        return "" if shape is object or type(value) is shape else place
    return next((wrong for part in parts if (wrong := misfit(*part))), "")
