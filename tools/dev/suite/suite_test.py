"""What a profile and a query are read as."""

from __future__ import annotations

import gzip
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tools.cli import UserError
from tools.dev.suite import timing, variety
from tools.dev.suite.timing import Cost


def event(mnemonic: str, target: str, seconds: float) -> dict[str, Any]:
    return {
        "cat": "action processing",
        "dur": seconds * 1e6,
        "args": {"mnemonic": mnemonic, "target": target},
    }


PROFILE = [
    {"cat": "general information", "name": "something else"},
    event("TestRunner", "//a:x_test", 3.0),
    event("TestRunner", "//a:y_test", 1.0),
    event("BmRun", "//b/c:run", 0.5),
]


class Time(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "profile.gz"

    def read(self, events: Any) -> timing.Summary:
        self.file.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
        return timing.summarize(timing.read(self.file))

    def test_actions_are_summed_up(self) -> None:
        summary = self.read(PROFILE)
        self.assertEqual(summary["kind"], {"TestRunner": Cost(2, 4.0), "BmRun": Cost(1, 0.5)})
        self.assertEqual(summary["package"], {"//a": Cost(2, 4.0), "//b/c": Cost(1, 0.5)})
        self.assertEqual(summary["test"], {"//a:x_test": Cost(1, 3.0), "//a:y_test": Cost(1, 1.0)})

    def test_a_summary_can_be_kept_as_text(self) -> None:
        summary = self.read(PROFILE)
        text = timing.lines(summary, least=1.0)
        self.assertEqual(text[0], "kind TestRunner 2 4.0")
        self.assertNotIn("BmRun", "".join(text))
        kept = timing.parse("# Of a run.\n" + "\n".join(text))
        self.assertEqual(kept["test"], summary["test"])

    def test_changes_include_what_came_and_went(self) -> None:
        before = {"a": Cost(1, 5.0), "b": Cost(1, 1.0)}
        after = {"a": Cost(1, 5.5), "c": Cost(2, 3.0)}
        self.assertEqual(timing.changes(before, after), [("c", 3.0), ("b", -1.0), ("a", 0.5)])

    def test_what_is_no_profile_is_refused(self) -> None:
        with self.assertRaisesRegex(UserError, "cannot be read: No such file"):
            timing.read(self.file)
        for data in (b"", b"\x1f\x8b broken", b"[1]", b"{}"):
            self.file.write_bytes(data)
            with self.assertRaises(UserError):
                timing.read(self.file)
        with self.assertRaisesRegex(UserError, "make it with --config=profile"):
            self.read([{"cat": "action processing", "dur": 1, "args": {"mnemonic": "BmRun"}}])
        with self.assertRaisesRegex(UserError, "no actions"):
            self.read(PROFILE[:1])

    def test_what_is_no_summary_is_refused(self) -> None:
        for line in ("kind A 1", "kind A one 2.0", "size A 1 2.0"):
            with self.assertRaisesRegex(UserError, "line 1 is not"):
                timing.parse(line)


def rule(kind: str, name: str, **attributes: Any) -> str:
    keys = {str: "stringValue", list: "stringListValue", int: "intValue"}
    listed = [
        {"name": attribute, keys[type(value)]: value} for attribute, value in attributes.items()
    ]
    return json.dumps({"rule": {"name": name, "ruleClass": kind, "attribute": listed}})


def model(name: str) -> str:
    # The class of what the macro bm_model makes.
    return rule("_" + "bm_model", name, imported=f"{name}.imported")


QUERY = [
    rule("py_binary", "//m:a.importer", deps=["//compiler:bmc_lib", "@@pypi_torch//:pkg"]),
    rule("bm_import", "//m:a.imported", src=["//m:model.py"], importer="//m:a.importer", quantize="int8"),
    model("//m:a"),
    rule("bm_mutated_model", "//m:a.mutated", model="//m:a"),
    rule("py_binary", "//m:b.importer", deps=[]),
    rule("bm_import", "//m:b.imported", src=["//m:b.tflite"], importer="//m:b.importer", quantize=""),
    model("//m:b"),
    rule("bm_firmware", "//m:image", models=["//m:a", "//m:b"], isa="rv64gcv_zvl128b", harts=4,
         board="//boards/qemu_virt_rv64"),
    rule("bm_firmware", "//m:wrong", models=["//m:a.mutated"], isa="x86_64", harts=1, board="//boards/host_x86_64"),
    rule("bm_image", "//m:plain", isa="rv32imac", harts=1, board="//boards/spike_rv32"),
    rule("bm_run", "//m:1", firmware="//m:image", exec_env="//boards/qemu_virt_rv64:vlen256"),
    rule("bm_run", "//m:2", firmware="//m:wrong", exec_env="//boards/host_x86_64:native"),
    rule("bm_run", "//m:3", firmware="//m:plain", exec_env="//boards/spike_rv32:scalar"),
    rule("bm_run", "//m:4", firmware="//m:plain", exec_env="//boards/spike_rv32:qemu_scalar"),
    rule("bm_run_test", "//m:manual_test", runs=["//m:5"]),
    rule("bm_run_test", "//m:agreement_test", runs=["//m:1", "//m:2"]),
    rule("bm_run_test", "//m:plain_test", runs=["//m:3", "//m:4"]),
]  # fmt: skip
TESTS = ["//m:agreement_test", "//m:plain_test"]


class Variety(unittest.TestCase):
    def test_each_model_of_each_run_counts(self) -> None:
        found = variety.runs(TESTS, variety.read("\n".join(QUERY)))
        self.assertEqual(
            found,
            {
                variety.Run(
                    "torch", "int8", "rv64gcv_zvl128b", "256", "qemu", "4", "qemu_virt_rv64"
                ),
                variety.Run(
                    "tflite", "f32", "rv64gcv_zvl128b", "256", "qemu", "4", "qemu_virt_rv64"
                ),
                variety.Run("torch", "int8", "x86_64", "0", "native", "1", "host_x86_64"),
                variety.Run("none", "none", "rv32imac", "0", "spike", "1", "spike_rv32"),
                variety.Run("none", "none", "rv32imac", "0", "qemu", "1", "spike_rv32"),
            },
        )

    def test_pairs_are_of_one_run(self) -> None:
        found = variety.pairs(variety.runs(TESTS, variety.read("\n".join(QUERY))))
        self.assertIn("frontend=tflite harts=4", found)
        self.assertIn("type=int8 board=host_x86_64", found)
        self.assertNotIn("frontend=tflite board=host_x86_64", found)
        self.assertEqual(found, sorted(set(found)))


if __name__ == "__main__":
    unittest.main()
