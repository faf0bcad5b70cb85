"""Chooses what lies in fast memory: tensors, and copies of weights that a kernel reads many times.

What that saves is estimated from the multiply-accumulates of the kernels: a kernel reads each number of an operand once
for every few multiply-accumulates with it. Caches are not modeled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmc.facts.operands import Kernel
from bmc.host.program import (
    Copy,
    Dispatch,
    HalCommand,
    HostFunction,
    Slab,
    Span,
    Storage,
    StorageKind,
)
from bmc.plan import placement
from bmc.plan.placement import Block, Placement

_WORD_BYTES = 4
# Multiply-accumulates with a number each time a kernel has loaded it: rows that a kernel computes at once.
_REUSE = 8


@dataclass(frozen=True, slots=True)
class Memories:
    """Memory of a target: the bytes of fast memory, and the cycles that a word of four bytes takes in each."""

    fast_bytes: int
    fast: int
    arena: int
    weights: int


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Something that could lie in fast memory.

    Attributes:
      what: the number of a slab, or the command and its binding that read weights, of which there would be a copy.
      block: its bytes, and when they are alive.
      saved: cycles of a run.
    """

    what: int | tuple[int, int]
    block: Block
    saved: float


@dataclass(frozen=True)
class Placed:
    """An entry point whose copies of weights have been made, and its slabs in fast memory.

    Attributes:
      entry: with the copies.
      offsets: of slabs in fast memory, by number.
      size: bytes that they need.
    """

    entry: HostFunction
    offsets: dict[int, int]
    size: int


def place(
    entry: HostFunction, blocks: Sequence[Block], kernels: dict[str, Kernel], memories: Memories
) -> Placed:
    """Places what saves the most cycles for each byte, as long as it fits.

    Args:
      entry: an entry point. One with a driver gets no copies.
      blocks: lives of its inputs, and then of its slabs.
      kernels: what dispatch functions read.
      memories: sizes and costs.
    """
    found = [
        each
        for each in _candidates(entry, blocks, kernels, memories)
        if each.saved > 0 and 0 < each.block.length <= memories.fast_bytes
    ]
    found.sort(key=lambda each: -each.saved / each.block.length)
    chosen: list[_Candidate] = []
    for each in found:
        if placement.least_size([*_blocks(chosen), each.block]) <= memories.fast_bytes:
            chosen.append(each)
    while (places := placement.place(_blocks(chosen))).size > memories.fast_bytes:
        chosen.pop()
    return _with_copies(entry, chosen, places)


def _blocks(candidates: Sequence[_Candidate]) -> list[Block]:
    return [each.block for each in candidates]


def _candidates(
    entry: HostFunction, blocks: Sequence[Block], kernels: dict[str, Kernel], memories: Memories
) -> list[_Candidate]:
    saved = dict.fromkeys(range(len(entry.slabs)), 0.0)
    found = []
    for index, command in enumerate(entry.commands):
        for binding, span in enumerate(command.spans):
            storage = span.storage
            words = span.length / _WORD_BYTES
            loads = _loads(command, binding, kernels) if isinstance(command, Dispatch) else 1.0
            if storage.kind is StorageKind.SLAB:
                saved[storage.index] += loads * words * (memories.arena - memories.fast)
            elif storage.kind is StorageKind.CONSTANT and _may_copy(entry, command, span):
                gain = loads * (memories.weights - memories.fast)
                cost = memories.weights + memories.fast
                block = Block(span.length, index, index + 1)
                found.append(_Candidate((index, binding), block, words * (gain - cost)))
    returned = {view.span.storage for view in entry.outputs}
    first = len(entry.inputs)
    found += [
        _Candidate(slab, blocks[first + slab], cycles)
        for slab, cycles in saved.items()
        if Storage(StorageKind.SLAB, slab, entry.slabs[slab].length) not in returned
    ]
    return found


def _may_copy(entry: HostFunction, command: object, span: Span) -> bool:
    return not entry.driver and isinstance(command, Dispatch) and isinstance(span.offset, int)


def _loads(command: Dispatch, binding: int, kernels: dict[str, Kernel]) -> float:
    """Estimates how often a kernel accesses each byte of a binding."""
    kernel = kernels[command.function]
    shapes = [each.shape or () for each in kernel.operands if each.binding == binding]
    elements = max(map(math.prod, shapes), default=0)
    return max(1.0, kernel.macs / elements / _REUSE) if elements else 1.0


def _with_copies(entry: HostFunction, chosen: Sequence[_Candidate], places: Placement) -> Placed:
    """Returns an entry point with a copy before each command whose weights are in fast memory."""
    offsets = {}
    slabs = list(entry.slabs)
    copies: dict[int, list[tuple[int, Span]]] = {}
    for each, offset in zip(chosen, places.offsets, strict=True):
        if isinstance(each.what, int):
            number = each.what
        else:
            index, binding = each.what
            number = len(slabs)
            slabs.append(Slab(each.block.length, each.block.first, each.block.end))
            target = Span(
                Storage(StorageKind.SLAB, number, each.block.length), 0, each.block.length
            )
            copies.setdefault(index, []).append((binding, target))
        offsets[number] = offset
    commands: list[HalCommand] = []
    before = [0]
    for index, command in enumerate(entry.commands):
        if own := copies.get(index):
            assert isinstance(command, Dispatch)
            bindings = list(command.bindings)
            for binding, target in own:
                commands.append(Copy(bindings[binding], target))
                bindings[binding] = target
            command = replace(command, bindings=tuple(bindings))
        commands.append(command)
        before.append(len(commands))
    last = len(entry.commands)
    moved = (
        Slab(slab.length, before[min(slab.first, last)], before[min(slab.end, last)])
        for slab in slabs
    )
    entry = replace(entry, slabs=tuple(moved), commands=tuple(commands))
    return Placed(entry, offsets, places.size)
