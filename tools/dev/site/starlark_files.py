"""The rules' reference: Starlark files are evaluated as Python, which they are a part of.

Bazel's own starlark_doc_extract wants a label for every file that is loaded on the way, those of other
repositories too. Here, what another repository brings is a value that can be called and read and says nothing.
"""

from __future__ import annotations

import builtins
import inspect
import re
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class _Anything:
    """What a name of another repository or of Bazel stands for; whatever is done to it gives another one."""

    def __call__(self, *_: Any, **__: Any) -> _Anything:
        return _Anything()

    def __getattr__(self, name: str) -> _Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()


@dataclass(frozen=True)
class Attribute:
    """One attribute of a rule: its type, as in `attr.label`, and what was passed for it."""

    type: str
    said: dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """A rule.

    Attributes:
      doc: its text.
      attributes: by name; those of Bazel itself, such as `name` and `tags`, are not among them.
      kind: what may be done with a target beside building it: "", "test" or "run".
    """

    doc: str
    attributes: dict[str, Attribute]
    kind: str


@dataclass(frozen=True)
class Provider:
    """A provider: its text, and that of each field."""

    doc: str
    fields: dict[str, str]


class _Attr:
    def __getattr__(self, type_name: str) -> Callable[..., Attribute]:
        return lambda **said: Attribute(type_name, said)


def _rule(*, doc: str = "", attrs: dict[str, Attribute] | None = None, **said: Any) -> Rule:
    kind = "test" if said.get("test") else "run" if said.get("executable") else ""
    return Rule(inspect.cleandoc(doc), attrs or {}, kind)


def _provider(doc: str = "", fields: dict[str, str] | None = None) -> Provider:
    return Provider(inspect.cleandoc(doc), fields or {})


class _Label(str):
    """A label, shown as it is written."""

    def __getattr__(self, name: str) -> _Anything:
        return _Anything()


@dataclass
class Files:
    """Starlark files below a folder, evaluated once each."""

    root: Path
    _done: dict[str, dict[str, Any]] = field(default_factory=dict)

    def load(self, file: str) -> dict[str, Any]:
        """Returns the names that a file defines or loads, given its path from the root."""
        if file not in self._done:
            code = compile((self.root / file).read_text(encoding="utf-8"), file, "exec")
            given: dict[str, Any] = dict.fromkeys(_names(code) - set(dir(builtins)), _Anything())
            given |= {"attr": _Attr(), "provider": _provider, "rule": _rule, "Label": _Label}
            scope = dict(given)

            def load(label: str, *names: str, **renamed: str) -> None:
                for own, theirs in {**{name: name for name in names}, **renamed}.items():
                    if label.startswith("@"):
                        scope[own] = _Anything()
                    else:
                        package, _, base = label.removeprefix("//").partition(":")
                        folder = package if label.startswith("//") else str(Path(file).parent)
                        scope[own] = self.load(f"{folder}/{base}")[theirs]

            scope["load"] = given["load"] = load
            exec(code, scope)
            self._done[file] = {
                name: value for name, value in scope.items() if value is not given.get(name)
            }
        return self._done[file]


def _names(code: types.CodeType) -> set[str]:
    """Returns the names that code uses: what it does not define itself is Bazel's."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def public(names: dict[str, Any]) -> dict[str, Any]:
    """Returns the rules, macros and providers among the names of a file."""
    kinds = (Rule, Provider)
    return {
        name: value
        for name, value in names.items()
        if name[0] != "_" and (isinstance(value, kinds) or inspect.isfunction(value))
    }


def render(title: str, file: str, names: dict[str, Any]) -> str:
    """Returns the page about a file, in MyST."""
    parts = [f"# {title}", _prose(names["__doc__"].strip())]
    for name, value in sorted(public(names).items()):
        parts.append(f"## `{name}`")
        if isinstance(value, Rule):
            parts += _rule_page(file, name, value)
        elif isinstance(value, Provider):
            parts.append(_prose(value.doc))
            parts.append(_table("Field", value.fields))
        else:
            parts += _macro_page(file, name, value)
    return "\n\n".join(part for part in parts if part) + "\n"


def _usage(file: str, name: str, arguments: list[str]) -> str:
    package, _, base = file.rpartition("/")
    shown = "".join(f"    {argument},\n" for argument in arguments)
    return f'```starlark\nload("//{package}:{base}", "{name}")\n\n{name}(\n{shown})\n```'


def _rule_page(file: str, name: str, rule: Rule) -> list[str]:
    shown = {key: value for key, value in rule.attributes.items() if key[0] != "_"}
    usage = ["name"] + [key for key, value in shown.items() if value.said.get("mandatory")]
    usage += [
        f"{key} = {_starlark(value)}"
        for key, value in shown.items()
        if not value.said.get("mandatory")
    ]
    extra = {
        "test": "`bazel test` runs it.",
        "run": "`bazel run` runs it.",
        "": "",
    }[rule.kind]
    rows = {
        key: f"{_type(value)}. {_joined(value.said.get('doc', ''))}" for key, value in shown.items()
    }
    return [_prose(rule.doc), extra, _usage(file, name, usage), _table("Attribute", rows)]


def _type(attribute: Attribute) -> str:
    """Returns what may be given for an attribute, e.g. "label, mandatory"."""
    said = attribute.said
    words = [attribute.type.replace("_", " ")]
    if said.get("values"):
        words.append("one of " + ", ".join(f"`{value}`" for value in said["values"]))
    providers = [item for item in said.get("providers", []) if isinstance(item, Provider)]
    if providers:
        words.append("a target with " + ", ".join(f"`{_NAMES[id(item)]}`" for item in providers))
    if said.get("mandatory"):
        words.append("mandatory")
    return "*" + ", ".join(words) + "*"


# Providers' names: a value does not know its own.
_NAMES: dict[int, str] = {}


def remember(names: dict[str, Any]) -> None:
    """Tells pages about rules what the providers are called."""
    _NAMES.update({id(value): name for name, value in names.items() if isinstance(value, Provider)})


_EMPTY = {"bool": False, "int": 0, "string": "", "label": None}


def _starlark(attribute: Attribute) -> str:
    empty: Any = [] if attribute.type.endswith("list") else {}
    return _literal(attribute.said.get("default", _EMPTY.get(attribute.type, empty)))


def _literal(value: Any) -> str:
    """Returns a default as it is written in Starlark."""
    if isinstance(value, _Anything):
        return "..."
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _macro_page(file: str, name: str, macro: Callable[..., Any]) -> list[str]:
    about, arguments, rest = split(inspect.getdoc(macro) or "")
    usage = []
    for parameter in inspect.signature(macro).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            usage.append(f"**{parameter.name}")
        elif parameter.default is inspect.Parameter.empty:
            usage.append(parameter.name)
        else:
            usage.append(f"{parameter.name} = {_literal(parameter.default)}")
    return [_prose(about), _usage(file, name, usage), _table("Argument", arguments), rest]


def split(doc: str) -> tuple[str, dict[str, str], str]:
    """Returns a docstring's text, its arguments with their texts, and what it returns."""
    about, _, tail = doc.partition("\nArgs:\n")
    listed, _, returned = tail.partition("\nReturns:\n")
    arguments: dict[str, str] = {}
    for line in listed.splitlines():
        if match := re.match(r"  (\*{0,2}\w+): (.*)", line):
            arguments[match[1]] = match[2]
        elif line.strip():
            name = list(arguments)[-1]
            arguments[name] += " " + line.strip()
    return about.strip(), arguments, f"Returns: {_joined(returned)}" if returned else ""


def _joined(text: str) -> str:
    return " ".join(text.split())


def _prose(text: str) -> str:
    """Returns a text as Markdown: `<` outside code would begin HTML."""
    lines = [line if line.startswith("    ") else _safe(line) for line in text.splitlines()]
    return "\n".join(lines)


def _safe(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([<\[\]])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def _table(head: str, rows: dict[str, str]) -> str:
    if not rows:
        return ""
    lines = [f"| {head} | |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {_safe(text).replace('|', chr(92) + '|')} |" for name, text in rows.items()
    ]
    return "\n".join(lines)
