"""What a client of a worker sends: for tests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import grpc


def field(number: int, value: bytes | int) -> bytes:
    """Serializes one field of a message of the Remote Execution API, of fewer than 16,384 bytes."""
    kind, count, data = (0, value, b"") if isinstance(value, int) else (2, len(value), value)
    size = [count] if count < 128 else [count & 127 | 128, count >> 7]
    return bytes([number << 3 | kind, *size]) + data


def nested(put: Callable[[bytes], bytes]) -> bytes:
    """Returns the Digest of a folder that has the one below it twice, and so on: 40, which unfold to 2**40.

    `put` keeps a blob and returns its Digest.
    """
    folder = put(b"")
    for _ in range(40):
        folder = put(b"".join(field(2, field(1, name) + field(2, folder)) for name in (b"d", b"e")))
    return folder


class Storage:
    """What a server keeps."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._service = "/build.bazel.remote.execution.v2.ContentAddressableStorage/"

    def put(self, data: bytes) -> bytes:
        """Puts a blob; returns its Digest."""
        digest = field(1, hashlib.sha256(data).hexdigest().encode()) + field(2, len(data))
        call = self._channel.unary_unary(f"{self._service}BatchUpdateBlobs")
        call(field(2, field(1, digest) + field(2, data)), wait_for_ready=True, timeout=30)
        return digest

    def tree(self, folder: bytes, seconds: float) -> int:
        """Returns the bytes that describe a folder and all below; raises grpc.RpcError if that takes too long."""
        call = self._channel.unary_stream(f"{self._service}GetTree")
        return sum(map(len, call(field(2, folder), wait_for_ready=True, timeout=seconds)))
