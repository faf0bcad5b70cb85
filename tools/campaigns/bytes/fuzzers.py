"""Runs a libFuzzer target for a number of inputs, and reads what it says of itself."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Inputs take microseconds. libFuzzer reports one that takes longer than this.
_SECONDS_PER_INPUT = 20

_COVERAGE = re.compile(r"\bcov: (\d+) ft: (\d+)\b")
_DONE = re.compile(r"^Done (\d+) runs", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """How many inputs ran, libFuzzer's `cov` (edges) and `ft` (features), and its log if it found something."""

    inputs: int
    edges: int
    features: int
    find: str


def run(program: Path, seed: int, count: int) -> Fuzzed:
    """Starts from nothing: what a target edits is a good file that it brings along."""
    with tempfile.TemporaryDirectory() as folder:
        argv = [
            str(program.absolute()),
            f"-seed={seed}",
            f"-runs={count}",
            f"-timeout={_SECONDS_PER_INPUT}",
            f"-artifact_prefix={folder}/",
            # Firmware's own output.
            "-close_fd_mask=1",
        ]
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", check=False, cwd=folder
        )
    return summary(done.returncode, done.stderr)


def summary(status: int, log: str) -> Fuzzed:
    """Reads libFuzzer's log. It contains a bad input in base64."""
    coverage = _COVERAGE.findall(log)
    finished = _DONE.findall(log)
    edges, features = map(int, coverage[-1]) if coverage else (0, 0)
    inputs = int(finished[-1]) if finished else 0
    return Fuzzed(inputs, edges, features, "" if status == 0 and finished else log)
