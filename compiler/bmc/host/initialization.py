"""Read-only data that the host program obtains and makes while it initializes.

All of it is done at build time: plan/weights.py reads the parameters and carries out the writes.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from bmc.errors import BmcError
from bmc.host.program import Command, Constant, Dispatch, Span, Storage, StorageKind


class Initialization:
    """The constants of a host program; some methods are the imports that make them."""

    def __init__(self) -> None:
        self.constants: list[Constant] = []

    def allocate(self, length: int) -> Span:
        """A constant that later commands write."""
        return self._add(Constant(f"constant{len(self.constants)}", length))

    def write(self, command: Command) -> None:
        """Takes down what makes a constant."""
        if isinstance(command, Dispatch):
            raise BmcError(
                "init-work",
                f"the compiled model runs kernel {command.function} while it initializes",
                hint="kernels run on the target only; please report the model",
            )
        index = command.target.storage.index
        constant = self.constants[index]
        self.constants[index] = replace(constant, writes=(*constant.writes, command))

    def allocator_import(
        self,
        allocator: str,
        can_fail: int,
        affinity: int,
        types: int,
        usage: int,
        source: bytes,
        offset: int,
        length: int,
    ) -> tuple[Span]:
        data = source[offset : offset + length]
        return (self._add(Constant(f"constant{len(self.constants)}", length, data=data)),)

    def parameters_load(
        self,
        device: str,
        affinity: int,
        wait: str,
        signal: str,
        scope: bytes,
        target_affinity: int,
        types: int,
        usage: int,
        key_table: bytes,
        key_data: bytes,
        spans: bytes,
    ) -> tuple[list[Span]]:
        """key_table holds (offset, length) u32 pairs into key_data, spans (parameter offset, buffer offset,
        length) u64 triples; each key gives one buffer."""
        loaded: list[Span] = []
        for (offset, length), (source, target, size) in zip(
            struct.iter_unpack("<II", key_table), struct.iter_unpack("<QQQ", spans), strict=True
        ):
            if source or target:
                raise BmcError("unsupported-host-op", "the host program loads part of a parameter")
            key = key_data[offset : offset + length].decode()
            loaded.append(self._add(Constant(key, size, parameter=key)))
        return (loaded,)

    def _add(self, constant: Constant) -> Span:
        self.constants.append(constant)
        storage = Storage(StorageKind.CONSTANT, len(self.constants) - 1, constant.length)
        return Span(storage, 0, constant.length)
