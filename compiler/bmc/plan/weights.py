"""Converts and permutes constants to their final layout and packs them, equal ones once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmc import artifacts, dtype
from bmc.errors import InternalError
from bmc.facts.stored_weights import WeightType
from bmc.host.program import Constant, Fill, HalCommand, HostProgram, StorageKind
from bmc.plan import tables

_UNTYPED = WeightType("i8", (), ())


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant in the packed weights.

    Attributes:
      name: key of the constant in the host program.
      framework_name: the framework's parameter with the same bytes, or "".
      dtype: MLIR element type.
      shape: as packed; () if the constant has no tensor type of its own.
      permuted: the layout differs from the framework's by this permutation; () if it does not.
      where: what reads it in the model, such as "model.py:12"; "" if unknown.
      offset, length: place in the packed bytes.
      sha256: of the packed bytes of this constant.
      initial: only a state begins with it; no entry point reads it.
      is_widened: whether its numbers are int8 in 16 bits.
    """

    name: str
    framework_name: str
    dtype: str
    shape: tuple[int, ...]
    permuted: tuple[int, ...]
    where: str
    offset: int
    length: int
    sha256: str
    initial: bool
    is_widened: bool = False


@dataclass(frozen=True)
class PackedWeights:
    """`table` holds the constants that commands read, by their number in the host program."""

    data: bytes
    table: dict[int, Weight]

    @property
    def distinct_bytes(self) -> int:
        """Sum of the lengths of distinct constants in bytes, without alignment."""
        return sum({weight.offset: weight.length for weight in self.table.values()}.values())


@dataclass(frozen=True)
class Contents:
    """The constants of a host program.

    Attributes:
      original: the bytes of each one as the parameter archive has them.
      final: the same with their final type and layout.
    """

    original: tuple[bytes, ...]
    final: tuple[bytes, ...]


def read(program: HostProgram, archive: Path, types: dict[str, WeightType]) -> Contents:
    """Returns the constants of a program.

    Args:
      program: whose constants to read.
      archive: the .irpa file with the parameters; missing if the model has none.
      types: type and permutation of each parameter.
    """
    stored = _read_archive(archive)
    contents = _contents(
        program,
        {key: _converted(data, types.get(key, _UNTYPED)) for key, data in stored.items()},
    )
    original, final = [], []
    for data, constant in zip(contents, program.constants, strict=True):
        kind = types.get(constant.parameter, _UNTYPED)
        is_converted = kind.is_widened or kind.is_halved
        original.append(stored[constant.parameter] if is_converted else data)
        final.append(_permute(data, kind))
    return Contents(tuple(original), tuple(final))


def pack(
    program: HostProgram,
    contents: Contents,
    types: dict[str, WeightType],
    parameters: tuple[artifacts.Parameter, ...],
) -> PackedWeights:
    """Packs the constants in the order of their first use; equal bytes share one place.

    Args:
      program: whose constants to pack.
      contents: of these constants.
      types: type and permutation of each parameter.
      parameters: the framework's weights, which name constants of equal contents.
    """
    names = _names_by_hash(parameters)
    packed = bytearray()
    places: dict[str, int] = {}
    weights: dict[int, Weight] = {}
    read = set(_order_of_use(c for entry in program.entries for c in entry.commands))
    for index in _order_of_use(program.commands):
        constant = program.constants[index]
        kind = types.get(constant.parameter, _UNTYPED)
        original, data = contents.original[index], contents.final[index]
        digest = artifacts.sha256(data)
        if digest not in places:
            packed.extend(b"\0" * (tables.align(len(packed)) - len(packed)))
            places[digest] = len(packed)
            packed.extend(data)
        weights[index] = Weight(
            name=constant.name,
            framework_name=names.get(artifacts.sha256(original), ""),
            dtype=kind.dtype,
            shape=tuple(kind.shape[axis] for axis in kind.permutation) or kind.shape,
            permuted=kind.permutation,
            where=kind.where,
            offset=places[digest],
            length=constant.length,
            sha256=digest,
            initial=index not in read,
            is_widened=kind.is_widened,
        )
    return PackedWeights(bytes(packed), weights)


def unpacked(
    archive: Path, types: dict[str, WeightType], parameters: tuple[artifacts.Parameter, ...]
) -> tuple[Weight, ...]:
    """Returns the constants of an archive, whose places in the packed weights are not known yet.

    Args:
      archive, types, parameters: as for read() and pack().
    """
    names = _names_by_hash(parameters)
    found = []
    for key, data in _read_archive(archive).items():
        kind, digest = types.get(key, _UNTYPED), artifacts.sha256(data)
        called = names.get(digest, "")
        found.append(
            Weight(key, called, kind.dtype, kind.shape, (), kind.where, 0, len(data), digest, False)
        )
    return tuple(found)


def exact_halves(archive: Path) -> frozenset[str]:
    """Returns the names of the weights that f16 holds exactly, if they are f32."""
    found = set()
    for name, data in _read_archive(archive).items():
        if len(data) % 4 == 0:
            numbers = np.frombuffer(data, "<f4")
            with np.errstate(over="ignore", invalid="ignore"):
                is_exact = np.array_equal(numbers.astype(np.float16), numbers)
            if is_exact:
                found.add(name)
    return frozenset(found)


def _order_of_use(commands: Iterable[HalCommand]) -> list[int]:
    spans = (span for command in commands for span in command.spans)
    used = (span.storage.index for span in spans if span.storage.kind is StorageKind.CONSTANT)
    return list(dict.fromkeys(used))  # a dict is an ordered set


def _names_by_hash(parameters: tuple[artifacts.Parameter, ...]) -> dict[str, str]:
    """Equal weights, such as biases of zeros, cannot be told apart: all get the first one's name."""
    found: dict[str, list[str]] = {}
    for parameter in parameters:
        found.setdefault(parameter.sha256, []).append(parameter.name)
    return {
        digest: names[0] if len(names) == 1 else f"{names[0]} or an equal one"
        for digest, names in found.items()
    }


def _read_archive(archive: Path) -> dict[str, bytes]:
    from iree import runtime

    index = runtime.ParameterIndex()
    if archive.is_file():  # without any global nothing is exported
        index.load(str(archive))
    return {key: _entry_bytes(entry) for key, entry in index.items()}


def _entry_bytes(entry: Any) -> bytes:
    if entry.is_splat:
        pattern = bytes(entry.splat_pattern)
        return pattern * (int(entry.length) // len(pattern))
    return bytes(entry.file_view)


def _contents(program: HostProgram, stored: dict[str, bytes]) -> list[bytes]:
    """Returns the bytes of every constant, before permutation."""
    contents: list[bytes] = []
    for constant in program.constants:
        if constant.writes:
            data = _written(constant, contents)
        else:
            data = stored[constant.parameter] if constant.parameter else constant.data
        if len(data) != constant.length:
            raise InternalError(
                f"constant {constant.name} has {len(data)} bytes, not {constant.length}"
            )
        contents.append(data)
    return contents


def _written(constant: Constant, contents: list[bytes]) -> bytes:
    """Runs the fills and copies that make a constant from earlier ones."""
    data = bytearray(constant.length)
    for write in constant.writes:
        target = write.target
        if isinstance(write, Fill):
            assert isinstance(write.pattern, int)  # nothing is unknown at initialization
            pattern = write.pattern.to_bytes(write.pattern_bytes, "little")
            source = pattern * (target.length // write.pattern_bytes)
        else:
            start = write.source.start
            source = contents[write.source.storage.index][start : start + write.source.length]
        data[target.start : target.start + target.length] = source
    return bytes(data)


def _converted(data: bytes, kind: WeightType) -> bytes:
    """Returns the bytes of a constant in the type that kernels read."""
    if kind.is_halved:
        return dtype.nearest_f16(np.frombuffer(data, "<f4")).tobytes()
    return np.frombuffer(data, "<i1").astype("<i2").tobytes() if kind.is_widened else data


def _permute(data: bytes, kind: WeightType) -> bytes:
    if not kind.permutation:
        return data
    # Only the size of an element matters here: its bytes move together.
    array = np.frombuffer(data, np.dtype((np.void, dtype.from_mlir(kind.dtype).byte_count)))
    return np.ascontiguousarray(array.reshape(kind.shape).transpose(kind.permutation)).tobytes()
