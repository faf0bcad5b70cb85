"""Checks the contents of a SavedModel. TensorFlow runs its graphs, and some ops read files or call Python.

An op is accepted for its properties, not its name: it is stateless, and no string (which might name a
file, a Python function or another machine) and no handle goes in or out. Models also need some ops
without these properties, which are listed here.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bmc import errors, factory
from bmc.errors import BmcError
from bmc.frontends import model_folder

FILE = "saved_model.pb"
SIGNATURE = "serving_default"

# Variables, calls, lists of tensors, checks, and random numbers, which are refused later by name.
_ALLOWED = frozenset((
    "Assert", "AssignAddVariableOp", "AssignSubVariableOp", "AssignVariableOp", "Case", "CheckNumerics",
    "CheckNumericsV2", "CudnnRNN", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3", "CudnnRNNV2",
    "CudnnRNNV3", "DestroyResourceOp", "DisableCopyOnRead", "EmptyTensorList", "If", "Multinomial",
    "ParameterizedTruncatedNormal", "PartitionedCall", "RandomGamma", "RandomPoissonV2", "RandomShuffle",
    "RandomStandardNormal", "RandomUniform", "RandomUniformInt", "ReadVariableOp", "ResourceGather",
    "ResourceGatherNd", "ResourceScatterAdd", "ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin",
    "ResourceScatterMul", "ResourceScatterNdAdd", "ResourceScatterNdMax", "ResourceScatterNdMin",
    "ResourceScatterNdSub", "ResourceScatterNdUpdate", "ResourceScatterSub", "ResourceScatterUpdate",
    "ResourceStridedSliceAssign", "RngReadAndSkip", "RngSkip", "StatefulPartitionedCall",
    "StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform", "StatefulUniformFullInt",
    "StatefulUniformInt", "TensorArrayGatherV3", "TensorArrayReadV3", "TensorArrayScatterV3",
    "TensorArraySizeV3", "TensorArrayV3", "TensorArrayWriteV3", "TensorListConcatV2", "TensorListElementShape",
    "TensorListFromTensor", "TensorListGather", "TensorListGetItem", "TensorListLength", "TensorListPopBack",
    "TensorListPushBack", "TensorListReserve", "TensorListResize", "TensorListScatterV2", "TensorListSetItem",
    "TensorListSplit", "TensorListStack", "TruncatedNormal", "VarHandleOp", "VarIsInitializedOp",
    "VariableShape", "VariableV2", "While",
))  # fmt: skip
# String attributes that only choose a way to compute.
_CHOICES = frozenset((
    "activation_mode", "align", "bad_indices_policy", "data_format", "dimension_numbers", "direction",
    "dst_format", "equation", "fill_mode", "filter_format", "frame_name", "fused_ops", "input_quant_mode",
    "interpolation", "kernel_type", "message", "method", "mode", "output_quant_mode", "padding",
    "precision_config", "round_mode", "row_partition_types", "src_format",
))  # fmt: skip
_TEXT = ("string", "list(string)")
# The magic number of MLIR bytecode.
_BYTECODE = b"ML\xefR"


def check(folder: Path) -> None:
    """Checks a SavedModel folder before TensorFlow loads it; raises BmcError for the first that found() yields."""
    errors.raise_first(found(folder))


def found(folder: Path) -> Iterator[BmcError]:
    """Yields each op that does more than compute, by its name.

    Raises:
      BmcError: the folder cannot be read, or a file is a link to another folder.
    """
    from tensorflow.python.saved_model import loader_impl

    for path in sorted(folder.rglob("*")):
        model_folder.check(folder / FILE, path)
    try:
        model = loader_impl.parse_saved_model(str(folder))
    except OSError as error:
        raise BmcError(
            "bad-file",
            f"TensorFlow cannot load '{folder.name}': {factory.first_line(error)}",
            hint="save the model again",
        ) from None
    for graph in model.meta_graphs:
        _check_inputs(graph, folder.name)
        for where, node in _run_nodes(graph):
            if not _is_safe(node):
                yield _unsafe(node, where, folder.name)


@contextlib.contextmanager
def without_slots(folder: Path) -> Iterator[Path]:
    """Yields a folder with the SavedModel less what its optimizer keeps for each variable.

    Optimizers of Keras 2 keep that in slots, with which TensorFlow cannot load the model any more.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    model = SavedModel.FromString((folder / FILE).read_bytes())
    nodes = [node for graph in model.meta_graphs for node in graph.object_graph_def.nodes]
    if not any(node.slot_variables for node in nodes):
        yield folder
        return
    for node in nodes:
        node.ClearField("slot_variables")
    with tempfile.TemporaryDirectory() as work:
        for path in folder.iterdir():
            if path.name != FILE:
                (Path(work) / path.name).symlink_to(path.absolute())
        (Path(work) / FILE).write_bytes(model.SerializeToString())
        yield Path(work)


def _check_inputs(graph: Any, source: str) -> None:
    from tensorflow.core.framework import types_pb2

    inputs = graph.signature_def[SIGNATURE].inputs if SIGNATURE in graph.signature_def else {}
    for name, tensor in sorted(inputs.items()):
        if tensor.dtype == types_pb2.DT_STRING:
            raise BmcError(
                "unsupported-dtype",
                f"input '{name}' of '{source}' is text",
                hint="save a signature that takes the numbers which the model makes of the text",
            )


def _run_nodes(graph: Any) -> Iterator[tuple[str, Any]]:
    """Yields every node that TensorFlow may run, with the name of its function.

    Excludes the functions that write and read checkpoints. TensorFlow's own code restores variables, and
    nothing else in the file names these functions.
    """
    functions = {function.signature.name: function for function in graph.graph_def.library.function}
    # Functions called in place of others: derivatives, and implementations for a device.
    wanted = [gradient.gradient_func for gradient in graph.graph_def.library.gradient]
    wanted += [name for name, function in functions.items() if "api_implements" in function.attr]
    if graph.HasField("object_graph_def"):
        objects = graph.object_graph_def
        wanted += objects.concrete_functions
        for item in objects.nodes:
            wanted += item.function.concrete_functions
            wanted.append(item.bare_concrete_function.concrete_function_name)
    else:
        for node in _of_version_1(graph):
            yield "graph", node
        wanted += functions
    called = {
        name: [callee for node in function.node_def for callee in _called(node)]
        for name, function in functions.items()
    }
    for name in _reachable(wanted, called):
        for node in functions[name].node_def:
            yield name, node


def _of_version_1(graph: Any) -> Iterator[Any]:
    """Yields the nodes of a graph from TensorFlow 1, except those that only write a checkpoint.

    Restoring runs as part of the graph, so it may read the model's own variables and no others.
    """
    nodes = {node.name: node for node in graph.graph_def.node}
    inputs = {name: [_node_name(i) for i in node.input] for name, node in nodes.items()}
    writes = _node_name(graph.saver_def.save_tensor_name)
    # Everything else that names nodes: outputs of signatures, initializers.
    named = [s.SerializeToString() for s in graph.signature_def.values()]
    named += [c.SerializeToString() for key, c in graph.collection_def.items() if key != "savers"]
    text = b"".join(named)
    used = {name for of in inputs.values() for name in of}
    wanted = [_node_name(graph.saver_def.restore_op_name)]
    wanted += [n for n in nodes if n != writes and (n not in used or n.encode() in text)]
    wanted += [writes] if writes.encode() in text else []
    for name in _reachable(wanted, inputs):
        own = inputs[name][:1] == [_node_name(graph.saver_def.filename_tensor_name)]
        if nodes[name].op != "RestoreV2" or not own:
            yield nodes[name]


def _reachable(wanted: Iterable[str], edges: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yields the names in `edges` that are wanted or can be reached from those, each once."""
    left = list(wanted)
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name not in seen and name in edges:
            seen.add(name)
            yield name
            left += edges[name]


def _node_name(tensor: str) -> str:
    return tensor.removeprefix("^").partition(":")[0]


def _called(node: Any) -> Iterable[str]:
    yield node.op
    for value in node.attr.values():
        yield value.func.name
        yield from (function.name for function in value.list.func)


def _is_safe(node: Any) -> bool:
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(node.op)
    # The function that a call names is checked like any other.
    if definition is None or node.op in _ALLOWED or _is_computation(definition):
        return True
    return node.op == "XlaCallModule" and _is_stablehlo(node)


def _unsafe(node: Any, function: str, source: str) -> BmcError:
    return BmcError(
        "unsafe-file",
        f"op '{node.op}' in '{source}' does more than compute",
        where=f"{node.name} in {function}",
        hint="a model file may not read or write anything: leave the op out, or return the model from a"
        " model.py, which is code",
    )


def _is_stablehlo(node: Any) -> bool:
    """Whether a function from JAX calls nothing outside itself. Bytecode contains names as plain text."""
    module = node.attr["module"].s
    return (
        module.startswith(_BYTECODE)
        and b"custom_call" not in module
        and not node.attr["function_list"].list.func
    )


def _is_computation(definition: Any) -> bool:
    from tensorflow.core.framework import types_pb2

    handles = (types_pb2.DT_STRING, types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT)
    arguments = (*definition.input_arg, *definition.output_arg)
    return (
        not definition.is_stateful
        and all(argument.type not in handles for argument in arguments)
        and all(a.name in _CHOICES for a in definition.attr if a.type in _TEXT)
    )
