"""Makes constants of tensors without elements, whatever computes them, because torch-mlir does not know all that does.

It also divides by a negative number for the variance of no elements, which is no number.
"""

from __future__ import annotations

import operator
from typing import Any

from bmc.frontends.torch_windows import arguments

_DEVIATIONS = ("std", "std_mean", "var", "var_mean")


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program."""
    import torch

    for node in program.graph.nodes:
        if node.op != "call_function":
            continue
        value = node.meta.get("val")
        packet: Any = getattr(node.target, "overloadpacket", None)
        if _is_empty(value) and not _is_token(node):
            node.target, node.args = torch.ops.aten.full.default, (list(value.shape), 0)
            node.kwargs = {"dtype": value.dtype, "device": value.device}
        elif getattr(packet, "__name__", "") in _DEVIATIONS and _is_empty(node.args[0].meta["val"]):
            given = arguments(node)
            node.target, node.args = packet.correction, (given["self"], given.get("dim"))
            node.kwargs = {"correction": 0, "keepdim": given.get("keepdim", False)}
    program.graph.eliminate_dead_code()
    program.graph_module.recompile()


def _is_token(node: Any) -> bool:
    """Whether a node is the order of ops with side effects, which torch.export writes as a tensor."""
    import torch

    return bool(
        node.target is operator.getitem
        and node.args[0].target is torch.ops.higher_order.with_effects
    )


def _is_empty(value: Any) -> bool:
    import torch

    if not isinstance(value, torch.Tensor):
        return False
    # Nobody knows yet whether a size that depends on data is 0.
    return all(isinstance(size, int) for size in value.shape) and 0 in value.shape
