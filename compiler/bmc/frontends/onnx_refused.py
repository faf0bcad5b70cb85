"""Refuses what IREE's importer ignores or does not know in an .onnx model, by the name of the op and the attribute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bmc import errors
from bmc.dtype import Array
from bmc.errors import BmcError
from bmc.frontends.onnx_graph import attributes, node_name, nodes_within


def check(model: Any, name: str, constants: Mapping[str, Array]) -> None:
    """Checks all nodes of a ModelProto; raises BmcError for the first that found() yields."""
    errors.raise_first(found(model, name, constants))


def found(model: Any, name: str, constants: Mapping[str, Array]) -> Iterator[BmcError]:
    """Yields each node that the importer gets wrong.

    Args:
      model: a model that onnx accepts, without functions.
      name: name of the file.
      constants: initializers and values of Constant nodes by name.

    That is an op in training mode, with random numbers or batch statistics, a Scan of batches, a TopK in any order, and
    a RoiAlign whose samples depend on the data.
    """
    for node in nodes_within(model.graph.node):
        given = attributes(node)
        training = given.get("training_mode")
        if node.op_type == "Dropout" and len(node.input) > 2:
            training = bool(np.any(constants.get(node.input[2], False)))
        if training:
            yield BmcError(
                "train-mode",
                f"op '{node.op_type}' runs in training mode",
                where=f"{node.name or node.output[0]} in {name}",
                hint="export the model for inference, for example after eval()",
            )
        if node.op_type == "TopK" and not given.get("sorted", 1):
            yield BmcError(
                "op-rejected",
                "op 'TopK' leaves the order of its results open",
                where=f"{node_name(node)} in {name}",
                hint="set its attribute sorted to 1, which is an order like any other",
            )
        if node.op_type == "RoiAlign" and not given.get("sampling_ratio"):
            yield BmcError(
                "op-rejected",
                "op 'RoiAlign' without sampling_ratio takes more samples of larger regions",
                where=f"{node_name(node)} in {name}",
                hint="set sampling_ratio, for example to 2",
            )
        if node.op_type == "Scan" and len(node.input) != len(given["body"].input):
            yield BmcError(
                "op-rejected",
                "op 'Scan' of opset 8 has batches, each with a number of steps of its own",
                where=f"{node_name(node)} in {name}",
                hint="export the model with opset 9 or later",
            )
