"""Looks for a way to compile a model into a number of bytes of RAM, or for the smallest number that there is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from bmc.errors import BmcError
from bmc.plan.tables import Command, CommandKind, Entry, Plan, Region
from bmc.rewrites.context import Config, Context
from bmc.strips import search
from bmc.strips.bound import bytes_by_rows
from bmc.strips.outline import Outline
from bmc.strips.search import Cut

_LOG = logging.getLogger(__name__)
_Result = TypeVar("_Result")

Cuts = Mapping[str, tuple[Cut, ...]]

# How many cuts a search tries at most, and the steps of its targets.
_ATTEMPTS = 10
_STEPS = 50
# How many cuts it tries after it has found pixels that fit.
_MORE = 2
# Parts of the least number that was found, for which others are looked for.
_PARTS = (0.95, 0.9, 0.85, 0.8)
# The next target, if less was needed than this one.
_LESS = 0.9
# Estimates that differ by less may be wrong about which one is larger.
_ALIKE = 0.9
# Tensors, and numbers, that an error names at most.
_NAMED = 4


class TooLittleRam(BmcError):
    """A model does not fit into a number of bytes.

    Attributes:
      sizes: what attempts need, from little to much; the first is the least number that was found.
      rows: what the tensors alone would need if each of their rows was computed apart, if that is less than what they
        need now.
    """

    def __init__(self, message: str, hint: str, sizes: tuple[int, ...], rows: int) -> None:
        super().__init__("too-little-ram", message, hint=hint)
        self.sizes = sizes
        self.rows = rows


@dataclass(frozen=True)
class Attempt(Generic[_Result]):
    """A model compiled with some cuts.

    Attributes:
      result: the outcome.
      arena: bytes of its arena.
      state: bytes of its state.
      scratch: the most scratch memory of a kernel, on the stack of each hart.
      instructions: that kernels of bmc's own execute.
      peak: the tensors that are alive when most of the arena is in use, as a sentence has them.
      outlines: by function, what strips may be of.
    """

    result: _Result
    arena: int
    state: int
    scratch: int
    instructions: int
    peak: str
    outlines: Mapping[str, Outline]

    @property
    def ram(self) -> int:
        return self.arena + self.state + self.scratch


def measured(result: _Result, plan: Plan, context: Context) -> Attempt[_Result]:
    """Returns what a compiled model needs."""
    executed = {each.function: each.kernel.executed for each in context.configs if each.kernel}
    dispatches = [each for each in plan.commands if each.kind is CommandKind.DISPATCH]
    return Attempt(
        result,
        plan.arena_bytes,
        plan.state_bytes,
        scratch_bytes(context.configs, context.harts),
        sum(executed.get(plan.exports[each.export_index].name, 0) for each in dispatches),
        _peak(plan),
        context.outlines,
    )


def scratch_bytes(configs: Iterable[Config], harts: int) -> int:
    """Returns the most scratch memory of one of bmc's own kernels, on the stacks of so many harts."""
    return harts * max((each.kernel.scratch for each in configs if each.kernel), default=0)


def fit(compile_: Callable[[Cuts, int | None], Attempt[_Result]], ram: int) -> Attempt[_Result]:
    """Returns an attempt that fits, with little more work than needed.

    Args:
      compile_: compiles the model with cuts, and with kernels that take so much scratch memory at most, if they can.
      ram: the bytes that it may need.

    Raises:
      TooLittleRam: none does; names the least number that was found, and others.
    """
    attempts = _Attempts(compile_)
    _search(attempts, ram)
    # What one search does not find, one for another number may.
    while attempts.least.ram > ram and any(
        _search(attempts, int(attempts.least.ram * part)) for part in _PARTS
    ):
        pass
    if attempts.least.ram > ram:
        raise _refusal(attempts, ram)
    return attempts.fastest_within(ram)


class _Attempts(Generic[_Result]):
    """What was compiled, each with its cuts and its limit of scratch memory."""

    def __init__(self, compile_: Callable[[Cuts, int | None], Attempt[_Result]]) -> None:
        self._compile = compile_
        self._made: dict[object, Attempt[_Result]] = {}

    def best(self, cuts: Cuts, ram: int) -> Attempt[_Result]:
        """Returns an attempt with these cuts, with less scratch memory if that makes it fit."""
        attempt = self._attempt(cuts, None)
        left = ram - attempt.arena - attempt.state
        return self._attempt(cuts, left) if 0 <= left < attempt.scratch else attempt

    def _attempt(self, cuts: Cuts, scratch: int | None) -> Attempt[_Result]:
        key = tuple(sorted(cuts.items())), scratch
        if key not in self._made:
            self._made[key] = self._compile(cuts, scratch)
            _LOG.info("%d bytes with %s", self._made[key].ram, cuts)
        return self._made[key]

    @property
    def least(self) -> Attempt[_Result]:
        return min(self._made.values(), key=lambda each: each.ram)

    def fastest_within(self, ram: int) -> Attempt[_Result]:
        """Returns the attempt with the fewest instructions of those that need so many bytes at most."""
        fitting = [each for each in self._made.values() if each.ram <= ram]
        return min(fitting, key=lambda each: each.instructions)

    @property
    def sizes(self) -> list[int]:
        """Returns what the attempts need, from little to much."""
        return sorted({each.ram for each in self._made.values()})


def _search(attempts: _Attempts[_Result], ram: int) -> bool:
    """Makes attempts until one fits, or until there were a few; returns whether one does.

    Where results of cuts do not fit as planes, pixels are tried, but then the search for planes that do goes on for a
    while.
    """
    found = attempts.best({}, ram)
    outlines = found.outlines
    for outline in outlines.values():
        outline.forget()
    tried: set[object] = {()}
    # There are cuts for the one target, and none for the other.
    enough, too_few = found.arena, 0
    target = ram - found.state
    learns = True
    most, has_fit = _ATTEMPTS, found.ram <= ram
    while found.ram > ram and len(tried) < most and enough - too_few > max(enough // _STEPS, 1):
        if not too_few < target < enough:
            target = (too_few + enough) // 2
        cuts = _cuts(outlines, target)
        if cuts is None and learns:
            # That was too much of a lesson. From now on, aim at less than what is needed.
            learns = False
            for outline in outlines.values():
                outline.forget()
        elif cuts is None:
            too_few = target
        elif (key := tuple(sorted(cuts.items()))) in tried:
            enough = target
        else:
            tried.add(key)
            found = attempts.best(cuts, ram)
            if not has_fit and found.ram > ram and attempts.best(_as_pixels(cuts), ram).ram <= ram:
                most = min(most, len(tried) + _MORE)
                has_fit = True
            has_fit |= found.ram <= ram
            if learns:
                _learn(outlines, cuts, found.ram - found.state)
            else:
                enough, target = target, int(target * _LESS)
    return has_fit


def _as_pixels(cuts: Cuts) -> Cuts:
    """Returns the same cuts, whose results are pixels."""
    return {name: tuple(replace(cut, pixels=True) for cut in each) for name, each in cuts.items()}


def _learn(outlines: Mapping[str, Outline], cuts: Cuts, size: int) -> None:
    """Tells outlines what cuts took, so that the search takes others if that was too much."""
    sizes = {
        (name, cut): outlines[name].bytes_in_strips(cut.first, cut.last, cut.rows)
        for name, found in cuts.items()
        for cut in found
    }
    for (name, cut), estimate in sizes.items():
        # Any of the largest may be what took so much.
        if estimate > max(sizes.values()) * _ALIKE:
            outlines[name].learn(cut.first, cut.last, cut.rows, size)


def _cuts(outlines: Mapping[str, Outline], target: int) -> Cuts | None:
    """Returns cuts of all functions, None if one of them needs more."""
    cuts = {name: search.cuts(outline, target) for name, outline in outlines.items()}
    return None if None in cuts.values() else {name: c for name, c in cuts.items() if c}


def _refusal(attempts: _Attempts[_Result], ram: int) -> TooLittleRam:
    least = attempts.least
    numbers = ", ".join(f"{size:,}" for size in attempts.sizes[:_NAMED])
    rows = max(map(bytes_by_rows, least.outlines.values()), default=0)
    rows = min(rows, least.arena)
    return TooLittleRam(
        f"the model does not fit into {ram:,} bytes of RAM: the least that was found is {least.ram:,},"
        f" {least.arena:,} of them for tensors, most of them for {least.peak};"
        f" computed row by row, tensors would take {rows:,}",
        f"give one of {numbers}: the smaller, the more kernels run",
        tuple(attempts.sizes),
        rows,
    )


def _peak(plan: Plan) -> str:
    """Returns the largest tensors that are alive when most of the arena is in use, by the layers that compute them."""
    sentence, most = "nothing", 0
    for entry in plan.entries:
        commands = plan.commands[entry.first_command :][: entry.command_count]
        for time in range(len(commands)):
            alive = [
                n
                for n, life in enumerate(entry.lives)
                if life.region is Region.ARENA and life.first <= time < life.end
            ]
            size = sum(entry.lives[n].length for n in alive)
            if size > most:
                alive.sort(key=lambda n: -entry.lives[n].length)
                named = [_name(entry, commands, n) for n in alive[:_NAMED]]
                sentence, most = ", ".join(dict.fromkeys(named)), size
    return sentence


def _name(entry: Entry, commands: tuple[Command, ...], number: int) -> str:
    """Returns the name of a tensor: the input's, or the layer's that computes it."""
    if number < len(entry.inputs):
        return f"input '{entry.inputs[number].info.name}'"
    life = entry.lives[number]
    layer = next((c.layer for c in commands[life.first : life.end] if c.layer), "")
    return f"'{layer}'" if layer else f"{life.length:,} bytes without a name"
