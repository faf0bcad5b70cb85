"""Searches for faster kernels on Spike, and writes what it finds into tuning.json.

example:
  tools/bazel run //models:mlp_rv64.tune -- --jobs 2
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import bmc
from bmc import artifacts
from bmc.errors import BmcError
from bmc.iree.version import installed_version
from tools import cli, console
from tools.report.tune import page, search, store, trial
from tools.report.tune.trial import Bench


@cli.program("tune", __doc__)
def main(parser: cli.Parser, args: list[str]) -> int:
    parser.add_argument("--session", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (2)")
    parser.add_argument(
        "--out", type=Path, help="file to write, for one model (default: beside the model)"
    )
    options = parser.parse_args(args)
    with trial.benches(options.session) as benches:
        for model, bench in benches:
            try:
                _tune(model, bench, options)
            except KeyboardInterrupt:
                print(
                    "tune: stopped; what is known is kept, and the same command goes on",
                    file=sys.stderr,
                )
                return 130
            except (BmcError, cli.UserError) as error:
                raise cli.UserError(f"{model['name']}: {error}") from None
    return 0


def _tune(model: dict[str, Any], bench: Bench, options: argparse.Namespace) -> None:
    out = console.standard_output()
    content = (_compiler(), json.dumps(bench.kit.data), _content(bench.imported))

    def kept(layout: str) -> store.Store:
        return store.Store(store.folder() / store.name(*content, layout))

    def say(line: str) -> None:
        out.print(f"{model['name']}: {line}")

    found = search.search(bench, kept, options.jobs, say)
    for line in page.lines(found):
        say(line)
    path = options.out or Path(model["tuning"] or f"{model['package']}/{model['name']}.tuning.json")
    _write(path if options.out else cli.workspace() / path, bench.isa, found.entries, say)
    if found.entries and not model["tuning"]:
        say(f'add tuning = "{path.name}" to its bm_model')


def _write(path: Path, isa: str, entries: dict[str, Any], say: Any) -> None:
    """Replaces what a tuning.json has for an instruction set."""
    path = cli.user_path(path)
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    after = {**before, isa: entries}
    if not entries:
        del after[isa]
    if after == before:
        say("nothing to write")
        return
    path.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")
    say(f"wrote {len(entries)} entries to {path}")


def _compiler() -> str:
    """Returns what stands for the compiler: a hash of its sources and IREE's version."""
    (folder,) = bmc.__path__
    sources = sorted(Path(folder).rglob("*.py"))
    text = b"".join(source.read_bytes() for source in sources)
    return f"{hashlib.sha256(text).hexdigest()} {installed_version()}"


def _content(imported: Path) -> str:
    """Returns what stands for a model."""
    return artifacts.sha256_file(artifacts.load(imported).mlir)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
