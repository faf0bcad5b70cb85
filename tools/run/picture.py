"""Draws what a recorded run prints as a picture for pages: an SVG with the text of a terminal.

example:
  tools/bazel run //docs:picture -- --update
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rich.console import Console
from rich.style import Style
from rich.text import Text

from tools import cli
from tools.run import judge, result
from tools.run.screen import Screen

# Pixels of a character, of a line, and around the text.
_WIDTH, _HEIGHT, _MARGIN = 8.0, 20, 18
_LONGEST = 100
# A box with a color of its own is as readable on a dark page as on a light one.
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img">
<title>{title}</title>
<style>
text {{ font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d6dde6 }}
.bold {{ font-weight: bold }}
.green {{ fill: #4cc76a }}
</style>
<rect x="0.5" y="0.5" width="{inner_width}" height="{inner_height}" rx="7" fill="#171b22" stroke="#5b6571"/>
"""
# A terminal's number of a color -> its class. A run that passes has no other.
_COLORS = {2: "green"}
# Counts change a little with every compiler, and errors with the C library of the framework.
_COUNT = re.compile(r"[\d,]+(?= (?:instructions|cycles|bytes))")
_ERROR = re.compile(r"error \d\S+")


def printed(outcome: result.Outcome) -> list[Text]:
    """Returns the lines that a run which passes shows on a terminal."""
    file = io.StringIO()
    out = Console(
        file=file,
        force_terminal=True,
        color_system="standard",
        width=_LONGEST,
        markup=False,
        highlight=False,
        emoji=False,
        # Whatever the terminal of whoever draws the picture is.
        _environ={},
    )
    screen = Screen(out)
    for line in outcome.lines:
        screen.line(line)
    screen.verdict(result.judge(outcome), "PASS")
    return list(Text.from_ansi(file.getvalue()).split("\n"))


def draw(command: str, lines: list[Text]) -> str:
    """Returns the SVG of a terminal in which `command` printed `lines`."""
    rows = [Text.assemble("$ ", (command, "bold")), *lines]
    width = round(max(len(row.plain) for row in rows) * _WIDTH) + 2 * _MARGIN
    height = len(rows) * _HEIGHT + 2 * _MARGIN
    head = _HEAD.format(
        title=escape(command, quote=False),
        width=width,
        height=height,
        inner_width=width - 1,
        inner_height=height - 1,
    )
    texts = []
    for number, row in enumerate(rows):
        place = f'x="{_MARGIN}" y="{_MARGIN + _HEIGHT * number + 14}"'
        # Browsers that know `white-space` know this as well.
        texts.append(f'<text xml:space="preserve" {place}>{"".join(_spans(row))}</text>\n')
    return f"{head}{''.join(texts)}</svg>\n"


def _spans(row: Text) -> Iterator[str]:
    for segment in row.render(Console(), end=""):
        style = segment.style or Style()
        classes = ["bold"] if style.bold else []
        number = style.color.number if style.color else None
        classes += [] if number is None else [_COLORS[number]]
        text = escape(segment.text, quote=False)
        yield f'<tspan class="{" ".join(classes)}">{text}</tspan>' if classes else text


def alike(shown: str, drawn: str) -> bool:
    """Whether two pictures are equal, except for errors, and for counts by a hundredth."""
    counts = [
        [int(count.replace(",", "")) for count in _COUNT.findall(text)] for text in (shown, drawn)
    ]
    words = [_COUNT.sub("", _ERROR.sub("", text)) for text in (shown, drawn)]
    return words[0] == words[1] and all(
        abs(a - b) <= max(a, b) / 100 for a, b in zip(*counts, strict=True)
    )


@cli.program("picture", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("record", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--command", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--picture", required=True, help=argparse.SUPPRESS)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--update", action="store_true", help="write the picture")
    what.add_argument(
        "--check", action="store_true", help="fail unless it is what would be written"
    )
    options = parser.parse_args(args)
    drawn = draw(options.command, printed(judge.load(options.record)))
    if options.update:
        (cli.workspace() / options.picture).write_text(drawn)
    elif not alike(Path(options.picture).read_text(), drawn):
        raise cli.UserError(
            f"{options.picture} is not what the run prints; `tools/bazel run //docs:picture -- --update` draws it"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
