"""A kernel as a tree of instructions, loops and branches; its text, and the number of instructions that run.

Control flow does not depend on data, with two exceptions: branches on a position in a padded image, and on an index.
To count the instructions that run, the integer registers on which branches depend are simulated. Everything else
is counted by multiplication.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bmc.kernels.tree import rvv

_REGISTER = re.compile(r"x\d+")
_WORDS = re.compile(r"[ ,()]+")
# Integer instructions that are simulated, and instructions whose first operand is not a destination.
_INTEGER_OPERATIONS: dict[str, Callable[..., int]] = {
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
    """Whether a value fits into the 12-bit immediate of an instruction."""
    return _SMALLEST <= value <= _LARGEST


@dataclass(frozen=True)
class Add:
    """The addition of `value` to an integer register.

    Attributes:
      constants: registers that hold values which do not fit an immediate, by value.
      temporary: a free register for another such value, "" if there is none.
    """

    register: str
    value: int
    constants: Mapping[int, str]
    temporary: str

    @property
    def needs_temporary(self) -> bool:
        """Whether the value is set in the temporary register."""
        return not fits(self.value) and self.value not in self.constants

    @property
    def lines(self) -> tuple[str, ...]:
        """The instructions."""
        register, value, temporary = self.register, self.value, self.temporary
        if fits(value):
            return (rvv.add_immediate(register, register, value),)
        if value in self.constants:
            return (rvv.add(register, register, self.constants[value]),)
        return (rvv.load_immediate(temporary, value), rvv.add(register, register, temporary))


@dataclass(frozen=True)
class Repeat:
    """A loop that runs `count` times. Register `counter` counts down."""

    count: int
    counter: str
    label: int
    body: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Within:
    """A branch: `then` runs if 0 <= `index` < `extent`, both registers, and `otherwise` if not.

    The text of `otherwise`, which runs less often, is placed behind the rest of the kernel.

    Attributes:
      other: label of `otherwise`.
      end: label behind `then`.
    """

    index: str
    extent: str
    other: int
    end: int
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Skippable:
    """Nodes whose instructions may branch forward to `label`, which is behind them."""

    label: int
    body: list[Node] = field(default_factory=list)


Node = str | Add | Repeat | Within | Skippable


def instructions(node: Node) -> tuple[str, ...]:
    """Returns the instructions of a node without others inside; () for a loop or branch."""
    match node:
        case str():
            return (node,)
        case Add():
            return node.lines
    return ()


def text(nodes: Sequence[Node], end: int) -> str:
    """Returns the assembly text; `end` is an unused label."""
    outlined: list[str] = []
    lines = list(_lines(nodes, outlined))
    if outlined:
        lines += [f"j {end}f", *outlined, f"{end}:"]
    return "\n".join(lines)


def _lines(nodes: Sequence[Node], outlined: list[str]) -> Iterator[str]:
    """Yields the lines of the nodes, and appends those of `otherwise` branches to `outlined`."""
    for node in nodes:
        match node:
            case str():
                yield node
            case Add():
                yield from node.lines
            case Repeat():
                yield f"{node.label}:"
                yield from _lines(node.body, outlined)
                yield f"addi {node.counter}, {node.counter}, -1"
                yield f"bnez {node.counter}, {node.label}b"
            case Within():
                yield f"bgeu {node.index}, {node.extent}, {node.other}f"
                yield from _lines(node.then, outlined)
                yield f"{node.end}:"
                inner_outlined: list[str] = []
                other = list(_lines(node.otherwise, inner_outlined))
                outlined += [f"{node.other}:", *other, f"j {node.end}b", *inner_outlined]
            case Skippable():
                yield from _lines(node.body, outlined)
                yield f"{node.label}:"


def executed(nodes: Sequence[Node]) -> int:
    """Returns how many instructions run. If a branch depends on an argument, the maximum."""
    if not any(isinstance(node, Within) for node in every(nodes)):
        return _Steps(nodes, {}).fixed
    registers = sorted(_branch_registers(nodes))
    steps = _Steps(nodes, {name: position for position, name in enumerate(registers)})
    # One more: the jump over the outlined branches at the end of the kernel.
    return steps.run([None] * len(registers)) + 1


def every(nodes: Sequence[Node]) -> Iterator[Node]:
    """Yields all nodes of the tree."""
    for node in nodes:
        yield node
        match node:
            case Repeat() | Skippable():
                yield from every(node.body)
            case Within():
                yield from every(node.then)
                yield from every(node.otherwise)


def _branch_registers(nodes: Sequence[Node]) -> frozenset[str]:
    """Returns the integer registers on which branches depend, directly or indirectly."""
    sources: dict[str, set[str]] = {}
    result: set[str] = set()
    for node in every(nodes):
        for line in instructions(node):
            _, to, read = _parsed(line)
            if to:
                sources.setdefault(to, set()).update(filter(_REGISTER.fullmatch, read))
        if isinstance(node, Within):
            result |= {node.index, node.extent}
    pending = list(result)
    while pending:
        added = sources.get(pending.pop(), set()) - result
        result |= added
        pending += added
    return frozenset(result)


@functools.lru_cache(4096)
def _parsed(line: str) -> tuple[str, str, list[str]]:
    """Returns an instruction's mnemonic, the integer register that it writes or "", and its source operands."""
    name, *words = _WORDS.split(line.rstrip(")"))
    if not words or name in _STORES or not _REGISTER.fullmatch(words[0]):
        return name, "", []
    return name, words[0], words[1:]


def _instructions(line: str) -> int:
    """Returns how many instructions a line becomes. LLVM assembles most constants of 13 to 32 bits as two."""
    if not line.startswith("li "):
        return 1
    value = int(line.rpartition(" ")[2])
    return 1 if fits(value) or value % 4096 == 0 else 2


# The values of the registers on which branches depend; None if a value is unknown.
_Values = list[int | None]


class _Steps:
    """Simulates nodes to count their instructions.

    Args:
      nodes: the nodes.
      positions: for each register on which branches depend, its index in _Values.

    Attributes:
      fixed: number of the instructions that always run.
    """

    def __init__(self, nodes: Sequence[Node], positions: dict[str, int]) -> None:
        self._positions = positions
        self._steps: list[Callable[[_Values], int]] = []
        self._cache: dict[tuple[int | None, ...], tuple[int, _Values]] = {}
        self.fixed = 0
        for node in nodes:
            match node:
                case str():
                    self._line(node)
                case Add():
                    for line in node.lines:
                        self._line(line)
                case Repeat():
                    self._repeat(node)
                case Within():
                    self._within(node)
                case Skippable():
                    inner = _Steps(node.body, positions)
                    self.fixed += inner.fixed
                    self._steps += inner._steps

    def run(self, values: _Values) -> int:
        """Returns how many instructions run, and updates the register values."""
        if not self._steps:
            return self.fixed
        key = tuple(values)
        if key not in self._cache:
            total = self.fixed
            for step in self._steps:
                total += step(values)
            self._cache[key] = total, list(values)
            return total
        total, values[:] = self._cache[key]
        return total

    def _line(self, line: str) -> None:
        """Counts an instruction, and adds it if it changes one of the simulated registers."""
        self.fixed += _instructions(line)
        if not self._positions:
            return
        name, to, read = _parsed(line)
        if to not in self._positions:
            return
        position = self._positions[to]
        if name not in _INTEGER_OPERATIONS:
            self._steps.append(lambda values: _set(values, position, None))
            return
        compute = _INTEGER_OPERATIONS[name]
        # Each operand is the position of a register, or a constant.
        words = [(self._positions.get(word), word) for word in read]
        operands = [(source, 0 if source is not None else int(word)) for source, word in words]

        def step(values: _Values) -> int:
            known = [number if source is None else values[source] for source, number in operands]
            return _set(values, position, None if None in known else compute(*known))

        self._steps.append(step)

    def _repeat(self, node: Repeat) -> None:
        body = _Steps(node.body, self._positions)
        self.fixed += node.count * (body.fixed + 2)
        body.fixed = 0
        if body._steps:
            self._steps.append(lambda values: sum(body.run(values) for _ in range(node.count)))

    def _within(self, node: Within) -> None:
        self.fixed += 1
        then, otherwise = (_Steps(each, self._positions) for each in (node.then, node.otherwise))
        otherwise.fixed += 1
        index, extent = self._positions[node.index], self._positions[node.extent]

        def step(values: _Values) -> int:
            value, limit = values[index], values[extent]
            if value is not None and limit is not None:
                return (then if 0 <= value < limit else otherwise).run(values)
            other = list(values)
            most = max(then.run(values), otherwise.run(other))
            values[:] = [a if a == b else None for a, b in zip(values, other, strict=True)]
            return most

        self._steps.append(step)


def _set(values: _Values, position: int, value: int | None) -> int:
    """Sets a register's value. Returns 0: the instruction itself is counted in `fixed`."""
    values[position] = value
    return 0
