"""Reads and writes reports. Programs of the build start with this and the records that they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from bmc import records
from tools.cli import UserError

T = TypeVar("T")


def read_json(path: Path) -> Any:
    """Returns what is in a file of JSON; raises UserError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path} is not JSON: name a file that `X.report` makes") from None


def load(path: Path, kind: type[T]) -> T:
    """Returns the Image or the Model in a file; raises UserError."""
    try:
        return records.decode(kind, read_json(path))
    except records.MisfitError as error:
        raise UserError(
            f"{path} is no report of this Ironcast: {error} is missing or not what it writes; build it again"
        ) from None


def save(path: Path, report: Any) -> None:
    """Writes records as JSON, the same bytes each time."""
    text = json.dumps(records.encode(report), indent=1, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
