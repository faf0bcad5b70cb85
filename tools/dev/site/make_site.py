"""Makes the documentation's site: make_site --tree WORKSPACE --contents FILE --out DIR [--program ...].

Reads the pages, headers, rules and docstrings of the source tree, and asks programs for their help. Sphinx makes HTML
of that. A warning of Sphinx's, such as a reference to nothing, is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from tools import cli
from tools.dev.site import c_headers, starlark_files
from tools.dev.site.pages import (
    START,
    Group,
    Site,
    contents,
    group_page,
    is_listed,
    is_page,
    page_of,
    show_file,
    show_folder,
    source_page,
)

RULES = {
    "tools/rules/defs.bzl": "Rules",
    "tools/rules/providers.bzl": "Providers",
    "boards/common/drivers.bzl": "Drivers",
}
PYTHON = {"compiler/ironcast/__init__.py": "ironcast", "compiler/bmc/spec.py": "bmc.spec"}
# Pages of which the start page need not have links: they follow those that it has.
ALSO = {"How-to guides": r"how-to/.*", "Tutorial": r"tutorial/.*", "Explanation": r"[a-z][\w-]*"}
# Folder of the repository -> the page above its pages.
FOLDERS = {"docs/decisions": "decisions", "docs/upstream": "upstream", "models": "models"}
# Page -> section, title and members of the group below it.
GROUPS = {
    "reference/c": ("Reference", "C headers", r"reference/c/.*"),
    "reference/python": ("Reference", "Python", r"reference/python/.*"),
    "reference/programs": ("Reference", "Programs", r"reference/programs/.*"),
    "tools": ("Reference", "Tools", r"tools/.*"),
    "boards": ("Reference", "Boards", r"boards/.*"),
    "models": ("Reference", "Models", r"models/.*"),
    "decisions": ("Explanation", "Decisions", r"decisions/.*"),
    "upstream": ("Explanation", "Reports to other projects", r"upstream/.*"),
}


def help_of(command: list[str]) -> str:
    """Returns what `PROGRAM --help` prints, 80 columns wide."""
    done = subprocess.run(
        [*command, "--help"],
        # A program brings its own packages.
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "COLUMNS": "80"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def program_page(title: str, program: str) -> str:
    """Returns the page about a program: its help and that of its subcommands."""
    about = help_of([program])
    parts = [f"# {title}", f"```text\n{about.rstrip()}\n```"]
    # argparse's list of subcommands.
    _, _, listed = about.partition("\n  COMMAND\n")
    for command in re.findall(r"^    ([a-z]+)\b", listed.partition("\n\n")[0], re.MULTILINE):
        parts.append(f"## {title} {command}")
        parts.append(f"```text\n{help_of([program, command]).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def python_page(module: str) -> str:
    """Returns the page about a Python module, which Sphinx imports."""
    return f"# {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n   :members:\n```\n"


def files_of(listing: str) -> frozenset[str]:
    """Returns the files of @tree//:contents.txt."""
    return frozenset(line.split(" ", 2)[2] for line in listing.splitlines())


def assemble(
    tree: Path, files: frozenset[str], programs: dict[str, tuple[str, str]]
) -> tuple[dict[str, str], set[str]]:
    """Returns the pages of the site, as name -> MyST, and the files of the pictures on them.

    Args:
      tree: the source tree.
      files: its files.
      programs: source file of a program -> its name, and the program.

    Raises:
      UserError: a page or a header is at fault.
    """
    generated: dict[str, str] = {}
    reference: dict[str, str] = {}

    def add(file: str, page: str, text: str) -> None:
        reference[file] = page
        generated[page] = text

    for file in c_headers.PUBLIC:
        sections = c_headers.parse((tree / file).read_text(encoding="utf-8"), file)
        add(file, "reference/c/" + Path(file).stem, c_headers.render(sections, file))
    starlark = starlark_files.Files(tree)
    starlark_files.remember(starlark.load("tools/rules/providers.bzl"))
    for file, title in RULES.items():
        text = starlark_files.render(title, file, starlark.load(file))
        add(file, "reference/" + title.lower(), text)
    for file, module in PYTHON.items():
        add(file, "reference/python/" + module, python_page(module))
    for file, (name, program) in programs.items():
        add(file, "reference/programs/" + name, program_page(name, program))

    site = Site(files, reference | FOLDERS)
    pages = {
        page_of(file): site.rewritten(file, (tree / file).read_text(encoding="utf-8"))
        for file in sorted(files)
        if is_page(file)
    }
    start = page_of(START)
    places = [*generated, *pages]
    groups = {
        page: Group(section, title, tuple(name for name in places if re.fullmatch(pattern, name)))
        for page, (section, title, pattern) in GROUPS.items()
    }
    also = {
        caption: [
            name for name in places if re.fullmatch(pattern, name) and name not in (start, *groups)
        ]
        for caption, pattern in ALSO.items()
    }
    pages[start] = contents(pages[start], groups, also)
    pages |= {page: group_page(group, pages.get(page)) for page, group in groups.items()}
    tables = [pages[page] for page in (start, *groups)]
    for name in pages.keys() - {start}:
        if not is_listed(name, tables):
            # Links and the search lead there.
            pages[name] = f"---\norphan: true\n---\n\n{pages[name]}"
    for path in sorted(site.shown - files):
        site.shown |= set(site.listing(path))
        pages[source_page(path)] = show_folder(path, site.listing(path))
    for path in sorted(site.shown & files):
        pages[source_page(path)] = show_file(path, (tree / path).read_text(encoding="utf-8"))
    return pages | generated, site.pictures


def build(pages: dict[str, str], pictures: dict[str, Path], out: Path) -> int:
    """Has Sphinx make HTML of the pages, with pictures at their places; returns its exit status."""
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "source"
        for name, text in pages.items():
            file = source / f"{name}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for name, picture in pictures.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, source / name)
        here = Path(__file__).parent
        html = Path(work) / "html"
        status = build_main(
            ["-q", "-W", "--keep-going", "-b", "html", "-c", str(here), "-d", f"{work}/doctrees"]
            + [str(source), str(html)]
        )
        if status == 0:
            # What only another run of Sphinx would read.
            shutil.copytree(
                html, out, ignore=shutil.ignore_patterns(".buildinfo"), dirs_exist_ok=True
            )
    return int(status)


@cli.program("make_site", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status."""
    parser.add_argument("--tree", type=Path, required=True, help="its WORKSPACE file")
    parser.add_argument("--contents", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--program",
        nargs=3,
        metavar=("FILE", "NAME", "PROGRAM"),
        action="append",
        default=[],
        help="a program with a page about it, and its source file",
    )
    options = parser.parse_args(args)
    tree = options.tree.resolve().parent
    programs = {file: (name, program) for file, name, program in options.program}
    pages, pictures = assemble(tree, files_of(options.contents.read_text()), programs)
    return build(pages, {name: tree / name for name in pictures}, options.out)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
