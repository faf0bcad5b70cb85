"""Runs Verilator, keeps of what it writes the C++, and of what it says the errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import cli

# Of open designs, which are checked elsewhere. ENUMVALUE: LiteX sets parameters of enumerations as numbers.
QUIET = [
    "-Wno-fatal",
    "-Wno-lint",
    "-Wno-style",
    "-Wno-BLKANDNBLK",
    "-Wno-COMBDLY",
    "-Wno-ENUMVALUE",
]
# One flat model is what a harness can look into. `fast`: what is undefined has any value, always the same.
HOW = ["--cc", "--flatten", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert"]
# The design is what synthesis tools see of it: no messages.
HOW += ["-DSYNTHESIS"]
# Files that two processors compile at once.
SPLIT = ["--output-split", "20000"]


def errors(said: str) -> str:
    """Returns what Verilator said but for its warnings, each of which goes on until the next begins."""
    kept = []
    is_error = True
    for line in said.splitlines():
        if line.startswith("%"):
            is_error = line.startswith("%Error")
        if is_error:
            kept.append(line)
    return "\n".join(kept)


@cli.program("verilate", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--verilator", type=Path, required=True, help="verilator_bin")
    parser.add_argument("--root", type=Path, required=True, help="Verilator's own files")
    parser.add_argument(
        "--design",
        type=Path,
        required=True,
        help="a file, or a folder with files.f, a list of its files",
    )
    parser.add_argument("--top", required=True, help="the outermost module")
    parser.add_argument("--prefix", required=True, help="name of the C++ class")
    parser.add_argument(
        "--sources", type=Path, required=True, help="folder for .cpp that runs in each cycle"
    )
    parser.add_argument(
        "--once", type=Path, required=True, help="folder for .cpp that runs at the start"
    )
    parser.add_argument("--headers", type=Path, required=True, help="folder for .h")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as made:
        argv = [str(options.verilator.absolute()), *HOW, *QUIET, *SPLIT]
        argv += ["--top-module", options.top, "--prefix", options.prefix, "--Mdir", made]
        design = options.design
        argv += ["-f", "files.f"] if design.is_dir() else [str(design.absolute())]
        done = subprocess.run(
            argv,
            cwd=design if design.is_dir() else None,
            env={**os.environ, "VERILATOR_ROOT": str(options.root.absolute())},
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            print(errors(done.stdout + done.stderr), file=sys.stderr)
            return 1
        for folder in (options.sources, options.once, options.headers):
            folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(Path(made).iterdir()):
            if file.suffix == ".h":
                shutil.copyfile(file, options.headers / file.name)
            elif file.suffix == ".cpp":
                folder = options.once if file.stem.endswith(("Slow", "Syms")) else options.sources
                shutil.copyfile(file, folder / file.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
