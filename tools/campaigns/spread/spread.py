"""Measures how far a framework's own kernels are apart, op by op, for the default tolerances of its model files.

example:
  tools/bazel run //tools/campaigns/spread -- --frontend onnx

writes the framework's part of compiler/bmc/spread.json. An import reads its tolerance from there and measures nothing,
because kernels depend on the CPU and imports must not.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
from collections.abc import Iterator

import numpy as np
from subject import Subject

from bmc import spread
from tools import cli

_PACKAGES = {
    "keras": "tensorflow",
    "onnx": "onnxruntime",
    "tflite": "ai-edge-litert",
    "torch": "torch",
}
# Scale and mean of the inputs. Some ops have small results only far from zero.
_INPUTS = ((1.0, 0.0), (10.0, 0.0), (0.01, 0.0), (1.0, -12.0), (1.0, 12.0))
# Results below this are small: there, the distance itself counts, not its share of the largest result.
_SMALL = 0.5


def measure(subject: Subject) -> tuple[float, float]:
    """Returns the largest distance of two implementations: as a share of the largest result, and if that is small."""
    relative = absolute = 0.0
    rng = np.random.default_rng(0)
    for scale, mean in _INPUTS:
        given = (rng.standard_normal(subject.shape) * scale + mean).astype(np.float32)
        results = [np.asarray(run(given), np.float64) for run in subject.implementations]
        if not all(np.isfinite(result).all() for result in results):
            continue
        distance = max(float(np.ptp(values, 0).max()) for values in [np.stack(results)])
        largest = max(float(np.abs(result).max()) for result in results)
        if largest < _SMALL:
            absolute = max(absolute, distance)
        else:
            relative = max(relative, distance / largest)
    return relative, absolute


@cli.program("spread", __doc__)
def main(parser: cli.Parser, argv: list[str]) -> int:
    parser.add_argument("--frontend", choices=sorted(_PACKAGES), required=True)
    frontend = parser.parse_args(argv).frontend
    subjects: Iterator[Subject] = importlib.import_module(f"spread_{frontend}").subjects()
    ops: dict[str, list[float]] = {}
    for subject in subjects:
        found = [_rounded_up(number) for number in measure(subject)]
        print(f"{subject.op}: {found[0]:.1g} of the largest result, {found[1]:.1g}", flush=True)
        before = ops.get(subject.op, [0.0, 0.0])
        ops[subject.op] = [max(pair) for pair in zip(before, found, strict=True)]
    path = cli.workspace() / "compiler/bmc" / spread.TABLE.name
    table = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    package = _PACKAGES[frontend]
    table[frontend] = {
        "measured with": f"{package} {importlib.metadata.version(package)}",
        "ops": {op: ops[op] for op in sorted(ops) if any(ops[op])},
    }
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


def _rounded_up(number: float) -> float:
    """Returns a number of one digit, so that the table changes only with what it says."""
    digits = float(f"{number:.0e}")
    return digits if digits >= number else float(f"{number * 1.5:.0e}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
