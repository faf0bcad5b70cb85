"""Tests the search for an order of commands, on graphs whose best order can be counted, or tried out."""

from __future__ import annotations

import itertools
import random
import unittest
from collections.abc import Sequence
from dataclasses import replace
from unittest import mock

from bmc.dtype import DType
from bmc.host.program import Dispatch, HostFunction, Run, Slab, Span, Storage, StorageKind, View
from bmc.plan import order
from bmc.plan.order import Graph, Tensor
from bmc.plan.tables import Access

R, W = Access.READ, Access.WRITE
Kernel = tuple[str, list[tuple[Span, Access]]]


def whole(kind: StorageKind, index: int, length: int) -> Span:
    return Span(Storage(kind, index, length), 0, length)


def slab(index: int, length: int) -> Span:
    return whole(StorageKind.SLAB, index, length)


_INPUT = whole(StorageKind.INPUT, 0, 64)


class Program:
    """An entry from _INPUT to the last slab, as its kernels."""

    def __init__(self, slabs: Sequence[Span], kernels: Sequence[Kernel]) -> None:
        self._accesses = {name: [access for _, access in uses] for name, uses in kernels}
        commands = tuple(
            Dispatch(name, (1, 1, 1), (), tuple(span for span, _ in uses)) for name, uses in kernels
        )
        source, result = (
            View(span, DType.F32, (span.length // 4,)) for span in (_INPUT, slabs[-1])
        )
        lives = tuple(Slab(span.storage.length, 0, len(commands)) for span in slabs)
        self.entry = HostFunction("main", (source,), (result,), lives, commands)

    def reordered(self) -> HostFunction:
        return self.orders()[0]

    def orders(self, *, in_parts: bool = False) -> list[HostFunction]:
        return order.reorder(
            self.entry, lambda command: self._accesses[names(command)], in_parts=in_parts
        )

    def read(self, entry: HostFunction) -> dict[str, list[object]]:
        """Returns what each kernel finds in its bytes, if kernels write what depends on all that they find."""
        memory: dict[tuple[Storage, int], object] = {}
        found: dict[str, list[object]] = {}
        for command in entry.commands:
            name = names(command)
            uses = list(zip(command.spans, self._accesses[name], strict=True))
            found[name] = [memory.get(at) for span, a in uses if a & R for at in bytes_of(span)]
            for span, access in uses:
                if access & W:
                    memory |= {at: (name, at[1], *found[name]) for at in bytes_of(span)}
        return found


def bytes_of(span: Span) -> list[tuple[Storage, int]]:
    return [(span.storage, at) for at in range(span.start, span.start + span.length)]


def names(command: object) -> str:
    assert isinstance(command, Dispatch)
    return command.function


_SIDE_BY_SIDE = ("a", "b", "small a", "small b", "sum")


def two_branches(large: int = 1000) -> Program:
    """Both begin with a large tensor, of 1024 bytes when placed, and end with 4 bytes, which take 64."""
    a, b, small_a, small_b, result = (
        slab(index, length) for index, length in enumerate((large, large, 4, 4, 4))
    )
    uses = (
        [(_INPUT, R), (a, W)],
        [(_INPUT, R), (b, W)],
        [(a, R), (small_a, W)],
        [(b, R), (small_b, W)],
        [(small_a, R), (small_b, R), (result, W)],
    )
    return Program((a, b, small_a, small_b, result), list(zip(_SIDE_BY_SIDE, uses, strict=True)))


class ReorderTest(unittest.TestCase):
    def commands(self, program: Program) -> list[str]:
        return [names(command) for command in program.reordered().commands]

    def test_one_branch_after_the_other(self) -> None:
        # Side by side both large tensors are alive, at the end with a small one: 2 * 1024 + 64.
        # One after the other there is one of them, with the input and the small one: 1024 + 64 + 64.
        program = two_branches()
        self.assertEqual(self.commands(program), ["a", "small a", "b", "small b", "sum"])

    def test_lives_are_those_in_the_new_order(self) -> None:
        lives = [(each.first, each.end) for each in two_branches().reordered().slabs]
        self.assertEqual(lives, [(0, 2), (2, 4), (1, 5), (3, 5), (4, 5)])

    def test_an_order_as_good_stays(self) -> None:
        a, b, result = slab(0, 64), slab(1, 64), slab(2, 64)
        kernels: list[Kernel] = [
            ("b", [(_INPUT, R), (b, W)]),
            ("a", [(_INPUT, R), (a, W)]),
            ("sum", [(a, R), (b, R), (result, W)]),
        ]
        self.assertEqual(self.commands(Program((a, b, result), kernels)), ["b", "a", "sum"])

    def test_places_are_whole_steps_of_64_bytes(self) -> None:
        """One branch after the other would be better only if tensors of 10 bytes took 10 bytes."""
        self.assertNotEqual(self.commands(two_branches(large=1000)), list(_SIDE_BY_SIDE))
        self.assertEqual(self.commands(two_branches(large=10)), list(_SIDE_BY_SIDE))

    def test_with_a_driver_nothing_moves(self) -> None:
        program = two_branches()
        program.entry = replace(program.entry, driver=(Run(0, 5),))
        self.assertIs(program.reordered(), program.entry)

    def test_what_is_read_stays_the_same(self) -> None:
        moved = 0
        for seed in range(60):
            program = random_program(random.Random(seed))
            reordered = program.reordered()
            moved += reordered.commands != program.entry.commands
            self.assertEqual(program.read(reordered), program.read(program.entry), seed)
        self.assertGreater(moved, 10)

    def test_with_parts_commands_also_wait_for_their_readers(self) -> None:
        moved = 0
        for seed in range(60):
            program = random_program(random.Random(seed))
            first, *later = program.orders(in_parts=True)
            for each in later:
                moved += 1
                self.assertEqual(program.read(each), program.read(program.entry), seed)
                self.assertNotEqual(each.commands, first.commands)
        self.assertGreater(moved, 10)

    def test_late(self) -> None:
        """Command 2 reads what 0 and 1 make; 3 reads what 0 makes."""
        made = (
            order.Tensor(64, 0b1101, is_input=False, is_returned=False),
            order.Tensor(64, 0b0110, is_input=False, is_returned=False),
        )
        graph = order.Graph((0, 0, 0b11, 0b101), made)
        self.assertEqual(order.late(graph, (0, 1, 2, 3)), (1, 0, 2, 3))
        # If 0 makes room, it does so at once.
        given = order.Tensor(128, 0b0001, is_input=True, is_returned=False)
        graph = replace(graph, tensors=(*made, given))
        self.assertEqual(order.late(graph, (0, 1, 2, 3)), (0, 1, 2, 3))

    def test_without_dependences_it_would_not(self) -> None:
        def is_the_same(seed: int) -> bool:
            program = random_program(random.Random(seed))
            (entry,) = order.reorder(program.entry, lambda command: [R] * len(command.spans))
            return program.read(entry) == program.read(program.entry)

        self.assertFalse(all(map(is_the_same, range(60))))


def random_program(chance: random.Random) -> Program:
    """Kernels that read, write and update parts of slabs, of the input and of a state."""
    slabs = [slab(index, 64 * chance.randint(1, 8)) for index in range(6)]
    storages = [
        *(span.storage for span in slabs),
        _INPUT.storage,
        Storage(StorageKind.STATE, 0, 128),
    ]

    def part(access: Access) -> tuple[Span, Access]:
        storage = chance.choice(storages)
        first = 32 * chance.randrange(storage.length // 32)
        return Span(storage, first, min(64, storage.length - first)), access

    kernels: list[Kernel] = [
        (f"k{number}", [part(R), part(chance.choice((R, R | W))), part(W)]) for number in range(8)
    ]
    return Program(slabs, kernels)


def random_graph(chance: random.Random) -> Graph:
    count = chance.randint(1, 6)
    before = [
        sum(1 << earlier for earlier in range(number) if chance.random() < 0.25)
        for number in range(count)
    ]
    tensors = [
        Tensor(
            64 * chance.randint(1, 9),
            sum(1 << number for number in chance.sample(range(count), chance.randint(1, count))),
            chance.random() < 0.1,
            chance.random() < 0.1,
        )
        for _ in range(chance.randint(1, 8))
    ]
    return Graph(tuple(before), tuple(tensors))


def may_run(graph: Graph, commands: Sequence[int]) -> bool:
    return all(
        not graph.before[number] & ~sum(1 << earlier for earlier in commands[:position])
        for position, number in enumerate(commands)
    )


def alive(graph: Graph, commands: Sequence[int]) -> int:
    """Returns the most bytes alive during a command, from the lives of the tensors."""

    def lives(tensor: Tensor, time: int) -> bool:
        uses = [at for at, number in enumerate(commands) if tensor.users >> number & 1]
        first = 0 if tensor.is_input else uses[0]
        last = len(commands) if tensor.is_returned else uses[-1]
        return first <= time <= last

    return max(
        sum(tensor.length for tensor in graph.tensors if lives(tensor, time))
        for time in range(len(commands))
    )


class SearchTest(unittest.TestCase):
    def test_no_order_is_better(self) -> None:
        better = 0
        for seed in range(150):
            graph = random_graph(random.Random(seed))
            given = range(len(graph.before))
            found = order.search(graph)
            self.assertTrue(may_run(graph, found), seed)
            least = min(
                alive(graph, each) for each in itertools.permutations(given) if may_run(graph, each)
            )
            self.assertEqual(alive(graph, found), least, seed)
            if least == alive(graph, given):
                self.assertEqual(found, tuple(given), seed)
            better += found != tuple(given)
        self.assertGreater(better, 15)

    def test_nothing_to_run(self) -> None:
        self.assertEqual(order.search(Graph((), ())), ())

    def test_a_search_that_is_cut_short_keeps_the_order(self) -> None:
        tensors = [Tensor(length, users, False, False) for length, users in ((1024, 5), (1024, 10))]
        graph = Graph((0, 0, 1, 2), tuple(tensors))
        self.assertEqual(order.search(graph), (0, 2, 1, 3))
        with mock.patch.object(order, "MOST_STATES", 3):
            self.assertEqual(order.search(graph), (0, 1, 2, 3))


if __name__ == "__main__":
    unittest.main()
