"""Target patterns that Bazel refuses: `//...:NAME`, every target of that name below a package."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence

from tools.launcher.errors import LauncherError

# Bazel itself takes `...:all`, `...:*` and `...:all-targets`.
_NAMED_BELOW = re.compile(
    r"(?P<minus>-?)(?P<scope>(?:@[\w.~-]*)?//(?:[^:\s]*/)?\.\.\.):(?P<name>(?!all$|all-targets$|\*$)[^:\s]+)"
)
_TAKES_PATTERNS = frozenset(
    {
        "build",
        "test",
        "run",
        "coverage",
        "cquery",
        "aquery",
        "query",
        "fetch",
        "print_action",
        "mobile-install",
    }
)
# The user's options about sources must apply to the query as well, or Bazel fetches twice.
_FORWARDED = (
    "--config",
    "--repo_env",
    "--override_repository",
    "--distdir",
    "--repository_cache",
    "--define",
)

Query = Callable[[list[str], str], list[str]]


def needs_expansion(command: str, args: Sequence[str]) -> bool:
    """Whether an argument of this command is a pattern that Bazel would refuse."""
    return command in _TAKES_PATTERNS and any(
        _NAMED_BELOW.fullmatch(a) for a in bazels_own(command, args)
    )


def expand(command: str, args: Sequence[str], query: Query) -> list[str]:
    """The arguments with each such pattern replaced by its labels.

    query: (flags, expression) -> labels.
    Raises LauncherError for a pattern without matches.
    """
    own = bazels_own(command, args)
    flags = [a for a in own if a.partition("=")[0] in _FORWARDED and "=" in a]
    result: list[str] = []
    for arg in own:
        match = _NAMED_BELOW.fullmatch(arg)
        if match is None:
            result.append(arg)
            continue
        name, scope = match["name"], match["scope"]
        # filter() sees "//models/x:qemu_test" and "@repo//...".
        labels = query(flags, f'filter(":{re.escape(name)}$", {scope})')
        if not labels:
            raise LauncherError(
                f"No target named {name!r} exists below "
                f"{scope.removesuffix('...') or '//'}: correct the pattern {arg}."
            )
        result += [match["minus"] + label for label in sorted(labels)]
    return result + list(args[len(own) :])


def bazel_query(bazel: Sequence[str], env: Mapping[str, str]) -> Query:
    """A Query that asks Bazel; `bazel` is its program and startup options."""

    def query(flags: list[str], expression: str) -> list[str]:
        command = [*bazel, "query", *flags, "--noshow_progress", "--output=label", expression]
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise LauncherError(
                f"`bazel query '{expression}'` failed with status "
                f"{done.returncode}: fix what it says above."
            )
        return done.stdout.split()

    return query


def bazels_own(command: str, args: Sequence[str]) -> Sequence[str]:
    """What precedes the arguments of a program that is run."""
    return args[: args.index("--")] if command == "run" and "--" in args else args
