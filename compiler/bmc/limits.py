"""What the import of a model file may take. A file of a hundred bytes can ask for any amount of work.

A `model.py` has no limits: it is the builder's own code, and may train as long as it likes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from bmc.errors import BmcError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one import.

    Attributes:
      nodes: ops of the model after each call of a function has become the function's ops.
      trips: trips of a loop.
      tensor_bytes: bytes of one tensor of the file, counting an element as often as its strides repeat it; also of all
        that a compressed .keras file unpacks to.
      cpu_seconds: CPU time of bmc and the programs that it starts.
      memory_gib: GiB of memory that they have at a time.
      idle_seconds: seconds in which none of them computes. They wait for something that never comes, or for a disk.
    """

    nodes: int = 10**6
    trips: int = 10**6
    tensor_bytes: int = 2**32
    cpu_seconds: int = 120
    memory_gib: int = 8
    idle_seconds: int = 300


DEFAULT = Limits()
NAMES = tuple(field.name for field in fields(Limits))


def changed(changes: Iterable[tuple[str, int]]) -> Limits:
    """Returns the default limits with changes, each a name and a number."""
    return replace(DEFAULT, **dict(changes))


def exceeded(limit: str, needed: int, message: str, where: str = "") -> BmcError:
    """Returns the error for a model file that needs more.

    Args:
      limit: one of NAMES.
      needed: a number that would do, as far as is known.
      message: what needs more, and how much.
      where: the place in the file.
    """
    return BmcError(
        "over-limit",
        message,
        where=where,
        hint=f"allow it with --limit {limit}={needed}, or `limits` of bm_model, if you trust the file",
    )
