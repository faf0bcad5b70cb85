"""docs/coverage.md: what the frameworks' own tests say, a row for each op and its dtypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from case import Outcome
from lists import Row

TITLES = {
    "onnx": "ONNX",
    "torch": "PyTorch",
    "tflite": "TensorFlow Lite",
    "jax": "JAX",
    "keras": "Keras",
}
# The packages whose versions a suite was tried with.
PACKAGES = {
    "jax": ("jax", "jaxlib"),
    "keras": ("keras", "tensorflow"),
    "onnx": ("onnx", "onnxruntime"),
    "tflite": ("tensorflow", "ai-edge-litert", "tosa-converter-for-tflite"),
    "torch": ("torch", "torch-mlir"),
}
_SOURCES = {
    "jax": "The harnesses with which JAX tests its own conversions (`jax._src.internal_test_util.test_harnesses`), as"
    " far as JAX itself runs them on CPUs. JAX gives the outputs.",
    "keras": "The calls of `run_layer_test` in the tests inside of Keras's wheel. TensorFlow gives the outputs.",
    "onnx": "The backend tests in the `onnx` wheel: all node tests, and the simple, light and PyTorch models,"
    " each at its own opset. The expected outputs are the standard's; those of the light models"
    " and of `recurrent/` (recurrent layers with one attribute or optional input each) are onnxruntime's.",
    "tflite": "Builtin operators with their options in f32, int8, int16 and uint8, converted from TensorFlow. LiteRT's"
    " reference kernels give the outputs, and its optimized ones for SUM and LOCAL_RESPONSE_NORMALIZATION.",
    "torch": "OpInfo (`op_db`) and ModuleInfo (`module_db`) of `torch.testing`: of each operator up to two samples in"
    " up to three dtypes, drawn by seed. PyTorch gives the outputs.",
}
_HEAD = """# Which ops work

This page is generated from the lists in `tools/campaigns/suites/lists`. The cases are not ours: they come from the
frameworks' own test suites. Each case is imported, checked on this machine as `bmc import` does, compiled for
`rv64gcv_zfh_zvfh_zvl128b` and for `rv64gc`, and run in Spike (VLEN 128, and without vectors) and in QEMU (VLEN 256).

*Right* is a right answer everywhere. *Refused* is a sentence at import or compile time. *Caught* is a wrong answer of
IREE's that the import refuses. *Undecided* is a case whose answer moves further than its tolerance if the inputs move
by a few roundings. *Wrong* is a wrong answer on a target, *crash* anything that is not a sentence. Cases with strings,
sequences, optional values, dynamic shapes or random answers do not count, nor do those of TensorFlow Lite that its
converter cannot make or LiteRT itself cannot run, nor a model that is larger than the emulated boards.

Search this page for an op. The last column is the first sentence of a case that is not right. It begins with the kind
of the error:

| Kind | What to do |
| --- | --- |
| op-rejected | write that part of the model with other ops |
| model-failed, bad-file | the framework itself does not run the case: use an op that the pinned version knows |
| unsupported-dtype | convert inputs and outputs to a type that the message names |
| dynamic-shape | give shapes that do not depend on what is in a tensor |
| bad-signature | use tensors as inputs and outputs |
| no-f16 | build for an ISA with Zfh and Zvfh |
| import-disagrees | as for op-rejected: IREE computes the op wrong |
"""


def page(lists: Mapping[str, Sequence[Row]], versions: Mapping[str, str]) -> str:
    """Returns the page.

    Args:
      lists: rows by suite.
      versions: of the packages of each suite, as text.
    """
    parts = [_HEAD, _summary(lists)]
    if absent := [TITLES[suite] for suite in TITLES if suite not in lists]:
        parts.append(f"Not run as a whole yet: the suites of {', '.join(absent)}.\n")
    parts += [_section(suite, lists[suite], versions[suite]) for suite in TITLES if suite in lists]
    return "\n".join(parts)


def _summary(lists: Mapping[str, Sequence[Row]]) -> str:
    names = [outcome.value for outcome in Outcome]
    lines = [
        f"| Suite | Cases | Do not count | {' | '.join(map(str.capitalize, names))} | Right of the others |",
        f"| --- | {' | '.join(['---:'] * (len(names) + 3))} |",
    ]
    for suite in TITLES:
        if suite in lists:
            counting = [row for row in lists[suite] if not row.outside]
            counts = Counter(row.verdict.outcome.value for row in counting)
            numbers = [f"{counts[name]:,}" for name in names]
            share = f"{100 * counts['right'] / max(1, len(counting)):.1f} %"
            outside = len(lists[suite]) - len(counting)
            cells = [TITLES[suite], f"{len(lists[suite]):,}", f"{outside:,}", *numbers, share]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _section(suite: str, rows: Sequence[Row], versions: str) -> str:
    lines = [
        f"## {TITLES[suite]}",
        "",
        f"{_SOURCES[suite]} {versions}.",
        "",
        "| Op | Dtypes | Right | Otherwise |",
        "| --- | --- | ---: | --- |",
    ]
    ops: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if not row.outside:
            ops.setdefault(row.op, {}).setdefault(row.dtype, []).append(row)
    for op in sorted(ops, key=str.lower):
        lines += _rows(op, ops[op])
    return "\n".join([*lines, ""])


def _rows(op: str, dtypes: Mapping[str, Sequence[Row]]) -> Iterable[str]:
    """Returns the rows of an op; dtypes of which the same is to say share one."""
    alike: dict[tuple[bool, str], list[str]] = {}
    for dtype, rows in sorted(dtypes.items()):
        alike.setdefault((_right(rows) == len(rows), _otherwise(rows)), []).append(dtype)
    for (_, text), names in alike.items():
        found = [row for name in names for row in dtypes[name]]
        cells = [op, ", ".join(names), f"{_right(found)} of {len(found)}", text]
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells).rstrip()} |"


def _right(rows: Iterable[Row]) -> int:
    return sum(row.verdict.outcome is Outcome.RIGHT for row in rows)


def _otherwise(rows: Sequence[Row]) -> str:
    """Returns the first sentence of a case that is not right; a wrong answer is worse than none."""
    worst = sorted(
        (row for row in rows if row.verdict.outcome is not Outcome.RIGHT),
        key=lambda row: -list(Outcome).index(row.verdict.outcome),
    )
    if not worst:
        return ""
    first = worst[0].verdict
    sentence = first.sentence.replace("<", "&lt;")
    return f"{first.outcome.value}: {sentence}" if sentence else first.outcome.value
