"""Read-only data that the host program loads or makes during initialization.

All of this happens at build time: plan/weights.py reads the parameters and performs the writes.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from bmc.errors import BmcError
from bmc.host.program import Constant, Dispatch, HalCommand, Span, Storage, StorageKind


class Initialization:
    """The constants of a host program. The methods named *_import and parameters_load are its imports."""

    def __init__(self) -> None:
        self.constants: list[Constant] = []

    def allocate(self, length: int) -> Span:
        """Returns a new constant, which later commands write."""
        return self._add(Constant(f"constant{len(self.constants)}", length))

    def write(self, command: HalCommand) -> None:
        """Records a command that writes a constant; raises BmcError for a kernel."""
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
        """Returns one buffer per key.

        Args:
          key_table: u32 pairs (offset, length) into key_data.
          key_data: all keys, one after another.
          spans: u64 triples (parameter offset, buffer offset, length).

        The other arguments have no meaning here.
        """
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
