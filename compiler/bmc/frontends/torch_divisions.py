"""Divides as PyTorch does, which torch-mlir's StableHLO does not.

- A remainder has the sign of the divisor. It gets that of the dividend.
- A quotient of integers that is rounded down is computed in floats, which do not have all integers.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends.torch_windows import arguments, call


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    quotients = (aten.div.Tensor_mode, aten.div.Scalar_mode, aten.floor_divide.default)
    for node in list(program.graph.nodes):
        if node.target in (aten.remainder.Tensor, aten.remainder.Scalar):
            made = _remainder(program.graph, node)
        elif node.target in quotients and _rounds_integers_down(node):
            made = _quotient(program.graph, node)
        else:
            continue
        node.replace_all_uses_with(made)
        program.graph.erase_node(node)


def _rounds_integers_down(node: Any) -> bool:
    value = node.meta["val"]
    rounds = arguments(node).get("rounding_mode", "floor")
    return bool(rounds == "floor" and not value.is_floating_point())


def _remainder(graph: Any, node: Any) -> Any:
    """Adds the divisor to a remainder that has another sign."""
    import torch

    aten = torch.ops.aten
    x, divisor = node.args
    rest = call(graph, node, node.target, (x, divisor))
    plus = aten.add.Tensor if isinstance(divisor, torch.fx.Node) else aten.add.Scalar
    corrected = call(graph, node, plus, (rest, divisor))
    differs = _differs(graph, node, rest, divisor)
    return call(graph, node, aten.where.self, (differs, corrected, rest))


def _quotient(graph: Any, node: Any) -> Any:
    """Rounds towards zero, which torch-mlir does with integers, and subtracts 1 where that is not down."""
    import torch

    aten = torch.ops.aten
    x, divisor = node.args[:2]
    is_tensor = isinstance(divisor, torch.fx.Node)
    dtype = node.meta["val"].dtype
    x = call(graph, node, aten.to.dtype, (x, dtype))
    if is_tensor:
        divisor = call(graph, node, aten.to.dtype, (divisor, dtype))
    mode = aten.div.Tensor_mode if is_tensor else aten.div.Scalar_mode
    with graph.inserting_before(node):
        whole = graph.call_function(mode, (x, divisor), {"rounding_mode": "trunc"})
    whole.meta = dict(node.meta)
    times = aten.mul.Tensor if is_tensor else aten.mul.Scalar
    product = call(graph, node, times, (whole, divisor))
    rest = call(graph, node, aten.sub.Tensor, (x, product))
    differs = _differs(graph, node, rest, divisor)
    less = call(graph, node, aten.sub.Scalar, (whole, 1))
    return call(graph, node, aten.where.self, (differs, less, whole))


def _differs(graph: Any, node: Any, rest: Any, divisor: Any) -> Any:
    """Where a remainder is not zero and has another sign than the divisor."""
    import torch

    aten = torch.ops.aten
    if not isinstance(divisor, torch.fx.Node):
        test = aten.lt.Scalar if divisor > 0 else aten.gt.Scalar
        return call(graph, node, test, (rest, 0))
    signs = [call(graph, node, aten.lt.Scalar, (value, 0)) for value in (rest, divisor)]
    differs = call(graph, node, aten.ne.Tensor, tuple(signs))
    is_there = call(graph, node, aten.ne.Scalar, (rest, 0))
    return call(graph, node, aten.logical_and.default, (differs, is_there))
