"""Bills of materials of two images: valid, complete, the same every time."""

from __future__ import annotations

import hashlib
import json
import os
import unittest
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools.report.sbom import document, parts

TABLE = Path(os.environ["TABLE"]).absolute().parents[1]
RV32, RV64 = (Path(os.environ[name]).read_text() for name in ("RV32", "RV64"))
VALIDATOR = JsonStrictValidator(SchemaVersion.V1_6)


def components(text: str) -> dict[str, Any]:
    return {component["name"]: component for component in json.loads(text)["components"]}


def on_target(text: str) -> set[str]:
    return {name for name, one in components(text).items() if one["scope"] == "required"}


def properties(component: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one["value"] for one in component["properties"]}


class DocumentTest(unittest.TestCase):
    def test_documents_follow_the_schema_of_cyclonedx(self) -> None:
        for text in (RV32, RV64):
            self.assertIsNone(VALIDATOR.validate_str(text))
        wrong = RV64.replace('"scope": "required"', '"scope": "perhaps"', 1)
        self.assertIsNotNone(VALIDATOR.validate_str(wrong))

    def test_the_image_contains_what_its_link_map_says(self) -> None:
        self.assertEqual(on_target(RV64), {"iree-base-compiler", "ironcast", "mlp"})
        self.assertRegex(components(RV64)["ironcast"]["version"], r"^\d+\.\d+\.\d+")
        self.assertEqual(
            on_target(RV32),
            {"gcc-riscv64-unknown-elf", "iree-base-compiler", "ironcast", "mlp_few"},
        )
        for component in components(RV32).values():
            if component["scope"] == "required":
                self.assertTrue(properties(component)["ironcast:on_target"])

    def test_the_build_uses_the_models_framework_and_no_other(self) -> None:
        found = components(RV64)
        for name in ("clang-19", "numpy", "torch", "torch-mlir", "sympy"):
            self.assertEqual(found[name]["scope"], "excluded", name)
            self.assertTrue(found[name]["version"], name)
        self.assertFalse({"jax", "onnx", "pytest", "sphinx", "tensorflow"} & set(found))

    def test_every_license_is_one_of_spdx(self) -> None:
        for component in components(RV64).values():
            if component["type"] != "machine-learning-model":
                (license,) = component["licenses"]
                known = "expression" in license or "id" in license["license"]
                self.assertTrue(known, f"{component['name']}: {license}")

    def test_the_model_is_known_by_its_weights(self) -> None:
        model = components(RV64)["mlp"]
        self.assertEqual(model["type"], "machine-learning-model")
        # The same network on fewer cases, for another instruction set.
        self.assertEqual(model["hashes"], components(RV32)["mlp_few"]["hashes"])

    def test_the_image_is_known_by_its_elf(self) -> None:
        sha256 = hashlib.sha256(Path(os.environ["IMAGE"]).read_bytes()).hexdigest()
        (digest,) = json.loads(RV64)["metadata"]["component"]["hashes"]
        self.assertEqual(digest, {"alg": "SHA-256", "content": sha256})

    def test_files_are_those_that_the_lock_accepts(self) -> None:
        (reference,) = components(RV64)["numpy"]["externalReferences"]
        lock = (TABLE / "third_party/python/requirements_lock.txt").read_text()
        for digest in reference["hashes"]:
            self.assertIn(f"--hash=sha256:{digest['content']}", lock)

    def test_the_serial_number_depends_on_the_parts_alone(self) -> None:
        def made(*names: str) -> str:
            found = map(document.part, parts.python(TABLE, names))
            return document.text(document.runtime("1.2.3"), list(found))

        self.assertEqual(made("numpy", "torch"), made("torch", "numpy"))
        serials = {json.loads(made(name))["serialNumber"] for name in ("numpy", "torch")}
        self.assertEqual(len(serials), 2)
        self.assertNotIn("timestamp", RV64)

    def test_a_package_of_the_users_own_has_its_name(self) -> None:
        (own,) = parts.python(TABLE, ["not-in-the-lock"])
        text = document.text(document.runtime("1.2.3"), [document.part(own)])
        self.assertIsNone(VALIDATOR.validate_str(text))
        self.assertNotIn("licenses", components(text)["not-in-the-lock"])


if __name__ == "__main__":
    unittest.main()
