"""Tests the indices of a TFLite model that LiteRT's verifier does not look at."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import support
import tflite_graph
from ai_edge_litert import schema_py_generated as schema

from bmc.frontends import tflite_check


def loop(condition: int, body: int) -> Any:
    """The options of a WHILE of two graphs."""
    options = schema.WhileOptionsT()
    options.condSubgraphIndex, options.bodySubgraphIndex = condition, body
    return options


def call(graph: int) -> Any:
    """The options of a CALL_ONCE of a graph."""
    options = schema.CallOnceOptionsT()
    options.initSubgraphIndex = graph
    return options


class TfliteCheckTest(support.FolderTest):
    def check(self, **changes: int) -> None:
        """Checks a model of two tensors, two buffers and one op, with one index changed."""
        index = {"buffer": 1, "op": 0, "read": 0, "written": 1, "input": 0, "output": 1} | changes
        second = schema.TensorT()
        second.buffer = index["buffer"]
        op = SimpleNamespace(
            opcodeIndex=index["op"],
            inputs=[index["read"]],
            outputs=[index["written"]],
            builtinOptions=None,
        )
        graph = SimpleNamespace(
            tensors=[schema.TensorT(), second],
            operators=[op],
            inputs=[index["input"]],
            outputs=[index["output"]],
        )
        code = SimpleNamespace(builtinCode=0, deprecatedBuiltinCode=0)
        model = SimpleNamespace(
            buffers=[schema.BufferT()] * 2, operatorCodes=[code], subgraphs=[graph]
        )
        tflite_check.check(model, "m.tflite", 1000)

    def check_op(self, kind: str, inputs: int, outputs: int, options: Any) -> None:
        """Checks a model of one op on tensor 0, and an empty graph."""
        number = getattr(schema.BuiltinOperator, kind)
        op = SimpleNamespace(
            opcodeIndex=0, inputs=[0] * inputs, outputs=[0] * outputs, builtinOptions=options
        )
        tensors = [schema.TensorT()]
        graph = SimpleNamespace(tensors=tensors, operators=[op], inputs=[0], outputs=[0])
        code = SimpleNamespace(builtinCode=number, deprecatedBuiltinCode=0)
        model = SimpleNamespace(
            buffers=[schema.BufferT()], operatorCodes=[code], subgraphs=[graph, schema.SubGraphT()]
        )
        tflite_check.check(model, "m.tflite", 1000)

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

    def check_place(self, offset: int, size: int) -> None:
        """Checks a model with one buffer, whose bytes are at a place in a file of 1,000 bytes."""
        buffer = schema.BufferT()
        buffer.offset, buffer.size = offset, size
        model = SimpleNamespace(buffers=[schema.BufferT(), buffer], operatorCodes=[], subgraphs=[])
        tflite_check.check(model, "m.tflite", 1000)

    def test_bytes_outside_of_the_file(self) -> None:
        for offset, size in ((0, 0), (1, 0), (1000, 0), (600, 400)):
            self.check_place(offset, size)
        for offset, size in ((600, 401), (1001, 0), (2**64 - 8, 16), (8, 2**64 - 8)):
            self.refuses(
                "bad-file",
                "has buffer 1 outside of the file",
                call=lambda o=offset, s=size: self.check_place(o, s),
            )

    def check_graphs(self, *graphs: Sequence[Any]) -> None:
        """Checks a model of graphs that are ops with these options."""
        code = SimpleNamespace(builtinCode=schema.BuiltinOperator.WHILE, deprecatedBuiltinCode=0)
        subgraphs = [
            SimpleNamespace(
                tensors=[],
                operators=[
                    SimpleNamespace(opcodeIndex=0, inputs=[], outputs=[], builtinOptions=options)
                    for options in ops
                ],
                inputs=[],
                outputs=[],
            )
            for ops in graphs
        ]
        model = SimpleNamespace(buffers=[], operatorCodes=[code], subgraphs=subgraphs)
        tflite_check.check(model, "m.tflite", 1000)

    def check_order(
        self, data: Any = None, variable: bool = False, shape: Any = (4,), op: str = "ADD"
    ) -> None:
        """Checks a model with an op that reads a tensor that no op makes."""
        graph = tflite_graph.Graph()
        a, b, c = (graph.tensor(name, shape) for name in "abc")
        graph.op(op, [a, b], [c])
        graph.graph.tensors[b].isVariable = variable
        if data is not None:
            graph.graph.tensors[b].buffer = graph.buffer(data)
        graph.graph.inputs, graph.graph.outputs = [a], [c]
        tflite_check.check(graph.model, "m.tflite", 1000)

    def test_tensors_that_are_read_before_they_are_made(self) -> None:
        self.check_order(np.zeros(4, np.float32))
        self.check_order(variable=True)
        self.check_order(shape=(0,))
        self.check_order(op="CUSTOM")
        said = "reads 'b' before an op makes it"
        self.refuses("bad-file", said, call=self.check_order)
        self.refuses("bad-file", said, call=lambda: self.check_order(np.zeros(0, np.float32)))
        graph = tflite_graph.Graph()
        a, b, c = (graph.tensor(name, (4,)) for name in "abc")
        graph.op("ABS", [b], [c])
        graph.op("ABS", [a], [b])
        graph.graph.inputs, graph.graph.outputs = [a], [c]
        check = functools.partial(tflite_check.check, graph.model, "m.tflite", 1000)
        self.refuses("bad-file", said, call=check)
        graph.graph.operators.reverse()
        check()
        graph.graph.outputs = [c, graph.tensor("d", (4,))]
        self.refuses("bad-file", "reads 'd' before an op makes it", call=check)

    def test_graphs_that_are_part_of_themselves(self) -> None:
        self.check_graphs([loop(1, 2)], [], [loop(1, 1)])
        self.check_graphs(*([call(1 + index)] for index in range(2000)), [])
        for graphs in ([[loop(0, 0)]], [[loop(1, 2)], [], [loop(1, 2)]], [[loop(1, 1)], [call(0)]]):
            self.refuses(
                "bad-file",
                "has a graph that is part of itself",
                call=lambda g=graphs: self.check_graphs(*g),
            )
        self.refuses("bad-file", "uses graph 7, but", call=lambda: self.check_graphs([loop(0, 7)]))

    def test_ops_that_bmc_replaces(self) -> None:
        once, branch = call(1), schema.IfOptionsT()
        self.check_op("CALL_ONCE", 0, 0, once)
        once.initSubgraphIndex = branch.elseSubgraphIndex = 2
        for kind, inputs, outputs, options, said in (
            ("CALL_ONCE", 0, 0, once, "uses graph 2, but has only 2"),
            ("IF", 2, 1, branch, "uses graph 2, but has only 2"),
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
