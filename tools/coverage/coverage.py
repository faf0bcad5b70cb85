"""Compiles one model per op, runs each on Spike and records which of them work.

example:
  tools/bazel run //tools/coverage -- --frontend onnx
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import page
from kit import Kit
from op_case import OpCase
from page import Outcome, Status

from bmc import target, verify
from bmc.compile import CompileOptions, compile_model
from bmc.errors import BmcError
from tools import cli

_KIT = Path("tools/coverage/spike.json")
_PAGE = Path("docs/coverage.md")
# The most cases per op, for frontends with dozens.
_MOST_CASES = {"onnx": 1}
_PACKAGES = {
    "jax": ("jax", "jaxlib"),
    "keras": ("keras", "tensorflow"),
    "onnx": ("onnx", "onnxruntime"),
    "tflite": ("tensorflow", "ai-edge-litert", "tosa-converter-for-tflite"),
    "torch": ("torch", "torch-mlir"),
}


@cli.program("coverage", __doc__)
def main(parser: cli.Parser, argv: list[str]) -> int:
    parser.add_argument("--frontend", choices=sorted(page.TITLES), required=True)
    parser.add_argument(
        "--op", action="append", default=[], help="only these ops; does not write the page"
    )
    options = parser.parse_args(argv)
    found = importlib.import_module(f"{options.frontend}_ops").cases()
    chosen = [case for case in found if not options.op or case.op in options.op]
    outcomes = []
    for case, outcome in run(_some(chosen, _MOST_CASES.get(options.frontend)), _KIT):
        print(f"{case.op} {case.name}: {outcome.status.value} {outcome.sentence}", flush=True)
        outcomes.append(outcome)
    if not options.op:
        path = cli.workspace() / _PAGE
        versions = ", ".join(
            f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES[options.frontend]
        )
        old = path.read_text(encoding="utf-8") if path.is_file() else ""
        text = page.section(options.frontend, outcomes, versions)
        path.write_text(page.replace_section(old, options.frontend, text), encoding="utf-8")
    return 0


def _some(cases: Iterable[OpCase], count: int | None) -> Iterator[OpCase]:
    """Yields the first `count` cases of every op, or all."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.op] += 1
        if count is None or seen[case.op] <= count:
            yield case


def run(cases: Iterable[OpCase], kit_path: Path) -> Iterator[tuple[OpCase, Outcome]]:
    """Yields every case with its outcome."""
    with tempfile.TemporaryDirectory() as root:
        kit = Kit.load(kit_path, Path(root))
        for case in cases:
            with tempfile.TemporaryDirectory() as work:
                yield case, _outcome(case, kit, Path(work))


def _outcome(case: OpCase, kit: Kit, work: Path) -> Outcome:
    imported, compiled = work / "imported", work / "compiled"
    imported.mkdir()
    try:
        model = case.load(imported)
        options = CompileOptions(kit.data["c_name"], target.find(kit.data["isa"]), compiled)
        compile_model(model, options)
    except BmcError as error:
        return Outcome(case.op, Status.REFUSED, " ".join(error.message.split()))
    except Exception as error:  # A traceback instead of a sentence.
        name = type(error).__name__
        return Outcome(
            case.op, Status.WRONG, f"bmc fails with {name}: {' '.join(str(error).split())[:200]}"
        )
    sentence = kit.boot(compiled)
    if sentence:
        # `bmc import` refuses a model that IREE gets wrong on this machine.
        try:
            verify.require(model, verify.run(model, compiled / "reproducer"))
        except BmcError as error:
            return Outcome(case.op, Status.REFUSED, error.message)
    return Outcome(case.op, Status.WRONG if sentence else Status.WORKS, sentence)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
