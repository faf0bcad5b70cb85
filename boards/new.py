"""Makes a new board from an existing one. It builds, and you can change it fact by fact.

example:
  tools/bazel run //boards:new -- mine --from qemu_virt_rv64
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from tools import cli

# Ironcast's boards, also where Ironcast is another workspace's dependency.
OURS = Path(__file__).resolve().parent

_LABEL = re.compile('"//(?!visibility:)')
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TITLE = re.compile(r'^(    title = )".*"(,)$', re.MULTILINE)
_TESTED = re.compile(r'^    tested = "run",\n', re.MULTILINE)

_README = """# {name}

Made from `{source}`. What the board is: processor, ISA, VLEN, memory.

**Built, not run.** `BUILD.bazel` has its memory, console and all else that the build reads.

**Boot.** What starts the image, where, and in which mode.

**End.** What happens when the firmware ends.

**Facts from** the manuals and sources by title.

**Uncertain** until someone runs it: assumptions that nothing confirms yet.
"""


def make(source: str, name: str, into: Path, repository: str = "") -> list[Path]:
    """Copies the board `source`, from `into` or Ironcast's, to into/<name>; returns the files written.

    repository: Ironcast's as labels in the workspace of `into` name it, e.g. `@ironcast`.
    """
    if not _NAME.fullmatch(name):
        raise cli.UserError(
            f"{name!r} cannot be a board's name: use lower-case letters, digits and underscores, "
            "starting with a letter"
        )
    new = into / name
    boards = [folder for folder in (into, OURS) if _is_board(folder / source)]
    if not boards:
        raise cli.UserError(
            f"there is no board {source} in {into} or {OURS}: name one of the folders there"
        )
    old = boards[0] / source
    labels = "//" if boards[0] == into else f"{repository}//"
    if new.exists():
        raise cli.UserError(f"{new} already exists: choose another name or remove it")
    texts = {
        path.name: _LABEL.sub(f'"{labels}', path.read_text().replace(f'"{source}"', f'"{name}"'))
        for path in sorted(old.iterdir())
        if path.is_file()
    }
    starlark = _TITLE.sub(rf'\1"{name}"\2', texts["BUILD.bazel"])
    texts["BUILD.bazel"] = _TESTED.sub("", starlark)
    if "board.json" in texts:
        description = {**json.loads(texts["board.json"]), "title": name, "tested": "built"}
        texts["board.json"] = json.dumps(description, indent=2) + "\n"
    texts["README.md"] = _README.format(name=name, source=source)
    new.mkdir(parents=True)
    written = []
    for file, text in texts.items():
        (new / file).write_text(text)
        written.append(new / file)
    return written


def _is_board(folder: Path) -> bool:
    file = folder / "BUILD.bazel"
    return file.is_file() and "\nbm_board(" in file.read_text()


@cli.program("new", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("name", help="name of the board and its folder")
    parser.add_argument("--from", dest="source", default="template", help="the board to copy")
    parser.add_argument("--into", type=Path, help="folder that gets the new board's folder")
    parser.add_argument("--repository", default="", help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    into = options.into or cli.workspace() / "boards"
    written = make(options.source, options.name, into, options.repository)
    for path in written:
        print(path.relative_to(into.parent) if path.is_relative_to(into.parent) else path)
    page = "boards/README.md" + (f" of {options.repository}" if options.repository else "")
    print(f'See "Add a board" in {page} for what to change in each.')
    if into.name == "boards":
        print(f"tools/bazel run --board=//boards/{options.name} X boots a suite's image X on it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
