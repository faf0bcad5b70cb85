"""Tables as reports print them: without lines between cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.table import Table

_PLAIN: dict[str, Any] = {"box": None, "header_style": "bold", "padding": (0, 0, 0, 2)}


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    names: Collection[int] = (),
    indented: bool = True,
) -> Table:
    """Aligns numbers to the right, and what they are about, in the last column, to the left.

    Columns of numbers in which no row has anything are left out.

    Args:
      headings: of the columns.
      rows: the cells of each row.
      names: other columns that are no numbers.
      indented: whether there is space on the left, as below a title.
    """
    shown = Table(**_PLAIN, pad_edge=indented)
    last = len(headings) - 1
    used = [place for place in range(last) if not rows or any(row[place] for row in rows)] + [last]
    for place in used:
        is_name = place == last or place in names
        shown.add_column(
            headings[place],
            justify="left" if is_name else "right",
            no_wrap=not is_name,
            overflow="fold",
        )
    for row in rows:
        shown.add_row(*(row[place] for place in used))
    return shown


def pairs(rows: Iterable[tuple[str, int]]) -> Table:
    """Returns a table of names and numbers, without headings; several below each other have the same columns."""
    shown = Table(**_PLAIN, show_header=False)
    shown.add_column(min_width=28)
    shown.add_column(min_width=14, justify="right")
    for name, value in rows:
        shown.add_row(name, f"{value:,}")
    return shown
