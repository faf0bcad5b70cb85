"""Public C headers as reference pages: each declaration with the comment above it.

It reads the style of this project's headers, not C: a comment belongs to the declarations below it, up to the
next empty line. What it does not recognize is an error.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from tools.cli import UserError

# Lines that declare nothing for a reader: they make a header work.
_PLUMBING = re.compile(
    r"#(include|ifndef|endif|undef)\b|#define \w+_H_$|BM_EXTERN_C_|BM_ABI_(SIZE|OFFSET)\b|$"
)
_ATTRIBUTES = re.compile(r"\b(BM_MUST_USE|BM_NORETURN|static inline|extern)\s+")


# The headers that applications, boards and kernel libraries include.
PUBLIC = (
    "runtime_bm/bm.h",
    "runtime_bm/app/models.h",
    "runtime_bm/app/hooks.h",
    "runtime_bm/base/status.h",
    "runtime_bm/base/quantize.h",
    "runtime_bm/base/dtype.h",
    "runtime_bm/base/span.h",
    "runtime_bm/base/text.h",
    "runtime_bm/base/check.h",
    "runtime_bm/base/result.h",
    "runtime_bm/hal/hal.h",
    "runtime_bm/hal/harts.h",
    "runtime_bm/hal/application.h",
)


@dataclass(frozen=True)
class Declaration:
    """One declaration.

    Attributes:
      kind: directive of Sphinx's C domain: function, type, struct, enum, enumerator, macro or var.
      name: what it declares; "" for an enum without a name.
      text: the source, without the body of a function.
    """

    kind: str
    name: str
    text: str


@dataclass(frozen=True)
class Section:
    """A comment and the declarations that it is about; none for a comment of its own."""

    comment: tuple[str, ...]
    declarations: tuple[Declaration, ...]


def parse(source: str, file: str) -> list[Section]:
    """Returns the sections of a header in order; the first one is the comment about the whole file.

    Raises:
      UserError: there is a declaration of an unknown form.
    """
    lines = source.splitlines()
    passing = set(re.findall(r"^#undef (\w+)", source, re.MULTILINE))
    sections: list[Section] = []
    comment: list[str] = []
    found: list[Declaration] = []

    def close() -> None:
        if comment or found:
            sections.append(Section(tuple(comment), tuple(found)))
        comment.clear()
        found.clear()

    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith("//"):
            if found:
                close()
            comment.append(line[2:].removeprefix(" "))
        elif _PLUMBING.match(line):
            close()
        else:
            end = _end(lines, at)
            one = _declaration("\n".join(lines[at : end + 1]), f"{file}:{at + 1}")
            if one.name not in passing:
                found.append(one)
            at = end
        at += 1
    close()
    return sections


def _end(lines: list[str], start: int) -> int:
    """Returns the last line of the declaration that begins in line `start`."""
    depth = 0
    for at in range(start, len(lines)):
        line = lines[at].partition("//")[0].rstrip()
        if lines[start].startswith("#"):
            if not line.endswith("\\"):
                return at
            continue
        depth += line.count("{") - line.count("}")
        if depth == 0 and line.endswith((";", "}")):
            return at
    return len(lines) - 1


_FORMS = {
    "macro": re.compile(r"#define (\w+)"),
    "struct": re.compile(r"typedef struct (\w+) \{"),
    "enum": re.compile(r"(?:typedef )?enum (\w*) ?\{"),
    "type": re.compile(r"typedef [^;{]*?\(\*(\w+)\)\("),
    "var": re.compile(r"extern const [\w *]+?(\w+)(?:\[\])?;"),
    "function": re.compile(r"(?:BM_\w+ )?(?:static inline )?[\w *]+?\b(\w+)\("),
}


def _declaration(text: str, place: str) -> Declaration:
    for kind, form in _FORMS.items():
        if match := form.match(text):
            if kind == "function" and "{" in text:
                text = text.partition(" {")[0] + ";"
            return Declaration(kind, match[1], text)
    raise UserError(
        f"{place}: no form of declaration that tools/dev/site/c_headers.py knows: {text.splitlines()[0]!r}"
    )


def names(sections: list[Section]) -> list[str]:
    """Returns what a header declares, in order."""
    return [one.name for section in sections for one in section.declarations if one.name]


def render(sections: list[Section], file: str) -> str:
    """Returns the page about a header, in MyST."""
    about, *rest = sections
    parts = [
        f"# {file.removeprefix('runtime_bm/')}",
        _comment(about.comment),
        f'```c\n#include "{file}"\n```',
    ]
    for section in rest:
        parts += [_directive(one) for one in section.declarations]
        parts.append(_comment(section.comment))
    return "\n\n".join(part for part in parts if part) + "\n"


def _directive(one: Declaration) -> str:
    """Returns the entry of a declaration; the source follows where the entry does not say it all."""
    source = f"```c\n{one.text}\n```"
    if one.kind == "function":
        signature = " ".join(_ATTRIBUTES.sub("", one.text).rstrip(";").split())
        must = "\n\nThe caller must use the result." if "BM_MUST_USE" in one.text else ""
        return f":::{{c:function}} {signature}\n:::{must}"
    if one.kind == "macro":
        macro = re.match(r"#define (\w+(\([^)]*\))?)", one.text)
        assert macro is not None
        return f":::{{c:macro}} {macro[1]}\n:::\n\n{source}"
    if not one.name:
        return source
    kind = "type" if one.kind in ("struct", "enum", "type") else one.kind
    if kind == "var":
        declared = _ATTRIBUTES.sub("", one.text).partition(";")[0]
        return f":::{{c:var}} {declared}\n:::"
    return f":::{{c:type}} {one.name}\n:::\n\n{source}"


def _comment(lines: tuple[str, ...]) -> str:
    """Returns a comment as Markdown: blocks of lines that are indented, and only those, are code."""
    result: list[str] = []
    for code, block in itertools.groupby(_filled(lines), lambda line: line.startswith("  ")):
        if code:
            result += [
                "",
                "```text",
                *(line.removeprefix("  ").rstrip() for line in block),
                "```",
                "",
            ]
        else:
            result += [_escape(line) for line in block]
    return "\n".join(result).strip("\n")


def _filled(lines: tuple[str, ...]) -> list[str]:
    """Returns the lines; an empty one between lines of code belongs to the code."""
    code = [line.startswith("  ") for line in lines]
    return [
        "  " if not line and any(code[:at][-1:]) and any(code[at + 1 :][:1]) else line
        for at, line in enumerate(lines)
    ]


def _escape(line: str) -> str:
    """Escapes what Markdown would take for markup, outside `code`; names of C become code."""
    parts = re.split(r"(`[^`]*`)", line)
    for i in range(0, len(parts), 2):
        text = re.sub(r"([\\*<\[\]$])", r"\\\1", parts[i])
        parts[i] = re.sub(r"\b(bm_\w+(?:\(\))?|BM_\w+)", r"`\1`", text)
    return "".join(parts)
