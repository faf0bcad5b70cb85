"""Makes reductions of half floats ones of floats, and rounds their results once.

PyTorch adds up and multiplies half floats in floats. torch-mlir rounds at every step: squares overflow from 256 on, and
a sum of 2,048 ones stops to grow.
"""

from __future__ import annotations

import operator
from typing import Any

from bmc.frontends.torch_windows import call

_REDUCTIONS = (
    *("sum", "mean", "cumsum", "cumprod", "var", "var_mean"),
    *("linalg_vector_norm", "norm", "rms_norm", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
)


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    for node in list(program.graph.nodes):
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        if name not in _REDUCTIONS or node.args[0].meta["val"].dtype not in _halves():
            continue
        # A result that is to be of floats already comes from a sum of floats.
        values = node.meta["val"]
        if not isinstance(values, torch.Tensor) or values.dtype in _halves():
            _in_floats(program.graph, node)


def _halves() -> tuple[Any, ...]:
    import torch

    return torch.float16, torch.bfloat16


def _in_floats(graph: Any, node: Any) -> None:
    import torch

    to, dtype = torch.ops.aten.to.dtype, node.args[0].meta["val"].dtype
    node.args = tuple(
        call(graph, node, to, (each, torch.float32)) if isinstance(each, torch.fx.Node) else each
        for each in node.args
    )
    if "dtype" in node.kwargs:
        node.kwargs = {**node.kwargs, "dtype": torch.float32}
    readers = [user for user in node.users if user.target is operator.getitem] or [node]
    node.meta = _wide(node.meta)
    for reader in readers:
        meta = {key: item for key, item in reader.meta.items() if key != "tensor_meta"}
        reader.meta = _wide(reader.meta)
        with graph.inserting_after(reader):
            narrow = graph.call_function(to, (reader, dtype))
        narrow.meta = {**meta, "val": reader.meta["val"].to(dtype)}
        reader.replace_all_uses_with(
            narrow, delete_user_cb=lambda user, made=narrow: user is not made
        )


def _wide(meta: dict[str, Any]) -> dict[str, Any]:
    import torch

    value = torch.utils._pytree.tree_map(lambda each: each.to(torch.float32), meta["val"])
    return {**{key: item for key, item in meta.items() if key != "tensor_meta"}, "val": value}
