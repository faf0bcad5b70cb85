"""Reads a .gguf file as data: its metadata, and where its tensors lie.

Counts, lengths, types and places are checked before anything is allocated or read by them, so that whatever else opens
the file afterwards finds what it expects. The format is that of versions 2 and 3, with the lower byte first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFValueType

from bmc import limits
from bmc.errors import BmcError
from bmc.limits import Limits
from bmc.names import brief, printable

Value = int | float | bool | str | tuple[int | float | bool | str, ...]

_VERSIONS = (2, 3)
_MOST_DIMENSIONS = 4
_ALIGNMENT = 32
_FORMS = {
    GGUFValueType.UINT8: "<B",
    GGUFValueType.INT8: "<b",
    GGUFValueType.UINT16: "<H",
    GGUFValueType.INT16: "<h",
    GGUFValueType.UINT32: "<I",
    GGUFValueType.INT32: "<i",
    GGUFValueType.FLOAT32: "<f",
    GGUFValueType.BOOL: "<?",
    GGUFValueType.UINT64: "<Q",
    GGUFValueType.INT64: "<q",
    GGUFValueType.FLOAT64: "<d",
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of a file.

    Attributes:
      name: in the file.
      kind: how its elements are stored.
      shape: outermost dimension first, as in PyTorch and in contrast to the file.
      start: offset of its first byte in the file.
      length: bytes.
    """

    name: str
    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    start: int
    length: int


@dataclass(frozen=True)
class GgufFile:
    """A checked file.

    Attributes:
      name: of the file.
      metadata: values by key.
      tensors: by name, in the order of the file.
      data: the whole file.
    """

    name: str
    metadata: Mapping[str, Value]
    tensors: Mapping[str, Tensor]
    data: npt.NDArray[np.uint8]

    def bytes_of(self, tensor: Tensor) -> npt.NDArray[np.uint8]:
        return self.data[tensor.start : tensor.start + tensor.length]


def read(path: Path, allowed: Limits) -> GgufFile:
    """Reads a file.

    Args:
      path: the file.
      allowed: limits of the import.

    Raises:
      BmcError: it is no .gguf file of a known version, is damaged or cut off, or a tensor is too large.
    """
    if path.stat().st_size < 24:
        raise bad(path.name, "is too short for a .gguf file")
    data = np.memmap(path, mode="r", dtype=np.uint8)
    reader = _Reader(path.name, data)
    if bytes(data[:4]) != b"GGUF":
        raise bad(path.name, "is no .gguf file: it does not begin with GGUF")
    reader.place = 4
    version = reader.number(GGUFValueType.UINT32)
    if version not in _VERSIONS:
        raise bad(path.name, f"is of version {version}, and bmc reads versions 2 and 3")
    tensor_count = reader.count(24, "tensors")
    key_count = reader.count(13, "keys")
    metadata: dict[str, Value] = {}
    for _ in range(key_count):
        key = reader.text("a key")
        if key in metadata:
            raise bad(path.name, f"has the key {shown(key)} twice")
        metadata[key] = reader.value(key)
    return GgufFile(path.name, metadata, _tensors(reader, tensor_count, metadata, allowed), data)


def bad(name: str, what: str) -> BmcError:
    """Returns the error for a file that cannot be read."""
    return BmcError("bad-file", f"'{name}' {what}", hint="fetch or convert the file again")


def shown(name: str) -> str:
    """Returns a name of the file for a message."""
    return f"'{brief(printable(name), 100)}'"


def _tensors(
    reader: _Reader, count: int, metadata: Mapping[str, Value], allowed: Limits
) -> dict[str, Tensor]:
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if type(alignment) is not int or alignment <= 0 or alignment & (alignment - 1):
        raise bad(reader.name, "states an alignment that is no power of 2")
    found = [_tensor(reader, allowed) for _ in range(count)]
    base = -(-reader.place // alignment) * alignment
    tensors: dict[str, Tensor] = {}
    for each in found:
        if each.name in tensors:
            raise bad(reader.name, f"has the tensor {shown(each.name)} twice")
        if each.start % alignment or each.start + each.length > len(reader.data) - base:
            raise bad(reader.name, f"is cut off, or misplaces the tensor {shown(each.name)}")
        start = base + each.start
        tensors[each.name] = Tensor(each.name, each.kind, each.shape, start, each.length)
    if sum(each.length for each in tensors.values()) > len(reader.data):
        raise bad(reader.name, "has tensors that overlap")
    return tensors


def _tensor(reader: _Reader, allowed: Limits) -> Tensor:
    """Reads the description of a tensor, whose start is still relative to the first one."""
    name = reader.text("a tensor's name")
    dimensions = reader.number(GGUFValueType.UINT32)
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        raise bad(reader.name, f"has the tensor {shown(name)} with {dimensions} dimensions")
    shape = tuple(reader.number(GGUFValueType.UINT64) for _ in range(dimensions))[::-1]
    number = reader.number(GGUFValueType.UINT32)
    start = reader.number(GGUFValueType.UINT64)
    try:
        kind = GGMLQuantizationType(number)
    except ValueError:
        raise bad(reader.name, f"has the tensor {shown(name)} of unknown type {number}") from None
    block, block_bytes = GGML_QUANT_SIZES[kind]
    elements = 1
    for size in shape:
        elements *= size
    if not elements or shape[-1] % block:
        raise bad(
            reader.name,
            f"has the tensor {shown(name)} with rows that are no whole blocks of {block}",
        )
    # What the elements take in f32, as which they may be computed with.
    if 4 * elements > allowed.tensor_bytes:
        raise limits.exceeded(
            "tensor_bytes",
            4 * elements,
            f"tensor {shown(name)} of '{reader.name}' has {elements:,} elements",
        )
    return Tensor(name, kind, shape, start, elements // block * block_bytes)


class _Reader:
    """Reads values one after another."""

    def __init__(self, name: str, data: npt.NDArray[np.uint8]) -> None:
        self.name = name
        self.data = data
        self.place = 0

    def _take(self, length: int) -> bytes:
        if length > len(self.data) - self.place:
            raise bad(self.name, f"is cut off, or damaged at byte {self.place:,}")
        self.place += length
        return self.data[self.place - length : self.place].tobytes()

    def number(self, kind: GGUFValueType) -> int:
        """Reads a whole number."""
        found: int = struct.unpack(_FORMS[kind], self._take(struct.calcsize(_FORMS[kind])))[0]
        return found

    def count(self, least: int, what: str) -> int:
        """Reads how many items of at least so many bytes follow."""
        found = self.number(GGUFValueType.UINT64)
        if found > len(self.data) // least:
            raise bad(self.name, f"states {found:,} {what}, for which it is too short")
        return found

    def text(self, what: str) -> str:
        """Reads a text that must be UTF-8."""
        try:
            return self._take(self.count(1, "characters")).decode()
        except UnicodeDecodeError:
            raise bad(self.name, f"has {what} that is no UTF-8 at byte {self.place:,}") from None

    def value(self, key: str) -> Value:
        """Reads the value of a key: its type, then that."""
        kind = self._kind(key)
        if kind is not GGUFValueType.ARRAY:
            return self._single(kind)
        kind = self._kind(key)
        if kind is GGUFValueType.ARRAY:
            raise bad(self.name, f"has the key {shown(key)} with arrays of arrays")
        if kind is GGUFValueType.STRING:
            return tuple(self._single(kind) for _ in range(self.count(8, "texts")))
        size = struct.calcsize(_FORMS[kind])
        count = self.count(size, "elements")
        return tuple(np.frombuffer(self._take(count * size), _FORMS[kind]).tolist())

    def _kind(self, key: str) -> GGUFValueType:
        number = self.number(GGUFValueType.UINT32)
        try:
            return GGUFValueType(number)
        except ValueError:
            raise bad(self.name, f"has the key {shown(key)} of unknown type {number}") from None

    def _single(self, kind: GGUFValueType) -> int | float | bool | str:
        if kind is GGUFValueType.STRING:
            # A piece of a vocabulary may be any bytes.
            text = self._take(self.count(1, "characters"))
            return text.decode(errors="surrogateescape")
        found: int | float | bool = struct.unpack(
            _FORMS[kind], self._take(struct.calcsize(_FORMS[kind]))
        )[0]
        return found
