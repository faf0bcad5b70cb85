"""Which pairs of properties the runs of a set of tests cover, read from Bazel's description of the targets.

A run has a frontend, an element type, an ISA, a VLEN, an emulator, a number of harts and a board. A fault often
needs two of them to come together. Fewer runs are as good as more if no pair is lost.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

# A test of runs, and what says what they are.
TEST = "bm_run_test"
KINDS = f"{TEST}|bm_run|bm_firmware|bm_image|bm_import|_bm_model|bm_mutated_model|py_binary"
# Package that the importer of a model.py needs -> its frontend; the first one that it has.
_FRAMEWORKS = {
    "pypi_jax": "jax",
    "pypi_onnx": "onnx",
    "pypi_tensorflow": "keras",
    "pypi_torch": "torch",
}
_NO_MODEL = "none"


@dataclass(frozen=True, order=True)
class Run:
    """What one model meets in one run of an image; of an image without models, `frontend` and `type` say so."""

    frontend: str
    type: str
    isa: str
    vlen: str
    emulator: str
    harts: str
    board: str


@dataclass(frozen=True)
class Rule:
    """A target, as a query describes it: attribute -> value, as JSON has it."""

    kind: str
    attributes: Mapping[str, Any]

    def text(self, name: str) -> str:
        return str(self.attributes.get(name, ""))

    def labels(self, name: str) -> list[str]:
        value = self.attributes.get(name, [])
        return [value] if isinstance(value, str) else list(value)


def read(text: str) -> dict[str, Rule]:
    """Returns the rules of `query --output=streamed_jsonproto` by label."""
    found = {}
    for line in text.splitlines():
        rule = json.loads(line)["rule"]
        values = {}
        for attribute in rule["attribute"]:
            for key in ("stringValue", "stringListValue", "intValue", "booleanValue"):
                if key in attribute:
                    values[attribute["name"]] = attribute[key]
        found[rule["name"]] = Rule(rule["ruleClass"], values)
    return found


def runs(tests: Iterable[str], rules: Mapping[str, Rule]) -> set[Run]:
    """Returns what the models meet in the runs that tests judge."""
    judged = {run for test in tests for run in rules[test].labels("runs")}
    found = set()
    for rule in (rules[label] for label in judged):
        image = rules[rule.text("firmware")]
        emulator, vlen = _environment(rule.text("exec_env"))
        models = image.labels("models") or [_NO_MODEL]
        for model in models:
            frontend, dtype = _model(model, rules)
            found.add(
                Run(
                    frontend,
                    dtype,
                    image.text("isa"),
                    vlen,
                    emulator,
                    image.text("harts") or "1",
                    image.text("board").rpartition("/")[2].partition(":")[0],
                )
            )
    return found


def _environment(label: str) -> tuple[str, str]:
    """Returns the emulator and VLEN that an environment's label tells."""
    name = label.rpartition(":")[2] or label.rpartition("/")[2]
    vlen = re.search(r"vlen(\d+)", name)
    board = label.partition(":")[0].rpartition("/")[2]
    for emulator in ("rtl", "spike", "native"):
        if emulator in (board if emulator == "spike" else name) and not name.startswith("qemu"):
            return emulator, vlen[1] if vlen else "0"
    return "qemu", vlen[1] if vlen else "0"


def _model(label: str, rules: Mapping[str, Rule]) -> tuple[str, str]:
    """Returns the frontend and the element type of a model."""
    rule = rules.get(label)
    if rule is None:
        return _NO_MODEL, _NO_MODEL
    if rule.kind == "bm_mutated_model":
        rule = rules[rule.text("model")]
    imported = rules[rule.text("imported")]
    suffix = imported.labels("src")[0].rpartition(".")[2]
    needs = {
        label.lstrip("@").partition("//")[0]
        for label in rules[imported.text("importer")].labels("deps")
    }
    frontend = next((name for package, name in _FRAMEWORKS.items() if package in needs), "mlir")
    kind = frontend if suffix == "py" else suffix
    return kind, imported.text("quantize") or "f32"


def pairs(found: Iterable[Run]) -> list[str]:
    """Returns all pairs of properties that come together in a run, a line each, in order."""
    names = [field.name for field in fields(Run)]
    seen = set()
    for run in found:
        values = zip(names, astuple(run), strict=True)
        for (first, a), (second, b) in itertools.combinations(values, 2):
            seen.add(f"{first}={a} {second}={b}")
    return sorted(seen)
