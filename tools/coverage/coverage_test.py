"""A fixed sample of the op coverage: ops that work, one that is refused, and one made wrong."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import coverage
import onnx_ops
import page
from op_case import OpCase
from page import Outcome, Status

from bmc.artifacts import ImportedModel

_KIT = Path("tools/coverage/spike.json")


def _sample() -> Iterator[OpCase]:
    """The sample, and Relu once more with an element of its expected output changed."""
    names = {
        "test_relu",
        "test_softmax_example",
        "test_conv_with_strides_padding",
        "test_nonzero_example",
    }
    for case in onnx_ops.cases():
        if case.name in names:
            yield case
        if case.name == "test_relu":

            def wrong(out: Path, case: OpCase = case) -> ImportedModel:
                model = case.load(out)
                (output,) = model.golden.outputs[0]
                output = output.copy()
                output.flat[7] += 1
                return replace(model, golden=replace(model.golden, outputs=((output,),)))

            yield OpCase("Relu", "wrong", wrong)


class SampleTest(unittest.TestCase):
    def test_sample(self) -> None:
        found = {case.name: outcome for case, outcome in coverage.run(_sample(), _KIT)}
        self.assertEqual(
            {name: outcome.status for name, outcome in found.items()},
            {
                "test_relu": Status.WORKS,
                "test_softmax_example": Status.WORKS,
                "test_conv_with_strides_padding": Status.WORKS,
                "test_nonzero_example": Status.REFUSED,
                "wrong": Status.REFUSED,
            },
            found,
        )
        self.assertIn("'NonZero'", found["test_nonzero_example"].sentence)
        # Neither the target nor IREE on this machine computes the changed answer.
        self.assertIn("output y of case 0 is off by 1, 1 elements differ", found["wrong"].sentence)


class PageTest(unittest.TestCase):
    def test_sections_are_replaced_and_ordered(self) -> None:
        def text(frontend: str, status: Status) -> str:
            outcomes = [Outcome("Add", Status.WORKS, ""), Outcome("Add", status, "a | b")]
            return page.section(frontend, outcomes, "x 1")

        both = page.replace_section("", "tflite", text("tflite", Status.REFUSED))
        both = page.replace_section(both, "onnx", text("onnx", Status.WRONG))
        self.assertLess(both.index("## ONNX"), both.index("## TensorFlow Lite"))
        self.assertIn("| Add | 1 of 2 | wrong: a \\| b |", both)
        self.assertIn(
            "0 of 1 ops work in every case. Of 2 cases, 1 work, 0 are refused and 1", both
        )
        again = page.replace_section(both, "onnx", text("onnx", Status.WORKS))
        self.assertIn("| Add | 2 of 2 | |", again)
        self.assertNotIn("| Add | 1 of 2 | wrong", again)
        self.assertEqual(page.replace_section(again, "onnx", text("onnx", Status.WRONG)), both)


if __name__ == "__main__":
    unittest.main()
