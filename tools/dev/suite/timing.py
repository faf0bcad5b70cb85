"""Where the time of a build went, read from Bazel's profile."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.cli import UserError

# The parts of a summary, in its order.
KIND, PACKAGE, TEST = "kind", "package", "test"

_TESTS = "TestRunner"
_MICROSECONDS = 1e6


@dataclass(frozen=True)
class Action:
    """An action that ran.

    mnemonic: its kind. target: label of the target that it is of. seconds: how long it took, with its sandbox.
    """

    mnemonic: str
    target: str
    seconds: float


@dataclass(frozen=True)
class Cost:
    """Actions together."""

    count: int
    seconds: float


# Part -> name in it -> its cost.
Summary = dict[str, dict[str, Cost]]


def read(path: Path) -> list[Action]:
    """Returns the actions of a profile that `tools/bazel ... --config=profile --profile=FILE` wrote.

    Raises:
      UserError: the file is no such profile, or does not name targets.
    """
    try:
        data = path.read_bytes()
        events = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        found = [
            Action(event["args"]["mnemonic"], event["args"]["target"], event["dur"] / _MICROSECONDS)
            for event in events["traceEvents"]
            if event.get("cat") == "action processing"
        ]
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, EOFError, zlib.error) as error:
        raise UserError(f"{path} is no profile of a finished build") from error
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{path} does not say which targets its actions are of: make it with --config=profile"
        ) from error
    if not found:
        raise UserError(f"{path} has no actions: all results were there already")
    return found


def summarize(actions: Iterable[Action]) -> Summary:
    """Sums up actions by kind, package and test."""
    parts: dict[str, dict[str, list[float]]] = {
        part: defaultdict(list) for part in (KIND, PACKAGE, TEST)
    }
    for action in actions:
        parts[KIND][action.mnemonic].append(action.seconds)
        parts[PACKAGE][action.target.partition(":")[0]].append(action.seconds)
        if action.mnemonic == _TESTS:
            parts[TEST][action.target].append(action.seconds)
    return {
        part: {name: Cost(len(all_of_it), sum(all_of_it)) for name, all_of_it in names.items()}
        for part, names in parts.items()
    }


def lines(summary: Summary, least: float) -> list[str]:
    """Returns a summary as text: a line for each name of at least `least` seconds, dearest first."""
    found = []
    for part, names in summary.items():
        for name, cost in sorted(names.items(), key=lambda item: (-item[1].seconds, item[0])):
            if cost.seconds >= least:
                found.append(f"{part} {name} {cost.count} {cost.seconds:.1f}")
    return found


def parse(text: str) -> Summary:
    """Reads what lines() returned; raises UserError for anything else."""
    summary: Summary = {part: {} for part in (KIND, PACKAGE, TEST)}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") or not line:
            continue
        try:
            part, name, count, seconds = line.split()
            summary[part][name] = Cost(int(count), float(seconds))
        except (ValueError, KeyError) as error:
            raise UserError(f"line {number} is not `PART NAME COUNT SECONDS`: {line}") from error
    return summary


def changes(before: Mapping[str, Cost], after: Mapping[str, Cost]) -> list[tuple[str, float]]:
    """Returns how many seconds each name takes more than before, largest change first."""
    nothing = Cost(0, 0.0)
    found = [
        (name, after.get(name, nothing).seconds - before.get(name, nothing).seconds)
        for name in before.keys() | after.keys()
    ]
    return sorted(found, key=lambda item: (-abs(item[1]), item[0]))
