"""Writes models and their runtime into a folder that builds without Bazel.

example:
  tools/bazel run //models:mlp_rv64.export -- DIR
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from bmc.errors import BmcError
from bmc.export import export, read_libraries, read_model
from tools import console


def main(args: list[str]) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="export", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a new or empty folder, or an earlier export")
    parser.add_argument(
        "--complete",
        action="store_true",
        help="with startup code, linker script and main, so that make builds an image that boots in QEMU",
    )
    parser.add_argument("--model", type=Path, action="append", help=argparse.SUPPRESS)
    parser.add_argument("--loaded", action="append", default=[], help=argparse.SUPPRESS)
    parser.add_argument("--kernels", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(args)
    # `bazel run` starts programs elsewhere than where the user stands.
    target = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "")) / options.folder
    try:
        models = [read_model(folder, options.loaded) for folder in options.model]
        libraries = read_libraries(options.kernels) if options.kernels else ()
        print(export(models, target, libraries, complete=options.complete))
    except BmcError as error:
        console.complain("export", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
