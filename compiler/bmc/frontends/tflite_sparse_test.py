"""Sparse constants of .tflite files, which LiteRT makes dense in its own way."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import numpy as np
import support
from ai_edge_litert import schema_py_generated as schema
from tflite_graph import Graph

_RNG = np.random.default_rng(0)
_WEIGHT = np.round(_RNG.standard_normal((8, 12)) * (_RNG.random((8, 12)) < 0.3), 2)


def _encode(dense: Any, order: list[int], sparse: set[int], blocks: dict[int, int]) -> Any:
    """Returns the sparsity parameters of a matrix, and its values; `blocks` has sizes by axis."""
    parts: list[int] = []
    for axis, size in enumerate(dense.shape):
        parts += [size // blocks.get(axis, 1), blocks.get(axis, 1)]
    within = [2 * axis + 1 for axis in blocks]
    tree = dense.reshape(parts).transpose(0, 2, *within, *({1, 3} - set(within)))
    tree = tree.reshape(tree.shape[: 2 + len(blocks)]).transpose(order)
    new = schema.SparsityParametersT()
    new.traversalOrder, new.dimMetadata = order, []
    new.blockMap = [*blocks] or None
    nodes = [tree]
    for dimension in order:
        level = schema.DimensionMetadataT()
        if dimension in sparse:
            kept = [[i for i, part in enumerate(node) if part.any()] for node in nodes]
            level.format = schema.DimensionType.SPARSE_CSR
            level.arraySegments, level.arrayIndices = schema.Int32VectorT(), schema.Uint8VectorT()
            level.arraySegmentsType = schema.SparseIndexVector.Int32Vector
            level.arrayIndicesType = schema.SparseIndexVector.Uint8Vector
            level.arraySegments.values = np.cumsum([0, *map(len, kept)]).astype(np.int32)
            level.arrayIndices.values = np.array(sum(kept, []), np.uint8)
        else:
            kept = [[*range(len(node))] for node in nodes]
            level.denseSize = len(nodes[0])
        nodes = [node[i] for node, indices in zip(nodes, kept, strict=True) for i in indices]
        new.dimMetadata.append(level)
    return new, np.array(nodes)


def _file(
    kind: str,
    order: list[int],
    sparse: set[int],
    blocks: dict[int, int],
    change: Callable[[Any], None] = lambda _: None,
) -> bytes:
    """Returns x + weight."""
    made = Graph()
    sparsity, values = _encode(_WEIGHT, order, sparse, blocks)
    change(sparsity)
    x, y = made.tensor("x", _WEIGHT.shape), made.tensor("y", _WEIGHT.shape)
    stored = made.constant("stored", values.astype(kind))
    made.graph.tensors[stored].shape = [*_WEIGHT.shape]
    made.graph.tensors[stored].sparsity = sparsity
    weight = made.tensor("weight", _WEIGHT.shape, kind)
    made.op("DENSIFY", [stored], [weight])
    if kind != "float32":
        made.op("DEQUANTIZE", [weight], [made.tensor("float", _WEIGHT.shape)], 3)
        weight = len(made.graph.tensors) - 1
    made.op("ADD", [x, weight], [y], options="AddOptions")
    return made.file([x], [y])


class TfliteSparseTest(support.ModelFileTest):
    SUFFIX = ".tflite"

    def test_orders_and_blocks(self) -> None:
        for kind, order, sparse, blocks in (
            ("float32", [0, 1], {1}, {}),
            ("float16", [1, 0], {0}, {}),
            ("float16", [0, 1, 2], {1}, {1: 4}),
            ("float32", [0, 1, 2, 3], {1}, {0: 2, 1: 3}),
        ):
            with self.subTest(kind=kind, order=order, blocks=blocks):
                model = self.load(_file(kind, order, sparse, blocks))
                (x,), (y,) = model.golden.inputs[0], model.golden.outputs[0]
                np.testing.assert_allclose(y - x, _WEIGHT, atol=2e-3)
                weight = next(p for p in model.parameters if p.name == "stored")
                self.assertEqual(weight.shape, _WEIGHT.shape)
        self.agrees(model)

    def test_without_an_op(self) -> None:
        made = Graph()
        sparsity, values = _encode(_WEIGHT, [0, 1], {1}, {})
        x, y = made.tensor("x", (2, 12)), made.tensor("y", (2, 8))
        weight = made.constant("weight", values.astype(np.float32))
        made.graph.tensors[weight].shape = [8, 12]
        made.graph.tensors[weight].sparsity = sparsity
        options = "FullyConnectedOptions"
        made.op("FULLY_CONNECTED", [x, weight, -1], [y], 8, options=options)
        model = self.load(made.file([x], [y]))
        (given,), (got,) = model.golden.inputs[0], model.golden.outputs[0]
        np.testing.assert_allclose(got, given @ _WEIGHT.T, atol=1e-5)
        self.agrees(model)

    def test_lists_that_do_not_fit(self) -> None:
        def place(sparsity: Any) -> None:
            sparsity.dimMetadata[1].arrayIndices.values[0] = 200

        def start(sparsity: Any) -> None:
            sparsity.dimMetadata[1].arraySegments.values[1] = 99

        def size(sparsity: Any) -> None:
            sparsity.dimMetadata[0].denseSize = 9
            sparsity.traversalOrder = [0, 2]

        def fewer(sparsity: Any) -> None:
            sparsity.dimMetadata[0].denseSize = 7

        def absent(sparsity: Any) -> None:
            sparsity.dimMetadata[1].arrayIndices = None

        for change, said in (
            (place, "do not fit its shape: stored"),
            (start, "do not fit its shape: stored"),
            (size, "do not fit its shape: stored"),
            (fewer, "do not fit its shape: stored"),
            (absent, "LiteRT rejects"),
        ):
            data = _file("float32", [0, 1], {1}, {}, change)
            self.rejects("bad-file", said, data=data)


if __name__ == "__main__":
    unittest.main()
