"""The instructions of a kernel as a tree of loops and branches, their text, and how many of them run.

No number that a kernel computes with changes what it executes, except where a branch asks for a place in an image, or
for an index. Places are followed through the integer registers that they depend on. Everything else is multiplied.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_REGISTER = re.compile(r"x\d+")
_WORDS = re.compile(r"[ ,()]+")
# What computes an integer of integers, and instructions that write no register of those that they name first.
_COMPUTED: dict[str, Callable[..., int]] = {
    "li": lambda a: a,
    "mv": lambda a: a,
    "addi": lambda a, b: a + b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "slli": lambda a, b: a << b,
}
_STORES = ("sb", "sh", "sw", "sd")
_SMALLEST, _LARGEST = -2048, 2047


def fits(value: int) -> bool:
    """Whether a value fits into an instruction."""
    return _SMALLEST <= value <= _LARGEST


@dataclass(frozen=True)
class Repeat:
    """A loop that runs `count` times, which `counter` counts down."""

    count: int
    counter: str
    label: int
    body: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Within:
    """A branch: `then` if the number in `index` is at least 0 and less than the one in `extent`, or `otherwise`.

    The text of `otherwise`, which runs less often, is behind all others.
    """

    index: str
    extent: str
    other: int
    end: int
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Skippable:
    """A text whose branches to `label` leave it."""

    label: int
    body: list[Node] = field(default_factory=list)


Node = str | Repeat | Within | Skippable


def text(nodes: Sequence[Node], end: int) -> str:
    """Returns the instructions as assembly; `end` is a label that no node has."""
    aside: list[str] = []
    lines = list(_lines(nodes, aside))
    if aside:
        lines += [f"j {end}f", *aside, f"{end}:"]
    return "\n".join(lines)


def _lines(nodes: Sequence[Node], aside: list[str]) -> Iterator[str]:
    for node in nodes:
        match node:
            case str():
                yield node
            case Repeat():
                yield f"{node.label}:"
                yield from _lines(node.body, aside)
                yield f"addi {node.counter}, {node.counter}, -1"
                yield f"bnez {node.counter}, {node.label}b"
            case Within():
                yield f"bgeu {node.index}, {node.extent}, {node.other}f"
                yield from _lines(node.then, aside)
                yield f"{node.end}:"
                behind: list[str] = []
                other = list(_lines(node.otherwise, behind))
                aside += [f"{node.other}:", *other, f"j {node.end}b", *behind]
            case Skippable():
                yield from _lines(node.body, aside)
                yield f"{node.label}:"


def executed(nodes: Sequence[Node]) -> int:
    """Returns how many instructions run: the most, where a branch asks for a number that is not in the text."""
    if not any(isinstance(node, Within) for node in _all(nodes)):
        return _Steps(nodes, {}).fixed
    followed = sorted(_followed(nodes))
    steps = _Steps(nodes, {name: place for place, name in enumerate(followed)})
    # The last one is the jump over what is behind all others.
    return steps.run([None] * len(followed)) + 1


def _all(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        match node:
            case Repeat() | Skippable():
                yield from _all(node.body)
            case Within():
                yield from _all(node.then)
                yield from _all(node.otherwise)


def _followed(nodes: Sequence[Node]) -> frozenset[str]:
    """Returns the registers on which branches depend."""
    sources: dict[str, set[str]] = {}
    found: set[str] = set()
    for node in _all(nodes):
        match node:
            case str():
                _, to, read = _parsed(node)
                if to:
                    sources.setdefault(to, set()).update(filter(_REGISTER.fullmatch, read))
            case Within():
                found |= {node.index, node.extent}
    waiting = list(found)
    while waiting:
        new = sources.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return frozenset(found)


@functools.lru_cache(4096)
def _parsed(line: str) -> tuple[str, str, list[str]]:
    """Returns the name of an instruction, the integer register that it writes, and what it reads."""
    name, *words = _WORDS.split(line.rstrip(")"))
    if not words or name in _STORES or not _REGISTER.fullmatch(words[0]):
        return name, "", []
    return name, words[0], words[1:]


def _instructions(line: str) -> int:
    """Returns how many instructions a line is: two for most constants of 13 to 32 bits, as LLVM assembles them."""
    if not line.startswith("li "):
        return 1
    value = int(line.rpartition(" ")[2])
    return 1 if fits(value) or value % 4096 == 0 else 2


# The values of the registers on which branches depend, None where they are not known.
_Values = list[int | None]


class _Steps:
    """Nodes whose branches are followed.

    fixed: the instructions that always run.
    """

    def __init__(self, nodes: Sequence[Node], places: dict[str, int]) -> None:
        self._places = places
        self._steps: list[Callable[[_Values], int]] = []
        self._seen: dict[tuple[int | None, ...], tuple[int, _Values]] = {}
        self.fixed = 0
        for node in nodes:
            match node:
                case str():
                    self.fixed += _instructions(node)
                    self._line(node)
                case Repeat():
                    self._repeat(node)
                case Within():
                    self._within(node)
                case Skippable():
                    inside = _Steps(node.body, places)
                    self.fixed += inside.fixed
                    self._steps += inside._steps

    def run(self, values: _Values) -> int:
        """Returns what runs, and changes the values as that does."""
        if not self._steps:
            return self.fixed
        key = tuple(values)
        if key not in self._seen:
            total = self.fixed
            for step in self._steps:
                total += step(values)
            self._seen[key] = total, list(values)
            return total
        total, values[:] = self._seen[key]
        return total

    def _line(self, line: str) -> None:
        name, to, read = _parsed(line)
        if to not in self._places:
            return
        place = self._places[to]
        if name not in _COMPUTED:
            self._steps.append(lambda values: _set(values, place, None))
            return
        compute = _COMPUTED[name]
        # Of each operand, the place of a register, or a constant.
        operands = [(self._places.get(word), word) for word in read]
        numbers = [(at, 0 if at is not None else int(word)) for at, word in operands]

        def step(values: _Values) -> int:
            known = [number if at is None else values[at] for at, number in numbers]
            return _set(values, place, None if None in known else compute(*known))

        self._steps.append(step)

    def _repeat(self, node: Repeat) -> None:
        body = _Steps(node.body, self._places)
        self.fixed += node.count * (body.fixed + 2)
        body.fixed = 0
        if body._steps:
            self._steps.append(lambda values: sum(body.run(values) for _ in range(node.count)))

    def _within(self, node: Within) -> None:
        self.fixed += 1
        then, otherwise = (_Steps(each, self._places) for each in (node.then, node.otherwise))
        otherwise.fixed += 1
        index, extent = self._places[node.index], self._places[node.extent]

        def step(values: _Values) -> int:
            place, end = values[index], values[extent]
            if place is not None and end is not None:
                return (then if 0 <= place < end else otherwise).run(values)
            other = list(values)
            most = max(then.run(values), otherwise.run(other))
            values[:] = [a if a == b else None for a, b in zip(values, other, strict=True)]
            return most

        self._steps.append(step)


def _set(values: _Values, place: int, value: int | None) -> int:
    """Sets a value, which takes no instruction beside those that are counted."""
    values[place] = value
    return 0
