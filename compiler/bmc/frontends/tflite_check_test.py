"""Tests the indices of a TFLite model that LiteRT's verifier does not look at."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any

import support
from ai_edge_litert import schema_py_generated as schema

from bmc.frontends import tflite_check


class TfliteCheckTest(support.FolderTest):
    def check(self, **changes: int) -> None:
        """Checks a model of two tensors, two buffers and one op, with one index changed."""
        index = {"buffer": 1, "op": 0, "read": 0, "written": 1, "input": 0, "output": 1} | changes
        op = SimpleNamespace(
            opcodeIndex=index["op"],
            inputs=[index["read"]],
            outputs=[index["written"]],
            builtinOptions=None,
        )
        graph = SimpleNamespace(
            tensors=[SimpleNamespace(buffer=0), SimpleNamespace(buffer=index["buffer"])],
            operators=[op],
            inputs=[index["input"]],
            outputs=[index["output"]],
        )
        code = SimpleNamespace(builtinCode=0, deprecatedBuiltinCode=0)
        model = SimpleNamespace(buffers=[None] * 2, operatorCodes=[code], subgraphs=[graph])
        tflite_check.check(model, "m.tflite")

    def check_op(self, kind: str, inputs: int, outputs: int, options: Any) -> None:
        """Checks a model of one op on tensor 0."""
        number = getattr(schema.BuiltinOperator, kind)
        op = SimpleNamespace(
            opcodeIndex=0, inputs=[0] * inputs, outputs=[0] * outputs, builtinOptions=options
        )
        tensors = [SimpleNamespace(buffer=0)]
        graph = SimpleNamespace(tensors=tensors, operators=[op], inputs=[0], outputs=[0])
        code = SimpleNamespace(builtinCode=number, deprecatedBuiltinCode=0)
        model = SimpleNamespace(buffers=[None], operatorCodes=[code], subgraphs=[graph])
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

    def test_ops_that_bmc_replaces(self) -> None:
        once, branch = schema.CallOnceOptionsT(), schema.IfOptionsT()
        self.check_op("CALL_ONCE", 0, 0, once)
        once.initSubgraphIndex = branch.elseSubgraphIndex = 1
        for kind, inputs, outputs, options, said in (
            ("CALL_ONCE", 0, 0, once, "uses graph 1, but has only 1"),
            ("IF", 2, 1, branch, "uses graph 1, but has only 1"),
            ("CALL_ONCE", 0, 0, branch, "without its operands or options"),
            ("VAR_HANDLE", 0, 1, None, "without its operands or options"),
            ("READ_VARIABLE", 0, 1, None, "without its operands or options"),
            ("NEG", 0, 1, None, "without its operands or options"),
            ("ONE_HOT", 3, 1, schema.OneHotOptionsT(), "without its operands or options"),
            ("ONE_HOT", 4, 1, None, "without its operands or options"),
            ("ASSIGN_VARIABLE", 1, 0, None, "op 'ASSIGN_VARIABLE' without"),
        ):
            self.refuses(
                "bad-file",
                said,
                call=lambda k=kind, i=inputs, o=outputs, p=options: self.check_op(k, i, o, p),
            )


if __name__ == "__main__":
    unittest.main()
