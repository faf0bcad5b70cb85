"""Measures the models of the list on Spike, one after the other, and writes docs/world.md.

examples:
  tools/bazel run //models/world:measure                    what has not been measured yet
  tools/bazel run //models/world:measure -- dtln_1 dtln_2   these, once more
  tools/bazel run //models/world:measure -- --host          nothing on Spike: imports and compiles, which takes less
  tools/bazel run //models/world:measure -- --page          nothing; writes the page

Each result is kept as soon as there is one, so the program may be ended and started again.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import world_page
from kit import Kit

from tools.emulate import result
from tools.size import image_report, size

_KIT = Path("tools/coverage/spike.json")
_TABLE = Path("models/world/table.json")
_MEASURED = Path("models/world/measured.json")
_PAGE = Path("docs/world.md")
# Spike makes some 50 million instructions a second.
_DEADLINE_SECONDS = 3600.0
# Prints the allocations for a file. It may end the process.
_TFLM = """
import sys
from tflite_micro.python.tflite_micro import runtime
runtime.Interpreter.from_file(sys.argv[1]).print_allocations()
"""


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="measure", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", help="names of models")
    parser.add_argument("--host", action="store_true", help="do not run on Spike")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args(argv)
    table = json.loads(_TABLE.read_text(encoding="utf-8"))
    root = Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
    unknown = sorted(set(options.models) - set(table))
    if unknown:
        parser.error(f"the list has no {', '.join(unknown)}")
    measured = json.loads((root / _MEASURED).read_text(encoding="utf-8"))
    todo = options.models or [
        name
        for name in table
        if name not in measured or (not options.host and world_page.is_on_host(measured[name]))
    ]
    with tempfile.TemporaryDirectory() as files:
        kit = Kit.load(_KIT, Path(files))
        for name in [] if options.page else todo:
            with tempfile.TemporaryDirectory() as work:
                measured[name] = measure(
                    table[name]["arguments"], kit, Path(work), is_run=not options.host
                )
            print(f"{name}: {measured[name]}", flush=True)
            ordered = {
                each: dict(sorted(measured[each].items())) for each in table if each in measured
            }
            text = json.dumps(ordered, indent=1, ensure_ascii=False)
            (root / _MEASURED).write_text(text + "\n", encoding="utf-8")
    (root / _PAGE).write_text(world_page.text(table, measured), encoding="utf-8")
    return 0


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
    report = json.loads((compiled / "report.json").read_text(encoding="utf-8"))
    found = {
        "arena_bytes": report["arena"]["bytes"],
        "date": date,
        "macs": sum(report["macs"].values()),
        "state_bytes": report["state_bytes"],
        "tflm_bytes": _tflm_bytes(arguments[0]),
        "weights_bytes": report["flash"]["weights_bytes"],
    }
    if not is_run:
        return found
    (environment,) = kit.data["runs"]
    try:
        outcome = kit.run(kit.link(compiled), environment, deadline=_DEADLINE_SECONDS)
        run = size.run_summary(outcome)
    except (RuntimeError, image_report.SizeError, result.RecordError) as error:
        return {"date": date, "fails": " ".join(str(error).split())}
    measured = {"instructions": run["instructions"], "max_abs": run["models"][0]["max_abs"]}
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
