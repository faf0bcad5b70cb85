"""The tensors of an entry point: their places and lives, and who writes and reads them."""

from __future__ import annotations

from typing import Any, Protocol

from bmc.report import Command, Entry, Life, Model

Json = dict[str, Any]


class Place(Protocol):
    """Bytes of a region: a binding, a tensor, an input or an output."""

    @property
    def offset(self) -> int: ...

    @property
    def bytes(self) -> int: ...


def overlap(place: Place, begin: int, end: int) -> bool:
    """Says whether a place has bytes in [begin, end) of its region."""
    return place.offset < end and begin < _end(place)


def _end(place: Place) -> int:
    return place.offset + place.bytes


def of_entry(model: Model, entry: Entry) -> Json:
    """Returns an entry point's tensors, and their ways from a command to those that read what it wrote.

    A way begins at `writer`, None for an input, and goes to `readers`. Ways in the same `lane` do not meet.
    """
    first, end = entry.first_command, entry.first_command + entry.command_count
    commands = list(enumerate(model.commands))[first:end]
    found = []
    ways: list[Json] = []
    for number, tensor in enumerate(entry.tensors):
        alive = [c for c in commands if tensor.first_command <= c[0] < tensor.end_command]
        own = _ways(alive, tensor, is_input=number < len(entry.inputs))
        writers = [way["writer"] for way in own if way["writer"] is not None]
        kind, name = _name(model, entry, number, writers)
        found.append(
            {
                "kind": kind,
                "name": name,
                # Fast memory is drawn behind the arena.
                "offset": tensor.offset + (tensor.region == "fast") * model.arena.bytes,
                "bytes": tensor.bytes,
                "first": tensor.first_command,
                # An output is read after the last command.
                "end": min(tensor.end_command, end),
                "writers": writers,
                "readers": sorted({reader for way in own for reader in way["readers"]}),
            }
        )
        ways += [{**way, "tensor": number} for way in own if way["readers"]]
    return {
        "name": entry.name,
        "first": first,
        "end": end,
        "tensors": found,
        "ways": _in_lanes(ways, first),
    }


def _name(model: Model, entry: Entry, number: int, writers: list[int]) -> tuple[str, str]:
    """Returns whether a tensor is an input, an output or neither, and what to call it."""
    if number < len(entry.inputs):
        return "input", entry.inputs[number].name
    tensor = entry.tensors[number]
    if tensor.end_command > entry.first_command + entry.command_count:
        begin, end = tensor.offset, _end(tensor)
        names = [output.name for output in entry.outputs if overlap(output, begin, end)]
        return "output", ", ".join(names)
    return "between", model.commands[writers[0]].label if writers else ""


def _ways(commands: list[tuple[int, Command]], tensor: Life, *, is_input: bool) -> list[Json]:
    """Follows the bytes of a tensor through the commands of its life, in their order."""
    ways: list[Json] = []
    # Ways whose bytes are still there, and which bytes those are.
    open_ways: list[tuple[Json, Place]] = []
    if is_input:
        ways.append({"writer": None, "readers": []})
        open_ways.append((ways[0], tensor))
    for index, command in commands:
        bindings = [b for b in command.bindings if b.region == tensor.region and _meet(tensor, b)]
        for binding in bindings:
            if binding.reads:
                for way, place in open_ways:
                    if _meet(place, binding) and index not in way["readers"]:
                        way["readers"].append(index)
        for binding in bindings:
            if binding.writes:
                open_ways = [(w, place) for w, place in open_ways if not _covers(binding, place)]
                way = {"writer": index, "readers": []}
                ways.append(way)
                open_ways.append((way, binding))
    return ways


def _meet(place: Place, binding: Place) -> bool:
    return overlap(binding, place.offset, _end(place))


def _covers(binding: Place, place: Place) -> bool:
    return binding.offset <= place.offset and _end(place) <= _end(binding)


def _in_lanes(ways: list[Json], first: int) -> list[Json]:
    """Gives each way the first lane that is free from its writer to its last reader."""
    ends: list[int] = []
    placed = []
    for way in sorted(ways, key=lambda way: (_start(way, first), max(way["readers"]))):
        start = _start(way, first)
        free = [lane for lane, end in enumerate(ends) if end <= start]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [max(way["readers"])]
        placed.append({**way, "lane": lane})
    return placed


def _start(way: Json, first: int) -> int:
    return first - 1 if way["writer"] is None else int(way["writer"])
