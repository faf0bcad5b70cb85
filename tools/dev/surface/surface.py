"""Lists what others build on, each name on a line: the public surface.

example:
  tools/bazel run //tools/dev/surface -- --update

These are the declarations of public headers, commands of the serial protocol, rules and macros with their attributes,
options of bmc, functions of ironcast, and fields of reports. A test compares the list with the committed one, so that
whoever changes the surface sees it, and a reviewer reads the difference.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import ironcast
from bmc import arguments
from tools import cli
from tools.dev.site import c_headers, starlark_files
from tools.report.report import Image

LIST = Path("tools/dev/surface/surface.txt")
_SERVICE = "runtime_bm/app/service.h"
_RULES = ("tools/rules/defs.bzl", "tools/rules/providers.bzl")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A macro without what it stands for, and the rows of the one that lists codes.
_MACRO = re.compile(r"#define \w+(?:\([^)]*\))?")
_CODE = re.compile(r"CODE\((\w+), (\d+),")


def surface(tree: Path) -> str:
    """Returns the list for a source tree."""
    lines: list[str] = []
    for header in c_headers.PUBLIC:
        source = (tree / header).read_text(encoding="utf-8")
        lines += [f"{header} {line}" for line in of_header(source, header)]
    service = (tree / _SERVICE).read_text(encoding="utf-8")
    lines += [f"{_SERVICE} {line}" for line in re.findall(r"BM_SERVICE_\w+ = \d+", service)]
    starlark = starlark_files.Files(tree)
    for file in _RULES:
        names = starlark_files.public(starlark.load(file))
        for name, value in sorted(names.items()):
            lines += [f"{file} {name} {line}".rstrip() for line in of_starlark(value)]
    lines += sorted(_options("bmc", arguments.parser()))
    for name in sorted(ironcast.__all__):
        lines += [f"ironcast {line}" for line in _python(name, getattr(ironcast, name))]
    lines += sorted(set(_fields(Image)))
    return "\n".join(lines) + "\n"


def of_header(source: str, file: str) -> list[str]:
    """Returns the declarations of a header; members of structs and enums each on a line."""
    return list(_declarations(c_headers.parse(source, file)))


def of_starlark(value: Any) -> list[str]:
    """Returns the attributes of a rule, the arguments of a macro, or the fields of a provider."""
    return list(_starlark(value))


def _declarations(sections: list[c_headers.Section]) -> Iterator[str]:
    for section in sections:
        for one in section.declarations:
            text = " ".join(_COMMENT.sub("", one.text).split())
            if macro := _MACRO.match(text):
                yield macro[0]
                yield from (f"BM_CODE_{code} = {number}" for code, number in _CODE.findall(text))
                continue
            if one.kind == "function":
                # Without the body of an inline one.
                text = text.partition(" {")[0]
            yield from _members(one.name, text)


def _members(name: str, text: str) -> Iterator[str]:
    """Yields a declaration, or each member of a struct or an enum."""
    body = re.search(r"\{(.*)\}", text)
    if body is None:
        yield text
        return
    for member in re.split(r"[;,] ?", body[1]):
        if member.strip():
            yield f"{name}: {member.strip()}"


def _starlark(value: Any) -> Iterator[str]:
    match value:
        case starlark_files.Rule():
            for name, attribute in sorted(value.attributes.items()):
                if name[0] != "_":
                    default = attribute.said.get("default", "")
                    must = ", mandatory" if attribute.said.get("mandatory") else ""
                    shown = f" = {default!r}" if isinstance(default, bool | int | str) else ""
                    yield f"{name}: {attribute.type}{must}{shown}"
        case starlark_files.Provider():
            yield from sorted(value.fields)
        case _:
            for parameter in inspect.signature(value).parameters.values():
                yield str(parameter).replace("=", " = ")


def _options(command: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from _options(f"{command} {name}", inner)
        elif action.help != argparse.SUPPRESS and action.dest != "help":
            yield f"{command} {'/'.join(action.option_strings) or action.dest}"


def _python(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield f"{name}{inspect.signature(value)}"
        return
    yield f"class {name}"
    for member, one in inspect.getmembers(value):
        if member[0] != "_" and inspect.isfunction(one) and one.__module__.startswith("ironcast"):
            yield f"{name}.{member}{inspect.signature(one)}"
    if dataclasses.is_dataclass(value):
        yield from (f"{name}.{field.name}: {field.type}" for field in dataclasses.fields(value))


def _fields(kind: Any) -> Iterator[str]:
    """Yields the fields of a dataclass of the report, and those of the dataclasses in it."""
    if not dataclasses.is_dataclass(kind):
        for inner in get_args(kind):
            yield from _fields(inner)
        return
    name = getattr(kind, "__name__", "")
    for field, hint in get_type_hints(kind).items():
        yield f"report {name}.{field}: {_named(hint)}"
        yield from _fields(hint)


def _named(hint: Any) -> str:
    return re.sub(r"\b(?:[a-z_]+\.)+", "", str(hint)).replace("<class '", "").replace("'>", "")


@cli.program("surface", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--update", action="store_true", help="write the list that is committed")
    options = parser.parse_args(args)
    tree = cli.workspace()
    text = surface(tree)
    if options.update:
        (tree / LIST).write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
