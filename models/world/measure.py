"""Measures the models of a list on Spike, one after the other, and writes docs/world.md or docs/tflm.md.

examples:
  tools/bazel run //models/world:measure                    what has not been measured yet
  tools/bazel run //models/world:measure -- dtln_1 dtln_2   these, once more
  tools/bazel run //models/world:measure -- --host          nothing on Spike: imports and compiles, which takes less
  tools/bazel run //models/world:measure -- --page          nothing; writes the pages
  tools/bazel run //models/world:measure -- --tflm FOLDER   models of a checkout of TFLM's repository

Each result is kept as soon as there is one, so the program may be ended and started again.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import world_page

from bmc.report import Model
from tools import cli
from tools.report import size
from tools.report.files import load
from tools.run.kit import Kit

_KIT = Path("models/world/spike.json")
# Spike makes some 50 million instructions a second.
_DEADLINE_SECONDS = 3600.0
# Prints the allocations for a file. It may end the process.
_TFLM = """
import sys
from tflite_micro.python.tflite_micro import runtime
runtime.Interpreter.from_file(sys.argv[1]).print_allocations()
"""


@cli.program("measure", __doc__)
def main(parser: cli.Parser, argv: list[str]) -> int:
    parser.add_argument("models", nargs="*", help="names of models")
    parser.add_argument("--host", action="store_true", help="do not run on Spike")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument(
        "--tflm", type=Path, metavar="FOLDER", help="measure the models of TFLM's repository, here"
    )
    options = parser.parse_args(argv)
    chosen = _tflm(options.tflm) if options.tflm else _world()
    for each in (_world(), _tflm(Path())) if options.page else ():
        each.write_page(each.measured())
    if not options.page:
        unknown = sorted(set(options.models) - set(chosen.table))
        if unknown:
            parser.error(f"the list has no {', '.join(unknown)}")
        _measure_all(chosen, options.models, is_run=not options.host)
    return 0


@dataclass(frozen=True)
class Listed:
    """Models of a page.

    Attributes:
      table: name -> row, of which `arguments` are those of `bmc import`.
      kept: where the workspace keeps what was measured.
      page: the page in the workspace.
      begin: how the page begins.
    """

    table: dict[str, Any]
    kept: Path
    page: Path
    begin: str

    def measured(self) -> dict[str, Any]:
        return dict(json.loads((cli.workspace() / self.kept).read_text(encoding="utf-8")))

    def write_page(self, measured: dict[str, Any]) -> None:
        text = world_page.text(self.begin, self.table, measured)
        (cli.workspace() / self.page).write_text(text, encoding="utf-8")


def _table(name: str) -> dict[str, Any]:
    return dict(json.loads(Path("models/world", name).read_text(encoding="utf-8")))


def _world() -> Listed:
    kept, page = Path("models/world/measured.json"), Path("docs/world.md")
    return Listed(_table("table.json"), kept, page, world_page.WORLD)


def _tflm(folder: Path) -> Listed:
    """Returns the models of a checkout; its files must be those of the list."""
    folder = cli.user_path(folder.expanduser())
    table = {
        name: {**row, "arguments": [str(folder / row["path"])]}
        for name, row in _table("tflm.json").items()
    }
    kept, page = Path("models/world/tflm_measured.json"), Path("docs/tflm.md")
    return Listed(table, kept, page, world_page.TFLM)


def _measure_all(listed: Listed, names: list[str], *, is_run: bool) -> None:
    measured = listed.measured()
    todo = names or [
        name
        for name in listed.table
        if name not in measured or (is_run and world_page.is_on_host(measured[name]))
    ]
    with tempfile.TemporaryDirectory() as files:
        kit = Kit.load(_KIT, Path(files))
        for name in todo:
            row = listed.table[name]
            _check(row)
            with tempfile.TemporaryDirectory() as work:
                measured[name] = measure(row["arguments"], kit, Path(work), is_run=is_run)
            print(f"{name}: {measured[name]}", flush=True)
            ordered = {
                each: dict(sorted(measured[each].items()))
                for each in listed.table
                if each in measured
            }
            text = json.dumps(ordered, indent=1, ensure_ascii=False)
            (cli.workspace() / listed.kept).write_text(text + "\n", encoding="utf-8")
    listed.write_page(measured)


def _check(row: dict[str, Any]) -> None:
    """Raises UserError if a file that the list names by its hash is another one."""
    file = Path(row["arguments"][0])
    if "sha256" not in row:
        return
    found = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
    if found != row["sha256"]:
        raise cli.UserError(
            f"{file} is not the file of the list; check out the commit that docs/tflm.md names"
        )


def measure(arguments: list[str], kit: Kit, work: Path, *, is_run: bool = True) -> dict[str, Any]:
    """Returns what one inference of a model takes, or `refused`, with the sentence that says why.

    Args:
      arguments: those of `bmc import`.
      kit: what links and boots.
      work: an empty folder.
      is_run: whether to run it on Spike.
    """
    imported, compiled = work / "imported", work / "compiled"
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    to_compile = ["--import", str(imported), "--isa", kit.data["isa"]]
    to_compile += ["--name", kit.data["c_name"], "--out", str(compiled)]
    refused = _bmc("import", *arguments, "--out", str(imported)) or _bmc("compile", *to_compile)
    if refused:
        return {"date": date, "refused": refused}
    report = load(compiled / "report.json", Model)
    found = {
        "arena_bytes": report.arena.bytes,
        "date": date,
        "macs": sum(report.macs.values()),
        "state_bytes": report.state_bytes,
        "tflm_bytes": _tflm_bytes(arguments[0]),
        "weights_bytes": report.flash.weights_bytes,
    }
    if not is_run:
        return found
    (environment,) = kit.data["runs"]
    try:
        outcome = kit.run(kit.link(compiled), environment, deadline=_DEADLINE_SECONDS)
        run = size.run_summary(outcome)
    except (RuntimeError, cli.UserError) as error:
        return {"date": date, "fails": " ".join(str(error).split())}
    measured = {"instructions": run.instructions, "max_abs": run.models[0].max_abs}
    return found | measured


def _tflm_bytes(source: str) -> int | None:
    """Returns the arena that TensorFlow Lite for Microcontrollers takes, None if it does not take the model."""
    done = _python("-c", _TFLM, source) if source.endswith(".tflite") else None
    said = re.search(r"Arena allocation total (\d+)", done.stdout + done.stderr) if done else None
    return int(said[1]) if said else None


def _bmc(*arguments: str) -> str:
    """Runs bmc; returns the sentence with which it refuses, "" if it does not."""
    done = _python("-m", "bmc", *arguments)
    if done.returncode == 0:
        return ""
    said = re.search(r"bmc: error\[[\w-]+\]: (.*)", done.stderr, re.DOTALL)
    text = said[1].replace("\n  hint:", ";") if said else done.stderr[-400:]
    return " ".join(text.split())


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)
    env = {**os.environ, "PYTHONPATH": path}
    # Paths of the list are relative to this process's folder, not to the user's.
    env.pop("BUILD_WORKING_DIRECTORY", None)
    return subprocess.run(
        [sys.executable, *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
