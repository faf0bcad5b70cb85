"""Computes what becomes of the sums of several rows at a time.

What is the same for all rows is loaded once, and elements change their width once, as far as there are registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.constants import Constants
from bmc.kernels.epilogue.groups import Groups
from bmc.kernels.epilogue.one_row import Epilogue
from bmc.kernels.problem.product import RESULT, Node, Unsupported, last_readers
from bmc.kernels.tree.assembly import Assembly
from bmc.kernels.tree.lanes import Lanes
from bmc.kernels.tree.tree import fits


def emit(
    out: Assembly,
    nodes: tuple[Node, ...],
    sums: list[int],
    free: list[int],
    addresses: Callable[[int], str],
    lanes: Lanes,
    constants: Constants,
    steps: Mapping[int, int],
) -> None:
    """Emits the epilogues of some rows and the stores of their results, and moves to the operands of the next row.

    Args:
      sums: numbers of the groups with the sums of each row.
      steps: bytes from row to row in those operands that move.
      others: as in one_row.emit().
    """
    if len(sums) > 1:
        try:
            # Whether it can be done is known when it is done.
            _Rows(Assembly(0), nodes, sums, free, lambda _: "x0", lanes, {}, steps).write()
        except Unsupported:
            pass
        else:
            _Rows(out, nodes, sums, free, addresses, lanes, constants, steps).write()
            return
    for row, group in enumerate(sums):
        one_row.emit(out, nodes, group, [*free, *sums[:row]], addresses, lanes, constants)
        for operand, step in steps.items():
            out.add(addresses(operand), step)


@dataclass
class _Rows:
    """Arguments are those of emit(). `at` is the row at which the address of an operand is."""

    out: Assembly
    nodes: tuple[Node, ...]
    sums: list[int]
    free: list[int]
    addresses: Callable[[int], str]
    lanes: Lanes
    constants: Constants
    steps: Mapping[int, int]
    at: dict[int, int] = field(default_factory=dict)

    def write(self) -> None:
        nodes, last = self.nodes, last_readers(self.nodes)
        groups = Groups(sorted(self.free))
        # The first reader of each load that is the same for all rows.
        loads: dict[int, int] = {}
        for number, node in enumerate(nodes):
            for arg in node.args if node.op != "store" else ():
                if nodes[arg].op == "load" and nodes[arg].operand not in self.steps:
                    loads.setdefault(arg, number)
        rows = [self._row(row, groups, frozenset(loads)) for row in range(len(self.sums))]
        # What comes between two loads of something shared is computed row by row.
        begins = {
            0,
            *loads.values(),
            *(n for n, node in enumerate(nodes) if node.op == "requantize"),
        }
        for begin, end in itertools.pairwise((*sorted(begins), len(nodes))):
            for load, reader in loads.items():
                if reader == begin:
                    group = rows[0].vector(load)
                    for row in rows:
                        row.held[load] = group
            if nodes[begin].op == "requantize":
                one_row.clip(rows, begin)
            else:
                for row in rows:
                    for number in range(begin, end):
                        row.compute(number)
            for load in loads:
                if begin <= last[load] < end:
                    groups.give(next(row.held.pop(load) for row in rows))
        for row in rows:
            row.store(ends=row is rows[-1])
        for operand, step in self.steps.items():
            self.out.add(self.addresses(operand), step * (len(rows) - self.at.get(operand, 0)))

    def _row(self, row: int, groups: Groups, shared: frozenset[int]) -> Epilogue:
        scalars = {node.operand for node in self.nodes if node.op == "scalar"}
        others = {node.operand for node in self.nodes if node.op in ("load", "store")}
        ahead = {number: row * step for number, step in self.steps.items() if number in scalars}
        stores = (self.nodes[node.args[0]].op for node in self.nodes if node.op == "store")
        if scalars & {*others, RESULT} or "load" in stores or not all(map(fits, ahead.values())):
            raise Unsupported("scalars of several rows")

        def address(operand: int) -> str:
            """Moves an operand to this row, whose turn comes behind that of the row before it."""
            if operand in self.steps and operand not in scalars:
                moved = row - self.at.get(operand, 0)
                if moved not in (0, 1):
                    raise Unsupported("an operand that is read at several times")
                self.out.add(self.addresses(operand), moved * self.steps[operand])
                self.at[operand] = row
            return self.addresses(operand)

        return Epilogue(
            self.out,
            self.nodes,
            self.sums[row],
            groups,
            address,
            self.lanes,
            self.constants,
            shared,
            ahead,
        )
