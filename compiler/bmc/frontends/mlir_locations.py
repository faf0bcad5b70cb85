"""Locations in MLIR, which name files. A tool that reports an error there would read the file for the line."""

from __future__ import annotations

import io
import re
from pathlib import Path

from iree.compiler import ir

from bmc.ir import ir_util
from bmc.iree import diagnostics

_FILE = re.compile(rb'"((?:[^"\\\n]|\\.)*)"(?=:\d+:\d+)')

_PLACE = re.compile(r'"([^"]*)":(\d+:\d+)')


def without_folders(text: bytes) -> bytes:
    """Returns the text with the last part of each file's name alone, which is no file where the tools run."""
    return _FILE.sub(lambda found: b'"' + _name(found[1]) + b'"', text)


def in_bytecode(data: bytes, reproducer: Path) -> bytes:
    """Does to bytecode what without_folders() does to text.

    IREE's bindings read it: unlike its tools, they look for no file when they find an error.

    Args:
      data: the module.
      reproducer: folder that an error's hint points to.

    Raises:
      BmcError: it is no valid module.
    """
    try:
        with ir.Context():
            module = ir.Module.parse(data)
            cleaned: dict[str, ir.Location] = {}

            def clean(location: ir.Location) -> ir.Location:
                text = str(location)
                if text not in cleaned:
                    # The bindings parse a location only where it stands in a module.
                    source = b"module {} " + without_folders(text.encode())
                    cleaned[text] = ir.Module.parse(source).operation.location
                return cleaned[text]

            for op in ir_util.walk(module.operation):
                op.location = clean(op.location)
                for block in (block for region in op.regions for block in region):
                    for argument in block.arguments:
                        argument.set_location(clean(argument.location))
            written = io.BytesIO()
            module.operation.write_bytecode(written)
            return written.getvalue()
    except ir.MLIRError as error:
        said = "\n".join(
            f"{_place(d.location)} error: {d.message}" for d in error.error_diagnostics
        )
        raise diagnostics.rejection("IREE", said, 1, reproducer, data) from None


def _place(location: ir.Location) -> str:
    """Writes a location as IREE's tools begin a message."""
    found = _PLACE.search(without_folders(str(location).encode()).decode())
    return f"{found[1]}:{found[2]}:" if found else "<unknown>:0:"


def _name(path: bytes) -> bytes:
    # An escape may stand for a slash.
    return b"source" if b"\\" in path else path.rpartition(b"/")[2] or b"source"
