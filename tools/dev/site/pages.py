"""The repository's Markdown pages as Sphinx wants them: at their places in the site, with links that lead there.

A page is written for a reader of the repository: its links are relative paths. In the site, a link to a page goes
to that page, one to a file with a page in the reference goes to the reference, and one to any other file or folder
of the repository goes to a page that shows it. A picture stays one. A link to nothing is an error.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tools.cli import UserError

# The text of a link that is the file's name: in the site, the page's title takes its place.
_FILE_NAME = re.compile(r"\[[\w./-]+\.md\](?=\()")
# A fenced block, code within a line, or the target of a link.
_LINK = re.compile(r"^```.*?^```$|`[^`\n]*`|(?<=\]\()[^)\s]+(?=\))", re.MULTILINE | re.DOTALL)
_OUTSIDE = re.compile(r"[a-z]+:")
# The page that a reader sees first.
START = "docs/README.md"
_LANGUAGES = {"bzl": "starlark", "bazel": "starlark", "c": "c", "h": "c", "py": "python"}


def is_page(file: str) -> bool:
    """Whether a file becomes a page; those of example repositories are shown as files."""
    return file.endswith(".md") and not file.startswith((".", "examples/"))


def page_of(file: str) -> str:
    """Returns the place of a Markdown file in the site, without suffix."""
    if file == START:
        return "index"
    name = file.removesuffix(".md").removeprefix("docs/")
    folder, _, last = name.rpartition("/")
    return folder if last == "README" and folder else name


def links(text: str) -> Iterator[re.Match[str]]:
    """Yields the targets of the links on a page."""
    return (match for match in _LINK.finditer(text) if match[0][0] != "`")


def resolved(file: str, target: str) -> tuple[str, str] | None:
    """Returns what a link means, as a path from the root and an anchor; None for one to elsewhere."""
    if _OUTSIDE.match(target):
        return None
    path, _, anchor = target.partition("#")
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(file), path)) if path else file
    return whole, "#" + anchor if anchor else ""


@dataclass(frozen=True)
class Group:
    """Pages that lie below one page in the table of contents.

    Attributes:
      section: heading on the start page.
      title: of the page above them, if it is not a page of the repository.
      members: their places.
    """

    section: str
    title: str
    members: tuple[str, ...]


@dataclass
class Site:
    """What becomes of the files of a repository.

    Attributes:
      files: all of them, as paths from the root.
      reference: file -> its page in the reference.
      shown: files and folders that some page links to, but that are no pages themselves.
      pictures: files that pages show.
    """

    files: frozenset[str]
    reference: Mapping[str, str]
    shown: set[str] = field(default_factory=set)
    pictures: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._folders = {
            file[:at] for file in self.files for at, sign in enumerate(file) if sign == "/"
        }

    def rewritten(self, file: str, text: str) -> str:
        """Returns the text of a page with links that are right in the site; raises UserError."""

        def replace(match: re.Match[str]) -> str:
            if match[0][0] == "`":
                return match[0]
            meant = resolved(file, match[0])
            if meant is None:
                return match[0]
            return self._target(file, match[0], *meant)

        return _LINK.sub(replace, _FILE_NAME.sub("[]", text))

    def _target(self, file: str, link: str, path: str, anchor: str) -> str:
        if path in self.reference:
            return f"/{self.reference[path]}.md{anchor}"
        readme = posixpath.join(path, "README.md")
        if path in self._folders and readme in self.files and is_page(readme):
            path = readme
        if path in self.files and is_page(path):
            return f"/{page_of(path)}.md{anchor}"
        if path not in self.files and path not in self._folders:
            raise UserError(f"{file} links to {link}: there is no {path} in the source tree")
        if path.endswith(".svg"):
            self.pictures.add(path)
            return f"/{path}"
        self.shown.add(path)
        return f"/{source_page(path)}.md"

    def listing(self, folder: str) -> list[str]:
        """Returns the files of a folder and of those below it."""
        return sorted(file for file in self.files if file.startswith(folder + "/"))


def source_page(path: str) -> str:
    """Returns the place of the page that shows a file or folder."""
    return f"source/{path}"


def show_file(path: str, text: str) -> str:
    """Returns the page that shows a file."""
    language = _LANGUAGES.get(path.rpartition(".")[2], "text")
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"---\norphan: true\n---\n\n# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def show_folder(path: str, listing: list[str]) -> str:
    """Returns the page that shows what is in a folder."""
    lines = [f"- [{file}](/{source_page(file)}.md)" for file in listing]
    return "\n".join(["---", "orphan: true", "---", "", f"# {path}", "", *lines]) + "\n"


def toctree(pages: Iterable[str], caption: str = "") -> str:
    """Returns the block that puts pages below this one in the table of contents."""
    head = ["```{toctree}", *([f":caption: {caption}"] if caption else []), ":hidden:", ""]
    return "\n".join([*head, *(f"/{page}" for page in pages), "```", ""])


def contents(text: str, groups: Mapping[str, Group], also: Mapping[str, list[str]]) -> str:
    """Returns the start page with the table of contents that its own sections and links are.

    Args:
      text: the page, with links as they are in the site.
      groups: page -> the group below it; a link to one of them stands for the group.
      also: heading of a section -> pages that belong there even if no link says so.
    """
    owner = {member: page for page, group in groups.items() for member in group.members}

    def listed(part: str) -> list[str]:
        places = [match[0].removeprefix("/").partition(".md")[0] for match in links(part)]
        return [owner.get(page, page) for page in places if not page.startswith("source/")]

    everywhere = listed(text)
    result = ""
    for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
        first = section.splitlines()[0]
        caption = first.removeprefix("## ") if first.startswith("## ") else ""
        pages = listed(section)
        pages += [page for page in also.get(caption, []) if page not in (*everywhere, *owner)]
        pages += [page for page, group in groups.items() if group.section == caption]
        result += section.rstrip("\n") + "\n\n" + toctree(dict.fromkeys(pages), caption) + "\n"
    return result


def is_listed(page: str, pages: Iterable[str]) -> bool:
    """Whether a page is in the table of contents that is in these pages' texts."""
    return any(f"\n/{page}\n" in text for text in pages)


def group_page(group: Group, text: str | None) -> str:
    """Returns the page above a group's: `text`, or if there is none a list of them."""
    if text is not None:
        return text + "\n" + toctree(group.members)
    listed = toctree(group.members).replace(":hidden:", ":maxdepth: 1")
    return f"# {group.title}\n\n{listed}"
