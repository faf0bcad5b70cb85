"""Stands before BuildBox's program for one action: refuses what would leave the action's root folder or its sandbox.

BuildBox makes the parents of an action's outputs before the action is in its sandbox, and would follow `..` and the
links among the inputs to anywhere in its store. Where it copies inputs, it does the same with their names. Platform
properties give an action the network, another root folder or another user. Forty folders that hold each other twice are
2**40 to whoever copies or looks at them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

# Fields of the Remote Execution API's messages.
_ACTION_COMMAND, _ACTION_INPUTS, _ACTION_PLATFORM = 1, 2, 10
_COMMAND_FOLDER, _COMMAND_OUTPUTS, _COMMAND_PLATFORM = 6, (3, 4, 7), 5
_PLATFORM_PROPERTIES, _PROPERTY_NAME = 1, 1
_DIRECTORY_NODES = _, _DIRECTORY_DIRECTORIES, _DIRECTORY_SYMLINKS = 1, 2, 3
_NODE_NAME, _NODE_DIGEST = 1, 2
_DIGEST_HASH = 1
_RESULT_STATUS, _RESULT_STDERR = 4, 7
# Properties that only say what a worker must be.
_HARMLESS = (b"ISA", b"OSFamily")
# How many bytes follow a field of a wire type that has no length of its own.
_FIXED = {1: 8, 5: 4}
# Most files and folders of an action's inputs: several times those of all Python packages together.
MOST_INPUTS = 500_000


class OutputError(Exception):
    """One sentence for the user."""


def check(action: bytes, store: Path, *, copies: bool) -> None:
    """Raises OutputError if an action reaches beyond its root folder or sandbox.

    That is an output outside of its root folder or behind a link of its inputs, a property, the name of an input, or
    more inputs than MOST_INPUTS.

    Args:
      action: the serialized message Action.
      store: where its command and inputs are.
      copies: whether BuildBox copies its inputs, so that their names matter.
    """
    command = _blob(store, _message(action, _ACTION_COMMAND))
    _check_platform(_message(command, _COMMAND_PLATFORM) + _message(action, _ACTION_PLATFORM))
    _check_inputs(store, _message(action, _ACTION_INPUTS), names=copies)
    folders = [value for field, value in _fields(command) if field == _COMMAND_FOLDER]
    folder = _path(folders[-1] if folders else b"")
    for field, value in _fields(command):
        if field in _COMMAND_OUTPUTS:
            place = folder / _path(value)
            _check_links(store, _message(action, _ACTION_INPUTS), place)


def _check_platform(platform: bytes) -> None:
    for field, value in _fields(platform):
        name = _last(_bytes(value), _PROPERTY_NAME)
        if field == _PLATFORM_PROPERTIES and name not in _HARMLESS:
            said = os.fsdecode(name)
            raise OutputError(
                f"this worker gives no action the property {said!r}; take it out of exec_properties"
            )


def _check_inputs(store: Path, root: bytes, *, names: bool) -> None:
    """Counts what is in the inputs' root and in all folders below, and looks at its names if `names`."""
    # What each folder holds: how much, and the digests of folders.
    known: dict[bytes, tuple[int, list[bytes]]] = {}
    left, count = [root], 0
    while left:
        digest = left.pop()
        if digest not in known:
            known[digest] = _held(_blob(store, digest), names=names)
        held, folders = known[digest]
        count += held
        if count > MOST_INPUTS:
            raise OutputError(f"the action has more than {MOST_INPUTS} files and folders as inputs")
        left += folders


def _held(directory: bytes, *, names: bool) -> tuple[int, list[bytes]]:
    """Returns how much a message Directory holds, and the digests of its folders."""
    count, folders = 0, []
    for field, value in _fields(directory):
        if field not in _DIRECTORY_NODES:
            continue
        count += 1
        if names:
            name = _last(_bytes(value), _NODE_NAME)
            if b"/" in name or name in (b"", b".", b".."):
                raise OutputError(f"{os.fsdecode(name)!r} is no name of an input")
        if field == _DIRECTORY_DIRECTORIES:
            folders.append(_message(_bytes(value), _NODE_DIGEST))
    return count, folders


def _path(value: bytes | int) -> PurePosixPath:
    path = PurePosixPath(os.fsdecode(value) if isinstance(value, bytes) else "/")
    if path.is_absolute() or ".." in path.parts:
        raise OutputError(f"the output {str(path)!r} lies outside of the action's folder")
    return path


def _check_links(store: Path, root: bytes, place: PurePosixPath) -> None:
    """Follows a path from the digest of the inputs' root as far as there are inputs."""
    digests = [root]
    for part in place.parts:
        below = []
        for directory in [_blob(store, digest) for digest in digests]:
            for field, value in _fields(directory):
                if field in (_DIRECTORY_DIRECTORIES, _DIRECTORY_SYMLINKS):
                    names = [name for number, name in _fields(value) if number == _NODE_NAME]
                    if names and names[-1] == os.fsencode(part):
                        if field == _DIRECTORY_SYMLINKS:
                            raise OutputError(
                                f"the output {str(place)!r} lies behind {part!r}, a link among the inputs"
                            )
                        below.append(_message(_bytes(value), _NODE_DIGEST))
        digests = below


def _blob(store: Path, digest: bytes) -> bytes:
    """Returns what the store has for a message Digest; an empty one stands for nothing."""
    name = _last(digest, _DIGEST_HASH).decode(errors="replace")
    if not name:
        return b""
    if not name.isalnum():
        raise OutputError(f"the digest {name!r} is none")
    path = store / "cas/objects" / name[:2] / name[2:]
    try:
        return path.read_bytes()
    except OSError as error:
        # The one of no bytes need not be there.
        if name.startswith("e3b0c44298fc1c14"):
            return b""
        raise OutputError(f"the store lacks {name}: {error.strerror}") from error


def _message(data: bytes, field: int) -> bytes:
    """Returns a message in a message; where it is there several times, its parts add up."""
    return b"".join(_bytes(value) for number, value in _fields(data) if number == field)


def _last(data: bytes, field: int) -> bytes:
    """Returns a text in a message, of which the last one counts."""
    values = [_bytes(value) for number, value in _fields(data) if number == field]
    return values[-1] if values else b""


def _bytes(value: bytes | int) -> bytes:
    if isinstance(value, int):
        raise OutputError("the action is damaged")
    return value


def _fields(data: bytes | int) -> Iterator[tuple[int, bytes | int]]:
    """Yields the number and value of each field of a serialized message."""
    data = _bytes(data)
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _number(data, at)
            yield key >> 3, value
            continue
        size = _FIXED.get(kind, -1)
        if kind == 2:
            size, at = _number(data, at)
        if size < 0 or at + size > len(data):
            raise OutputError("the action is damaged")
        yield key >> 3, data[at : at + size]
        at += size


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns a number of seven bits to a byte, and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at == len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise OutputError("the action is damaged")


def refused(sentence: str) -> bytes:
    """Returns the serialized ActionResult of an action that did not run."""
    said = f"worker: {sentence}\n".encode()[:10_000]
    length = bytes([len(said) & 127 | 128, len(said) >> 7])
    return bytes([_RESULT_STATUS << 3, 1, _RESULT_STDERR << 3 | 2]) + length + said


def main(arguments: Sequence[str]) -> int:
    """RUN STORE copies|mounts ARGUMENT..., where the rest is for BuildBox's program RUN."""
    run, store, how, *rest = arguments
    options = dict(word.removeprefix("--").split("=", 1) for word in rest if "=" in word)
    if "action" in options:
        try:
            check(Path(options["action"]).read_bytes(), Path(store), copies=how == "copies")
        except OutputError as error:
            Path(options["action-result"]).write_bytes(refused(str(error)))
            return 0
    os.execv(run, [run, *rest])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
