"""Simulates kernels on a core, cycle by cycle as far as its file knows them: in order, with a scoreboard.

A vector instruction waits for a place in the queue of its unit, for its operands, and on some cores for those who still
read the registers that it replaces. Each register has a time when its first bits are there, a time when all are, and
a time when its last reader is done. Loops run a few times; the last iteration stands for all others.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from bmc.cores.core import Core
from bmc.cores.instruction import Group, Instruction, parsed
from bmc.kernels.tree.tree import Node, Repeat, Skippable, Within, instructions
from bmc.kernels.tree.vectors import REGISTERS

# Iterations of a loop that are simulated.
_ITERATIONS = 3
_UNITS = {
    **dict.fromkeys(("load", "store", "strided", "segments", "indexed"), "memory"),
    **dict.fromkeys(("multiply", "widening", "divide"), "multiplier"),
}


def of_kernel(nodes: Sequence[Node], core: Core) -> float:
    """Returns the cycles of a kernel. A branch on a place in an image counts as inside."""
    pipeline = Pipeline(core)
    pipeline.run(nodes)
    return pipeline.end


@dataclass
class Pipeline:
    """The state of a core.

    Attributes:
      core: the core.
      time: when the next instruction is issued.
      sew, lmul, lanes: bits of an element, registers of a group, and lanes in use.
    """

    core: Core
    time: float = 0
    sew: int = 32
    lmul: float = 1
    lanes: int = 0
    _first: list[float] = field(default_factory=lambda: [0.0] * REGISTERS)
    _complete: list[float] = field(default_factory=lambda: [0.0] * REGISTERS)
    _read: list[float] = field(default_factory=lambda: [0.0] * REGISTERS)
    _loaded: list[bool] = field(default_factory=lambda: [False] * REGISTERS)
    _free: dict[str, float] = field(default_factory=dict)
    _queues: dict[str, deque[float]] = field(default_factory=dict)
    _integers: dict[str, int] = field(default_factory=dict)
    _loops: dict[int, float] = field(default_factory=dict)
    _latest: float = 0

    @property
    def end(self) -> float:
        """When all instructions are done."""
        return max(self.time, self._latest)

    def run(self, nodes: Sequence[Node]) -> None:
        """Runs nodes."""
        for node in nodes:
            match node:
                case Repeat():
                    self._repeat(node)
                case Within():
                    self.time += self.core.scalar
                    self.run(node.then)
                case Skippable():
                    self.run(node.body)
                case _:
                    for line in instructions(node):
                        self._issue(parsed(line))

    def _repeat(self, node: Repeat) -> None:
        if id(node) in self._loops:
            self.time = self.end + self._loops[id(node)]
            return
        begin, last = self.time, 0.0
        simulated = min(node.count, _ITERATIONS)
        for _ in range(simulated):
            before = self.time
            self.run(node.body)
            self.time += 2 * self.core.scalar
            last = self.time - before
        self._skip(last * (node.count - simulated))
        self._loops[id(node)] = self.time - begin

    def _skip(self, cycles: float) -> None:
        """Lets time pass, with all that is going on."""
        self.time += cycles
        self._latest += cycles
        for times in (self._first, self._complete, self._read):
            times[:] = [each + cycles for each in times]
        self._free = {unit: each + cycles for unit, each in self._free.items()}
        for queue in self._queues.values():
            ends = [each + cycles for each in queue]
            queue.clear()
            queue.extend(ends)

    def _issue(self, instruction: Instruction) -> None:
        core, words = self.core, instruction.words
        if instruction.kind == "scalar":
            self.time += core.scalar
            if words[0] == "li":
                self._integers[words[1]] = int(words[2])
        elif instruction.kind == "vsetvli":
            self._set_lanes(words)
        else:
            self._vector(instruction)

    def _set_lanes(self, words: tuple[str, ...]) -> None:
        self.time += self.core.issue
        _, _, length, sew, lmul, *_ = words
        self.sew = int(sew[1:])
        self.lmul = 1 / int(lmul[2:]) if lmul[1] == "f" else int(lmul[1:])
        most = int(self.core.vlen * self.lmul / self.sew)
        self.lanes = min(self._integers.get(length, most), most)

    def _vector(self, instruction: Instruction) -> None:
        core, kind = self.core, instruction.kind
        unit = _UNITS.get(kind, "alu")
        rate = core.rates[kind]
        bits = self.lanes * instruction.fields * (instruction.bits or self.sew * instruction.widest)
        busy = rate.cycles(bits, self.lanes * instruction.fields)
        busy *= rate.vectors if instruction.vectors else 1
        latency = rate.latency or core.latency
        self.time += core.issue
        queue = self._queues.setdefault(unit, deque())
        while queue and queue[0] <= self.time:
            queue.popleft()
        if len(queue) >= core.queue:
            self.time = max(self.time, queue.popleft())
        start = max(self.time, self._free.get(unit, 0.0))
        complete = 0.0
        read = [each for group in instruction.read for each in self._numbers(group, instruction)]
        for register in read:
            chains = core.chains_loads if self._loaded[register] else core.chains
            if chains:
                start = max(start, self._first[register])
                complete = max(complete, self._complete[register])
            else:
                start = max(start, self._complete[register])
        written = self._numbers(instruction.to, instruction) if instruction.to else range(0)
        for register in written:
            if core.waits_for_readers:
                start = max(start, self._read[register])
            start = max(start, self._first[register] - latency)
        end = max(start + busy, complete)
        self._free[unit] = end if complete > start + busy else start + busy
        queue.append(end)
        self._latest = max(self._latest, end + latency)
        for register in read:
            self._read[register] = max(self._read[register], end)
        for register in written:
            self._first[register] = start + latency
            self._complete[register] = end + latency
            self._read[register] = 0.0
            self._loaded[register] = unit == "memory"
        if unit == "memory" and instruction.to:
            self.time = max(self.time, start + core.blocks)

    def _numbers(self, group: Group, instruction: Instruction) -> range:
        """Returns the registers of an operand."""
        scale = group.scale * (instruction.bits / self.sew if instruction.bits else 1)
        return range(
            group.first, min(REGISTERS, group.first + math.ceil(max(1, self.lmul * scale)))
        )
