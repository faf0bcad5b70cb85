"""The models that BUILD files declare, without Bazel: Starlark is evaluated as Python, which it is a part of."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What is evaluated on the way; other macros declare no model of a network.
_ZOO = "//models:zoo.bzl"


@dataclass(frozen=True)
class Model:
    """A `bm_model`: the file with its source, and some of its attributes."""

    source: Path
    deps: tuple[str, ...]
    quantize: str
    tags: tuple[str, ...]


class _Nothing:
    """What a name that says nothing here stands for; whatever is done to it gives it again."""

    def __call__(self, *_: Any, **__: Any) -> _Nothing:
        return self

    def __getattr__(self, name: str) -> _Nothing:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __add__(self, _: Any) -> _Nothing:
        return self

    __radd__ = __add__

    def __iter__(self) -> Iterator[Any]:
        return iter(())


class _Names(dict[str, Any]):
    """The names of a file; those that it has not are Python's, or say nothing."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, _Nothing())


def models(root: Path) -> list[Model]:
    """Returns the models of the folders in models/."""
    found = []

    def evaluate(file: Path, folder: Path) -> dict[str, Any]:
        def bm_model(*, src: str, **said: Any) -> None:
            deps, tags = (tuple(said.get(what) or ()) for what in ("deps", "tags"))
            found.append(Model(folder / src, deps, said.get("quantize", ""), tags))

        known = {"bm_model": bm_model, "requirement": 'requirement("{}")'.format}
        names = _Names()

        def load(label: str, *loaded: str, **renamed: str) -> None:
            here = evaluate(root / "models/zoo.bzl", folder) if label == _ZOO else known
            for own, theirs in {**{name: name for name in loaded}, **renamed}.items():
                names[own] = here.get(theirs, _Nothing())

        names["load"] = load
        names["glob"] = lambda *_, **__: []
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
        return names

    for build in sorted((root / "models").glob("*/BUILD.bazel")):
        evaluate(build, build.parent)
    return found
