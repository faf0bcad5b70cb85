"""Computes with complex numbers of PyTorch as pairs of floats, because torch-mlir and IREE have few ops on them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op, which leave ops on real numbers as they are."""
    import torch

    aten = torch.ops.aten
    functions: dict[Any, Callable[..., Any]] = {
        aten.abs.default: _absolute,
        aten._conj.default: _conjugate,
        aten._conj_physical.default: _conjugate,
        aten.conj_physical.default: _conjugate,
        aten.angle.default: lambda z: torch.atan2(z.imag, z.real),
        aten.exp.default: _exp,
        aten.mul.Tensor: _product,
        aten.div.Tensor: _quotient,
    }
    return {op: functools.partial(_if_complex, function) for op, function in functions.items()}


def apply(program: Any) -> None:
    """Takes the parts of complex numbers from where they come from, because IREE cannot compile pairs of both."""
    import torch

    aten, graph = torch.ops.aten, program.graph
    for node in list(graph.nodes):
        if (
            node.target is not aten.select.int
            or node.args[0].target is not aten.view_as_real.default
        ):
            continue
        pair, dim, index = node.args
        made = pair.args[0]
        if (
            made.target is aten.complex.default
            and dim % pair.meta["val"].ndim == made.meta["val"].ndim
        ):
            part = made.args[index]
            if part.meta["val"].shape == node.meta["val"].shape:
                node.replace_all_uses_with(part)
                graph.erase_node(node)
    graph.eliminate_dead_code()


def _if_complex(function: Callable[..., Any], *operands: Any) -> Any:
    import torch

    tensors = [each for each in operands if isinstance(each, torch.Tensor)]
    return function(*operands) if any(map(torch.is_complex, tensors)) else NotImplemented


def _parts(z: Any) -> tuple[Any, Any]:
    """Returns the real and imaginary part; a real number has 0.0 as the latter."""
    import torch

    if isinstance(z, torch.Tensor):
        return (z.real, z.imag) if z.is_complex() else (z, 0.0)
    return (z.real, z.imag) if isinstance(z, complex) else (z, 0.0)


def _absolute(z: Any) -> Any:
    """Divides by the larger part, because squares overflow."""
    import torch

    real, imaginary = z.real.abs(), z.imag.abs()
    large, small = torch.maximum(real, imaginary), torch.minimum(real, imaginary)
    ratio = small / torch.where(large == 0, 1.0, large)
    return large * (1 + ratio * ratio).sqrt()


def _conjugate(z: Any) -> Any:
    import torch

    return torch.complex(z.real, -z.imag)


def _exp(z: Any) -> Any:
    import torch

    size = z.real.exp()
    return torch.complex(size * z.imag.cos(), size * z.imag.sin())


def _product(first: Any, second: Any) -> Any:
    import torch

    (a, b), (c, d) = _parts(first), _parts(second)
    return torch.complex(a * c - b * d, a * d + b * c)


def _quotient(first: Any, second: Any) -> Any:
    import torch

    (a, b), (c, d) = _parts(first), _parts(second)
    size = c * c + d * d
    return torch.complex((a * c + b * d) / size, (b * c - a * d) / size)
