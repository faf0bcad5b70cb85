"""Writes models and their runtime into a folder that builds without Bazel.

example:
  tools/bazel run //models:mlp_rv64.export -- DIR
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bmc.errors import BmcError
from bmc.export import export, read_libraries, read_model
from tools import cli


@cli.program("export", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    """Entry point; returns the exit status."""
    parser.add_argument(
        "folder", type=cli.user_path, help="a new or empty folder, or an earlier export"
    )
    parser.add_argument(
        "--complete",
        action="store_true",
        help="with startup code, linker script and main, so that make builds an image that boots in QEMU",
    )
    parser.add_argument("--model", type=Path, action="append", help=argparse.SUPPRESS)
    parser.add_argument("--loaded", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--kernels", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    try:
        models = [read_model(folder, options.loaded) for folder in options.model]
        libraries = read_libraries(options.kernels) if options.kernels else ()
        print(export(models, options.folder, libraries, complete=options.complete))
    except BmcError as error:
        raise cli.UserError(str(error)) from error
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
