"""Makes indices of tensors count from the front and stay inside, which torch-mlir leaves to those who use a model.

PyTorch counts a negative index from the end, and torch-mlir's StableHLO reads and writes in front of the tensor. For an
index outside PyTorch raises an error, so a target may write anything to the tensor, but nothing beside it.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends.torch_windows import arguments, call


def apply(program: Any) -> None:
    """Changes the indices of such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    reads = (aten.index.Tensor, aten._unsafe_index.Tensor)
    writes = (aten.index_put.default, aten._unsafe_index_put.default)
    # Of these, only along one axis, and PyTorch raises an error for negative ones.
    along = (
        aten.scatter.src, aten.scatter.value, aten.scatter_add.default, aten.scatter_reduce.two,
        aten.index_add.default, aten.index_copy.default,
    )  # fmt: skip
    for node in list(program.graph.nodes):
        if node.target in reads or node.target in writes:
            _tuples(program, node, node.target in writes)
        elif node.target in along:
            given = arguments(node)
            _, axis, index, *rest = node.args
            size = _sizes(given["self"])[axis]
            inside = _inside(program, node, _computed(program, node, index), size)
            # torch-mlir crashes at a negative axis of a reduction.
            axis %= max(len(_sizes(given["self"])), 1)
            node.args = (node.args[0], axis, inside, *rest)


def _tuples(program: Any, node: Any, writes: bool) -> None:
    """Changes the indices of an op that takes one tensor of them for each of its first axes, or None."""
    source, indices, *rest = node.args
    integers = ("torch.int8", "torch.int32", "torch.int64")
    given = [index for index in indices if index is not None]
    if not all(str(index.meta["val"].dtype) in integers for index in given):
        return  # A mask is an index for several axes.
    changed = [
        index if index is None else _wrapped(program, node, index, size, writes)
        for index, size in zip(indices, _sizes(source), strict=False)
    ]
    node.args = (source, changed, *rest)


def _wrapped(program: Any, node: Any, index: Any, size: int, writes: bool) -> Any:
    import torch

    aten = torch.ops.aten
    low, high = _bounds(program, index)
    index = _computed(program, node, index)
    if low < 0:
        graph = program.graph
        is_negative = call(graph, node, aten.lt.Scalar, (index, 0))
        from_end = call(graph, node, aten.add.Scalar, (index, size))
        index = call(graph, node, aten.where.self, (is_negative, from_end, index))
    elif high < size:
        return index
    return _inside(program, node, index, size) if writes else index


def _computed(program: Any, node: Any, index: Any) -> Any:
    """Returns a tensor of the model as the result of an op, because torch-mlir takes no other in a list of indices."""
    import torch

    if index.op != "placeholder":
        return index
    return call(program.graph, node, torch.ops.aten.clone.default, (index,))


def _inside(program: Any, node: Any, index: Any, size: int) -> Any:
    import torch

    low, high = _bounds(program, index)
    if low >= 0 and high < size:
        return index
    return call(program.graph, node, torch.ops.aten.clamp.default, (index, 0, size - 1))


def _sizes(tensor: Any) -> list[int]:
    return list(tensor.meta["val"].shape)


def _bounds(program: Any, node: Any) -> tuple[float, float]:
    """Returns bounds of the elements of a tensor of integers; infinities where nothing is known."""
    import torch

    aten = torch.ops.aten
    unknown = (float("-inf"), float("inf"))
    moves = (
        aten.view.default, aten.reshape.default, aten.expand.default, aten.unsqueeze.default, aten.clone.default,
        aten.squeeze.dim, aten.slice.Tensor, aten.select.int, aten.permute.default, aten.flip.default,
    )  # fmt: skip
    if node.op == "placeholder":
        held = _constant(program, node.name)
        if held is None or not held.numel():
            return unknown
        return float(held.min()), float(held.max())
    if node.target in moves:
        return _bounds(program, node.args[0])
    if node.target is aten.clamp.default:
        given = arguments(node)
        low, high = _bounds(program, given["self"])
        least, most = given["min"], given["max"]
        low = low if least is None else max(low, least)
        return (low, max(high, low)) if most is None else (min(low, most), min(high, most))
    if node.target in (aten.arange.default, aten.arange.start, aten.arange.start_step):
        start, end, *step = (0, *node.args) if node.target is aten.arange.default else node.args
        return (start, end - 1) if not step or step[0] > 0 else unknown
    return unknown


def _constant(program: Any, name: str) -> Any:
    """Returns the elements of a placeholder that no input and no call changes, otherwise None."""
    signature = program.graph_signature
    buffer = signature.inputs_to_buffers.get(name)
    if buffer is not None and buffer not in signature.buffers_to_mutate.values():
        return program.state_dict.get(buffer, program.constants.get(buffer))
    return program.constants.get(signature.inputs_to_lifted_tensor_constants.get(name))
