"""Writes models and their runtime into a folder that builds without Bazel.

tools/bazel run //models:mlp_rv64.export -- DIR
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tools.export import contents, folder
from tools.export.folder import ExportError


def main(args: list[str]) -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(prog="export", description=__doc__)
    parser.add_argument("folder", type=Path, help="a new or empty folder, or an earlier export")
    parser.add_argument("--kit", type=Path, required=True, help="what bm_export wrote")
    options = parser.parse_args(args)
    # `bazel run` starts programs elsewhere than where the user stands.
    target = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "")) / options.folder
    files = contents.contents(contents.read_kit(options.kit))
    try:
        folder.write(target, files)
    except ExportError as error:
        print(f"export: {error}", file=sys.stderr)
        return 1
    print(*sorted(files), sep="\n")
    print(f"{len(files)} files in {target}; its README.md says how to use them")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
