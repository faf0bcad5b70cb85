"""Searches for an order of commands in which the tensors that are alive together take fewer bytes.

IREE orders commands by the model's text. Two branches that each begin with a large tensor and end with a small one need
less memory one after the other than side by side.

A state of the search is a set of commands that have run: which tensors are alive then does not depend on their order.
The search goes deeper first. It drops a state if the way there needs no less than the best order so far, or than other
ways to the same state. A command that frees as much as it takes, without going beyond the peak so far, needs no
alternative: if it ran later, what runs before it would need as many bytes or more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bmc.host.program import HalCommand, HostFunction, Span, Storage, StorageKind
from bmc.plan import pieces, tables
from bmc.plan.pieces import Use
from bmc.plan.tables import Access

# How many states the search goes on from. A count, and not a time, so that the result is the same on every machine.
MOST_STATES = 10_000

Accesses = Callable[[HalCommand], list[Access]]


@dataclass(frozen=True, slots=True)
class Tensor:
    """`length` bytes, alive from the first to the last command that uses it.

    `users` has the commands' bits. An input is alive from the start, what is returned to the end.
    """

    length: int
    users: int
    is_input: bool
    is_returned: bool


@dataclass(frozen=True)
class Graph:
    """Commands, as numbers in an order in which they may run.

    Attributes:
      before: for each command, the bits of those that must run before it.
      tensors: everything that takes memory in the arena.
    """

    before: tuple[int, ...]
    tensors: tuple[Tensor, ...]


def reorder(
    entry: HostFunction, accesses: Accesses, *, in_parts: bool = False
) -> list[HostFunction]:
    """Returns the entry with its commands in the best order that was found, which may be its own.

    With parts, also in an order that needs no more, in which commands wait for others that read their results.

    An entry with a driver is unchanged, because a driver names ranges of commands.

    Args:
      entry: with one slab for each tensor (`tensors.py`), and commands that all wait for those before them.
      accesses: says what a command does with each of its spans.
      in_parts: whether parts of a tensor are alive only from the first command that uses them to the last.
    """
    if entry.driver:
        return [entry]
    graph = _graph(entry, accesses, in_parts)
    order = search(graph)
    orders = [order, late(graph, order)] if in_parts else [order]
    return [_in_order(entry, each) for each in dict.fromkeys(orders)]


def _in_order(entry: HostFunction, order: Sequence[int]) -> HostFunction:
    commands = tuple(entry.commands[number] for number in order)
    slabs = list(entry.slabs)
    for storage, used in pieces.uses(commands).items():
        if storage.kind is StorageKind.SLAB:
            slabs[storage.index] = replace(
                slabs[storage.index], first=used[0].position, end=used[-1].position + 1
            )
    return replace(entry, commands=commands, slabs=tuple(slabs))


def _graph(entry: HostFunction, accesses: Accesses, in_parts: bool) -> Graph:
    """Returns what the search knows of an entry, which is as in `reorder`."""
    returned = {view.span.storage for view in entry.outputs}
    found: list[Tensor] = []
    for storage, used in pieces.uses(entry.commands).items():
        if storage.kind not in (StorageKind.INPUT, StorageKind.SLAB):
            continue
        lengths: dict[int, int] = {}
        if not in_parts:
            used = [Use(0, storage.length, use.position) for use in used]
        for start, end, positions in pieces.cut(used):
            bits = sum(1 << position for position in set(positions))
            lengths[bits] = lengths.get(bits, 0) + end - start
        is_input = storage.kind is StorageKind.INPUT
        found += [
            Tensor(tables.align(length), bits, is_input, storage in returned)
            for bits, length in lengths.items()
        ]
    return Graph(before=_before(entry.commands, accesses), tensors=tuple(found))


def _before(commands: Sequence[HalCommand], accesses: Accesses) -> tuple[int, ...]:
    """Returns the bits of the commands that must run before each one."""
    before = []
    touched: dict[Storage, list[tuple[int, Span, Access]]] = {}
    for number, command in enumerate(commands):
        spans = [pair for pair in zip(command.spans, accesses(command), strict=True) if pair[1]]
        bits = 0
        for span, access in spans:
            for earlier, other, others in touched.get(span.storage, ()):
                if (access | others) & Access.WRITE and span.overlaps(other):
                    bits |= 1 << earlier
        before.append(bits)
        for span, access in spans:
            touched.setdefault(span.storage, []).append((number, span, access))
    return tuple(before)


def peak(graph: Graph, order: Sequence[int]) -> int:
    """Returns the most bytes that are alive during one of the commands in an order."""
    memory = _Memory(graph)
    most, done, held = 0, 0, memory.at_start
    for number in order:
        during, held = memory.run(number, done, held)
        most, done = max(most, during), done | 1 << number
    return most


def search(graph: Graph) -> tuple[int, ...]:
    """Returns the order with the smallest peak that was found; the graph's own unless another is strictly better."""
    count = len(graph.before)
    memory = _Memory(graph)
    best = tuple(range(count))
    limit = peak(graph, best)
    # No order needs less than a command alone.
    least = max((memory.alone(number) for number in best), default=0)
    # State -> the peak on the best way there, and the state and the command that it comes from.
    ways: dict[int, tuple[int, int, int]] = {0: (least, 0, 0)}
    # (- commands done, peak, bytes held, state); the state last, so that the order is always the same.
    waiting = [(0, least, memory.at_start, 0)]
    states = MOST_STATES
    while waiting and states and limit > least:
        done_count, most, held, done = heapq.heappop(waiting)
        if most >= limit or most > ways[done][0]:
            continue
        states -= 1
        if -done_count == count:
            limit, best = most, tuple(_way(ways, done))
            continue
        for number, during, after in _next(graph, memory, done, held, most):
            now, reached = max(most, during), done | 1 << number
            if now < limit and (reached not in ways or now < ways[reached][0]):
                ways[reached] = now, done, number
                heapq.heappush(waiting, (done_count - 1, now, after, reached))
    return best


def late(graph: Graph, order: Sequence[int]) -> tuple[int, ...]:
    """Returns an order with no larger peak, in which commands that free little run just before others wait for them.

    What they make is in the way of other tensors for a shorter time, so that places are found in fewer bytes.
    """
    memory = _Memory(graph)
    limit = peak(graph, order)
    found = list(order)
    for number in reversed(order):
        place = found.index(number)
        end = next(
            (n for n in range(place + 1, len(found)) if graph.before[found[n]] >> number & 1),
            len(found),
        )
        done = sum(1 << each for each in found[:place])
        if end == place + 1 or memory.run(number, done, 0)[1] < 0:
            continue
        tried = [*found[:place], *found[place + 1 : end], number, *found[end:]]
        if peak(graph, tried) <= limit:
            found = tried
    return tuple(found)


def _next(
    graph: Graph, memory: _Memory, done: int, held: int, most: int
) -> list[tuple[int, int, int]]:
    """Returns the commands worth trying next, the bytes alive during each and those held after it."""
    found = []
    for number, before in enumerate(graph.before):
        if done >> number & 1 or before & ~done:
            continue
        during, after = memory.run(number, done, held)
        if during <= most and after <= held:
            return [(number, during, after)]
        found.append((number, during, after))
    return found


def _way(ways: dict[int, tuple[int, int, int]], state: int) -> list[int]:
    """Returns the commands on the way to a state."""
    way: list[int] = []
    while state:
        _, state, number = ways[state]
        way.append(number)
    return way[::-1]


class _Memory:
    """Counts the bytes that are alive."""

    def __init__(self, graph: Graph) -> None:
        self.at_start = sum(tensor.length for tensor in graph.tensors if tensor.is_input)
        self._of = [
            [tensor for tensor in graph.tensors if tensor.users >> number & 1]
            for number in range(len(graph.before))
        ]

    def alone(self, number: int) -> int:
        """Returns the bytes of a command's tensors."""
        return sum(tensor.length for tensor in self._of[number])

    def run(self, number: int, done: int, held: int) -> tuple[int, int]:
        """Returns the bytes alive during a command and after it, if `held` are alive after the commands of `done`."""
        during = after = held
        for tensor in self._of[number]:
            if not tensor.is_input and not tensor.users & done:
                during += tensor.length
                after += tensor.length
            if not tensor.is_returned and not tensor.users & ~(done | 1 << number):
                after -= tensor.length
        return during, after
