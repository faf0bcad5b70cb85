"""Tests the indices of a TFLite model that LiteRT's verifier does not look at."""

from __future__ import annotations

import unittest
from types import SimpleNamespace

import support

from bmc.frontends import tflite_check


class TfliteCheckTest(support.FolderTest):
    def check(self, **changes: int) -> None:
        """Checks a model of two tensors, two buffers and one op, with one index changed."""
        index = {"buffer": 1, "op": 0, "read": 0, "written": 1, "input": 0, "output": 1} | changes
        op = SimpleNamespace(
            opcodeIndex=index["op"], inputs=[index["read"]], outputs=[index["written"]]
        )
        graph = SimpleNamespace(
            tensors=[SimpleNamespace(buffer=0), SimpleNamespace(buffer=index["buffer"])],
            operators=[op],
            inputs=[index["input"]],
            outputs=[index["output"]],
        )
        model = SimpleNamespace(buffers=[None] * 2, operatorCodes=[None], subgraphs=[graph])
        tflite_check.check(model, "m.tflite")

    def test_indices_within_their_lists(self) -> None:
        self.check()
        # An operand may be absent; a result may not.
        self.check(read=-1)

    def test_indices_outside(self) -> None:
        for name, kind, bad in (
            ("buffer", "buffer", (-1, 2)),
            ("op", "operator", (-1, 1)),
            ("read", "tensor", (-2, 2)),
            ("written", "tensor", (-1, 2)),
            ("input", "tensor", (-1, 2)),
            ("output", "tensor", (-1, 2)),
        ):
            for index in bad:
                self.refuses(
                    "bad-file",
                    f"uses {kind} {index}, but has only",
                    call=lambda n=name, i=index: self.check(**{n: i}),
                )


if __name__ == "__main__":
    unittest.main()
