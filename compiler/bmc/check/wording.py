"""The text of `bmc check`: plain, and at most 100 columns wide."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence

from bmc.artifacts import TensorInfo
from bmc.check.estimate import Estimate
from bmc.check.work import Work
from bmc.errors import BmcError
from bmc.frontends.survey import Survey
from bmc.golden import Declared
from bmc.names import brief, printable
from bmc.target import Target

_WIDTH = 100
# More places than these are counted, not named.
_PLACES = 20
_QUOTED = re.compile(r"'([^']*)'")
# The folder is gone by the time that anybody reads this.
_REPRODUCER = re.compile(r"[;,]? ?reproducer: \S+")


def inputs(survey: Survey, needed: Iterable[str], pinned: Mapping[str, float]) -> str:
    """Lists the inputs as the file declares them, with what has to be said of each."""
    wanted = set(needed)
    notes = []
    for info in survey.inputs:
        note = "needs a shape" if info.name in wanted else ""
        if info.name in survey.switches:
            values = ", ".join(f"{value:g}" for value in survey.switches[info.name])
            note = "selects a branch" + (f": the file compares it with {values}" if values else "")
        elif info.name in pinned:
            note = "always has one value, most likely"
        elif not note and None in info.shape:
            note = "the batch becomes 1"
        notes.append(note)
    return _table("inputs", [(*_tensor(i), n) for i, n in zip(survey.inputs, notes, strict=True)])


def tensors(title: str, infos: Sequence[TensorInfo]) -> str:
    """Lists inputs or outputs of the imported model."""
    return _table(title, [_tensor(info) for info in infos])


def _tensor(info: Declared | TensorInfo) -> tuple[str, str, str]:
    dims = "x".join("?" if dim is None else str(dim) for dim in info.shape)
    return printable(brief(info.name, 200)), info.dtype.name.lower(), dims or "scalar"


def _table(title: str, rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join((title, *(line.rstrip() for line in lines)))


def findings(found: Iterable[BmcError], title: str = "blocks the import") -> str:
    """Lists what blocks the import, with all places of the same kind together, and the way out for each."""
    groups: dict[tuple[str, ...], list[BmcError]] = {}
    for error in found:
        # A message without a place names the tensor itself.
        message = error.message if error.where else _QUOTED.sub("''", error.message)
        groups.setdefault((error.kind, message, error.hint), []).append(error)
    text = [title]
    for number, errors in enumerate(groups.values(), 1):
        first = errors[0]
        text += _wrapped(f"{first.message} [{first.kind}]", f"  {number}. ", "     ")
        places = list(dict.fromkeys(filter(None, map(_place, errors))))
        if first.where or len(places) > 1:
            more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
            text += _wrapped(", ".join(places[:_PLACES]) + more, "     at: ", "         ")
        hint = _REPRODUCER.sub("", first.hint)
        if hint:
            text += _wrapped(hint, "     way out: ", "              ")
    return "\n".join(text)


def _place(error: BmcError) -> str:
    if error.where:
        return error.where
    named = _QUOTED.search(error.message)
    return named[1] if named else ""


def estimates(work: Work, estimate: Estimate, target: Target) -> str:
    """Shows what the model takes."""
    rows = [
        ("multiply-accumulates", f"{work.macs:,}", ""),
        ("weights, bytes", f"{estimate.weight_bytes:,}", ""),
        ("flash, bytes", f"{_about(estimate.flash_bytes):,}", "about"),
        ("arena (RAM), bytes", f"{_about(estimate.arena_bytes):,}", "about"),
        ("instructions, one inference", f"{_about(estimate.instructions):,}", "about"),
    ]
    width = max(len(number) for _, number, _ in rows)
    lines = [f"  {what:28}{kind:>6} {number:>{width}}" for what, number, kind in rows]
    title = f"estimates for {target.isa}, not measurements: see docs/how-to/check.md"
    return "\n".join((title, *lines))


def _about(number: int) -> int:
    """Rounds to two digits, because an estimate has no more."""
    digits = max(0, len(str(number)) - 2)
    return round(number, -digits)


def paragraph(text: str) -> str:
    """Folds a sentence."""
    return "\n".join(_wrapped(text, "", ""))


def _wrapped(text: str, first: str, following: str) -> list[str]:
    wrapper = textwrap.TextWrapper(
        _WIDTH,
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=True,
        break_on_hyphens=False,
    )
    return wrapper.wrap(text)
