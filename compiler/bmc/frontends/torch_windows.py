"""Cuts or pads the operands of some pools and convolutions, because torch-mlir or IREE gets them wrong.

- IREE refuses a window that is the only one along a dimension if it leaves elements over.
- torch-mlir pads a max pool with ceil_mode at both ends, where PyTorch only adds to the last window.
- IREE counts an average's elements wrong if the only window covers everything and padding is not to count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MAX = (
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
)
_AVERAGE = ("avg_pool1d", "avg_pool2d", "avg_pool3d")
_CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "convolution")


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program."""
    for node in list(program.graph.nodes):
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        if name in _MAX and _only_values(node):
            _max_pool(program.graph, node)
        elif name in _AVERAGE:
            _average_pool(program.graph, node)
        elif name in _CONVOLUTIONS:
            _convolution(program.graph, node)
    program.graph_module.recompile()


@dataclass(frozen=True)
class _Axis:
    """The windows along one dimension: its size, the padding at each end, and what windows cover of all that."""

    size: int
    padding: int
    outputs: int
    covered: int

    @property
    def over(self) -> int:
        """The elements behind the last window; negative if it ends behind the padding."""
        return self.size + 2 * self.padding - self.covered


def _max_pool(graph: Any, node: Any) -> None:
    import torch

    given = arguments(node)
    axes = _axes(node, given, given["kernel_size"])
    dtype = node.args[0].meta["val"].dtype
    lowest = float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min
    if _fit(graph, node, given, axes, lowest):
        _replace(node, {**given, "ceil_mode": False})


def _convolution(graph: Any, node: Any) -> None:
    given = arguments(node)
    if given.get("transposed") or isinstance(given["padding"], str):
        return
    axes = _axes(node, given, given["weight"].meta["val"].shape[2:])
    if _fit(graph, node, given, axes, 0.0):
        _replace(node, given)


def _average_pool(graph: Any, node: Any) -> None:
    given = arguments(node)
    axes = _axes(node, given, given["kernel_size"])
    if not given["count_include_pad"] and not given.get("divisor_override"):
        _count_no_padding(graph, node, given, axes)
        _replace(node, given)
    elif all(axis.over >= 0 for axis in axes) and _fit(graph, node, given, axes, 0.0):
        _replace(node, given)


def _count_no_padding(graph: Any, node: Any, given: dict[str, Any], axes: list[_Axis]) -> None:
    """Makes the only window along a dimension end where the elements that count end."""
    kernel = _each(given["kernel_size"], len(axes))
    strides = _each(given["stride"] or kernel, len(axes))
    padding = [axis.padding for axis in axes]
    for index, axis in enumerate(axes):
        if axis.outputs == 1:
            kernel[index] = min(axis.size, axis.covered - axis.padding)
            padding[index] = 0
            given["self"] = _sliced(graph, node, given["self"], index - len(axes), kernel[index])
    given |= {"kernel_size": kernel, "stride": strides, "padding": padding}
    given["count_include_pad"] = not any(padding) and all(
        axis.over >= 0 or axis.outputs == 1 for axis in axes
    )


def _only_values(node: Any) -> bool:
    """Whether nothing reads the places of the largest elements."""
    return "indices" not in str(node.target) or all(user.args[1] == 0 for user in node.users)


def arguments(node: Any) -> dict[str, Any]:
    """Returns the arguments of a call by name, with defaults for those not given."""
    arguments = node.target._schema.arguments
    given: dict[str, Any] = {a.name: a.default_value for a in arguments if a.has_default_value()}
    given.update(zip((a.name for a in arguments), node.args, strict=False))
    given.update(node.kwargs)
    return given


def _axes(node: Any, given: dict[str, Any], window: Any) -> list[_Axis]:
    result = node.meta["val"]
    outputs = (result[0] if isinstance(result, (list, tuple)) else result).shape
    dims = _dims(node)
    kernel = _each(window, dims)
    strides = _each(given["stride"] or kernel, dims)
    dilation = _each(given.get("dilation", 1), dims)
    padding = _each(given["padding"], dims)
    return [
        _Axis(size, pad, count, (count - 1) * stride + (length - 1) * step + 1)
        for size, pad, count, stride, length, step in zip(
            node.args[0].meta["val"].shape[-dims:], padding, outputs[-dims:],
            strides, kernel, dilation, strict=True,
        )
    ]  # fmt: skip


def _dims(node: Any) -> int:
    """The dimensions of a pool's or a convolution's windows."""
    digits = [int(c) for c in str(node.target) if c.isdigit()]
    return digits[0] if digits else len(node.args[1].meta["val"].shape) - 2


def _each(value: Any, dims: int) -> list[int]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * dims if len(values) == 1 else values


def _fit(graph: Any, node: Any, given: dict[str, Any], axes: list[_Axis], value: float) -> bool:
    """Gives the operand just the elements that windows cover, along dimensions that need it; says if any do."""
    import torch

    operand = node.args[0]
    pads: list[int] = []
    padding = [axis.padding for axis in axes]
    for index, axis in enumerate(axes):
        if axis.over >= 0 and not (axis.over and axis.outputs == 1):
            pads = [0, 0, *pads]
            continue
        kept = axis.covered - axis.padding
        operand = _sliced(graph, node, operand, index - len(axes), kept)
        pads = [axis.padding, max(kept - axis.size, 0), *pads]
        padding[index] = 0
    if any(pads):
        pad = torch.ops.aten.constant_pad_nd.default
        operand = call(graph, node, pad, (operand, pads, value))
    given |= {node.target._schema.arguments[0].name: operand, "padding": padding}
    return operand is not node.args[0]


def _sliced(graph: Any, node: Any, operand: Any, axis: int, size: int) -> Any:
    import torch

    if size >= operand.meta["val"].shape[axis]:
        return operand
    return call(graph, node, torch.ops.aten.slice.Tensor, (operand, axis, 0, size))


def call(graph: Any, node: Any, op: Any, args: tuple[Any, ...], **settings: Any) -> Any:
    """Adds an op before `node`, which says that it comes from the same line; settings are no tensors."""
    import torch

    with graph.inserting_before(node):
        made = graph.call_function(op, args, settings)
    made.meta = {key: item for key, item in node.meta.items() if key != "tensor_meta"}
    made.meta["val"] = op(*torch.fx.map_arg(args, lambda operand: operand.meta["val"]), **settings)
    return made


def replace_parts(graph: Any, node: Any, parts: Sequence[Any]) -> None:
    """Gives those who read one of an op's several results this one instead, and removes the op."""
    for user in list(node.users):
        user.replace_all_uses_with(parts[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)


def _replace(node: Any, given: dict[str, Any]) -> None:
    node.args = tuple(given[argument.name] for argument in node.target._schema.arguments)
    node.kwargs = {}
