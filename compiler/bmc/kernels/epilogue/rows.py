"""Writes the epilogue of all rows of a row block.

Operands that all rows share are loaded once, and vsetvli changes the element width once, if there are enough registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bmc.kernels.epilogue import one_row
from bmc.kernels.epilogue.one_row import Epilogue, requantize
from bmc.kernels.problem.product import RESULT, Node, last_readers
from bmc.kernels.tree.assembly import Assembly, Constants
from bmc.kernels.tree.tree import fits
from bmc.kernels.tree.vectors import Lanes
from bmc.kernels.unsupported import Unsupported


def emit(
    out: Assembly,
    nodes: tuple[Node, ...],
    accumulators: list[str],
    addresses: Callable[[int], str],
    lanes: Lanes,
    constants: Constants,
    steps: Mapping[int, int],
) -> None:
    """Emits the epilogue of a row block and the stores of its results, and moves the addresses behind the block.

    Args:
      accumulators: each row's accumulator, which are free afterwards.
      steps: bytes from row to row, for each operand that changes from row to row.
      out, nodes, addresses, lanes, constants: as in one_row.emit().
    """
    if len(accumulators) > 1:
        try:
            # A dry run tells whether the registers suffice for all rows at once.
            trial = Assembly(0, out.vectors.copy())
            _Rows(trial, nodes, accumulators, lambda _: "x0", lanes, {}, steps).write()
        except Unsupported:
            pass
        else:
            _Rows(out, nodes, accumulators, addresses, lanes, constants, steps).write()
            return
    for group in accumulators:
        one_row.emit(out, nodes, group, addresses, lanes, constants)
        for operand, step in steps.items():
            out.add(addresses(operand), step)


@dataclass
class _Rows:
    """Writes all rows together.

    Attributes:
      address_row: the row that the address of each operand points to.
      out, nodes, accumulators, addresses, lanes, constants, steps: as in emit().
    """

    out: Assembly
    nodes: tuple[Node, ...]
    accumulators: list[str]
    addresses: Callable[[int], str]
    lanes: Lanes
    constants: Constants
    steps: Mapping[int, int]
    address_row: dict[int, int] = field(default_factory=dict)

    def write(self) -> None:
        nodes, last = self.nodes, last_readers(self.nodes)
        # Loads that all rows share, and the first node that reads each.
        loads: dict[int, int] = {}
        for number, node in enumerate(nodes):
            for arg in node.args if node.op != "store" else ():
                if nodes[arg].op == "load" and nodes[arg].operand not in self.steps:
                    loads.setdefault(arg, number)
        rows = [self._row(row, frozenset(loads)) for row in range(len(self.accumulators))]
        # Nodes are computed row by row, in sections. A new section starts where a shared load is due, and at
        # requantize, which is computed for all rows together.
        cuts = {
            0,
            *loads.values(),
            *(n for n, node in enumerate(nodes) if node.op == "requantize"),
        }
        for start, end in itertools.pairwise((*sorted(cuts), len(nodes))):
            for load, reader in loads.items():
                if reader == start:
                    group = rows[0].vector(load)
                    for row in rows:
                        row.held[load] = group
            if nodes[start].op == "requantize":
                requantize(rows, start)
            else:
                for row in rows:
                    for number in range(start, end):
                        row.compute(number)
            for load in loads:
                if start <= last[load] < end:
                    (group,) = {row.held.pop(load) for row in rows}
                    self.out.vectors.give(group)
        for row in rows:
            row.store(restores_width=row is rows[-1])
        for operand, step in self.steps.items():
            self.out.add(
                self.addresses(operand), step * (len(rows) - self.address_row.get(operand, 0))
            )

    def _row(self, row: int, shared: frozenset[int]) -> Epilogue:
        """Returns the writer of one row; `shared` are the nodes whose groups other rows need too."""
        scalars = {node.operand for node in self.nodes if node.op == "scalar"}
        vectors = {node.operand for node in self.nodes if node.op in ("load", "store")}
        scalar_offsets = {
            number: row * step for number, step in self.steps.items() if number in scalars
        }
        stores = (self.nodes[node.args[0]].op for node in self.nodes if node.op == "store")
        if (
            scalars & {*vectors, RESULT}
            or "load" in stores
            or not all(map(fits, scalar_offsets.values()))
        ):
            raise Unsupported("scalars for each of several rows")

        def address_of_row(operand: int) -> str:
            """Moves the address of an operand from the row before to this row."""
            if operand in self.steps and operand not in scalars:
                distance = row - self.address_row.get(operand, 0)
                if distance not in (0, 1):
                    raise Unsupported("an operand that several nodes read")
                self.out.add(self.addresses(operand), distance * self.steps[operand])
                self.address_row[operand] = row
            return self.addresses(operand)

        return Epilogue(
            self.out,
            self.nodes,
            self.accumulators[row],
            address_of_row,
            self.lanes,
            self.constants,
            shared,
            scalar_offsets,
        )
