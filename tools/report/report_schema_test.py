"""Real reports are what report_schema.json says, which describes every field, and records hold all that they say."""

from __future__ import annotations

import copy
import json
import os
import re
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema

from bmc import records
from tools.report.report import Image

SCHEMA = json.loads(Path(os.environ["SCHEMA"]).read_text())
# The last ones are of an image with a kernel library for a device, and of one for several harts.
PATHS = [
    *os.environ["REPORTS"].split(),
    os.environ["DEVICE_REPORT"],
    os.environ["HARTS_REPORT"],
]
REPORTS = [json.loads(Path(path).read_text()) for path in PATHS]


def problems(report: dict[str, Any]) -> list[str]:
    checker = jsonschema.Draft202012Validator(SCHEMA)
    return [f"{error.json_path}: {error.message}" for error in checker.iter_errors(report)]


def fields(schema: Any, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every field of a schema with what the schema says of it."""
    if isinstance(schema, dict):
        for field, inner in schema.get("properties", {}).items():
            yield f"{name}.{field}", inner
            yield from fields(inner, f"{name}.{field}")
        for key in ("items", "additionalProperties"):
            yield from fields(schema.get(key), f"{name}.{key}")
        for place, inner in enumerate(schema.get("anyOf", [])):
            yield from fields(inner, f"{name}.{place}")


class SchemaTest(unittest.TestCase):
    def test_it_is_a_schema_that_describes_every_field(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        found = list(fields(SCHEMA, "report"))
        self.assertGreater(len(found), 100)
        for name, field in found:
            with self.subTest(name):
                self.assertTrue(field["description"].endswith("."))

    def test_real_reports_are_valid(self) -> None:
        names = [report["models"][0]["name"] for report in REPORTS]
        self.assertEqual(names, ["fixture", "resnet8_int8", "ad_offloaded", "resnet8_int8"])
        for report in REPORTS:
            self.assertEqual(problems(report), [])

    def test_records_hold_all_of_a_report(self) -> None:
        for report in REPORTS:
            self.assertEqual(records.encode(records.decode(Image, report)), report)

    def test_only_libraries_have_plain_kernels_and_only_devices_are_busy(self) -> None:
        for report, has in zip(REPORTS, (False, False, True, False), strict=True):
            (measured,) = report["run"]["models"]
            self.assertEqual(bool(measured["harts"]), report is REPORTS[-1])
            self.assertEqual([bool(measured[key]) for key in ("plain", "devices")], [has, has])
            self.assertEqual("busy" in measured["commands"][0], has)
            self.assertEqual(bool(report["run"]["clocks"]), has)

    def test_what_is_not_a_report_is_refused(self) -> None:
        def more(report: dict[str, Any]) -> None:
            report["models"][0]["commands"][0]["colour"] = 1

        def missing(report: dict[str, Any]) -> None:
            del report["models"][0]["entries"][0]["tensors"][0]["offset"]

        def text(report: dict[str, Any]) -> None:
            report["run"]["models"][0]["commands"][0]["instructions"] = "many"

        def older(report: dict[str, Any]) -> None:
            report["models"][0]["format_version"] = 3

        changes: list[tuple[Callable[[dict[str, Any]], None], str, str]] = [
            (
                more,
                r"commands\[0\].*'colour' was unexpected",
                "models[0].commands[0].colour",
            ),
            (
                missing,
                r"tensors\[0\].*'offset' is a required property",
                "models[0].entries[0].tensors[0].offset",
            ),
            (
                text,
                r"instructions: 'many' is not of type 'integer'",
                "run.models[0].commands[0].instructions",
            ),
            (older, r"format_version: 7 was expected", "models[0].format_version"),
        ]
        for change, message, place in changes:
            report = copy.deepcopy(REPORTS[0])
            change(report)
            (problem,) = problems(report)
            self.assertRegex(problem, message)
            with self.assertRaisesRegex(records.MisfitError, f"^{re.escape(place)}$"):
                records.decode(Image, report)


if __name__ == "__main__":
    unittest.main()
