"""The build for x86-64 beside LiteRT and onnxruntime, all in one thread and in one run, as ratios of time.

tools/bazel run //models/peers
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ai_edge_litert.interpreter import Interpreter

from models.peers import networks

# What else the machine does comes and goes, so all take turns, and the fastest inference counts.
_TURNS = 5
_RUNS = 20
_ROW = "{:<20}{:>14}{:>12}{:>16}"


def main(args: list[str]) -> int:
    (program,) = args
    best: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory() as folder:
        peers = _peers(Path(folder))
        for _ in range(_TURNS):
            done = subprocess.run([program], capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                name, nanoseconds = line.split()
                _note(best, name, "ironcast", int(nanoseconds))
            for (name, peer), run in peers.items():
                _note(best, name, peer, _fastest(run))
    print(_ROW.format("", "microseconds", "to LiteRT", "to onnxruntime"))
    for name, took in best.items():
        ours = took["ironcast"]
        ratios = [f"{ours / took[peer]:.2f}" for peer in ("litert", "onnxruntime")]
        print(_ROW.format(name, f"{ours / 1000:,.0f}", *ratios))
    return 0


def _peers(folder: Path) -> dict[tuple[str, str], Callable[[], object]]:
    """Returns what runs each network once in each other runtime."""
    found: dict[tuple[str, str], Callable[[], object]] = {}
    for network, make in networks.NETWORKS.items():
        spec = make()
        for dtype in ("f32", "int8"):
            name = f"{network}_{dtype}"
            interpreter = Interpreter(
                model_content=networks.tflite(spec, dtype == "int8"), num_threads=1
            )
            interpreter.allocate_tensors()
            found[name, "litert"] = interpreter.invoke
            path = networks.onnx_file(spec, dtype == "int8", folder)
            session, inputs = networks.session(path)
            found[name, "onnxruntime"] = lambda s=session, i=inputs: s.run(None, i)
    return found


def _fastest(run: Callable[[], object]) -> int:
    times = []
    for _ in range(_RUNS):
        start = time.perf_counter_ns()
        run()
        times.append(time.perf_counter_ns() - start)
    return min(times)


def _note(best: dict[str, dict[str, int]], name: str, runtime: str, nanoseconds: int) -> None:
    took = best.setdefault(name, {})
    took[runtime] = min(nanoseconds, took.get(runtime, nanoseconds))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
