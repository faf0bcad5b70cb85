"""Computes with complex numbers of PyTorch as pairs of floats, because torch-mlir and IREE have few ops on them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op, which leave ops on real numbers as they are."""
    import torch

    aten = torch.ops.aten
    functions: dict[Any, Callable[..., Any]] = {
        aten.abs.default: lambda z: magnitude(z.real, z.imag),
        aten.add.Tensor: functools.partial(_total, 1),
        aten.sub.Tensor: functools.partial(_total, -1),
        aten.neg.default: lambda z: torch.complex(-z.real, -z.imag),
        aten.where.self: _chosen,
        aten._conj.default: _conjugate,
        aten._conj_physical.default: _conjugate,
        aten.conj_physical.default: _conjugate,
        aten.exp.default: _exp,
        aten.mul.Tensor: _product,
        aten.div.Tensor: _quotient,
        aten.mm.default: functools.partial(_product_of_matrices, torch.mm),
        aten.bmm.default: functools.partial(_product_of_matrices, torch.bmm),
        aten.sum.default: functools.partial(_reduced, torch.sum),
        aten.sum.dim_IntList: functools.partial(_reduced, torch.sum),
        aten.mean.default: functools.partial(_reduced, torch.mean),
        aten.mean.dim: functools.partial(_reduced, torch.mean),
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


def _if_complex(function: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    import torch

    def is_complex(value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return bool(value.is_complex())
        return isinstance(value, complex)

    if not any(map(is_complex, operands)):
        return NotImplemented
    return function(*operands, **options)


def _parts(z: Any) -> tuple[Any, Any]:
    """Returns the real and imaginary part; a real number has 0.0 as the latter."""
    import torch

    if isinstance(z, torch.Tensor):
        return (z.real, z.imag) if z.is_complex() else (z, 0.0)
    return (z.real, z.imag) if isinstance(z, complex) else (z, 0.0)


def _joined(real: Any, imaginary: Any) -> Any:
    """Returns complex numbers of parts of which one may be a number, or have fewer elements."""
    import torch

    tensor = real if isinstance(real, torch.Tensor) else imaginary
    parts = [
        part if isinstance(part, torch.Tensor) else torch.full_like(tensor, part)
        for part in (real, imaginary)
    ]
    return torch.complex(*torch.broadcast_tensors(*parts))


def magnitude(real: Any, imaginary: Any) -> Any:
    """Returns the root of the sum of two squares. It divides by the larger one, because squares overflow."""
    import torch

    real, imaginary = real.abs(), imaginary.abs()
    large, small = torch.maximum(real, imaginary), torch.minimum(real, imaginary)
    ratio = small / torch.where(large == 0, 1.0, large)
    found = large * (1 + ratio * ratio).sqrt()
    return torch.where(real.isinf() | imaginary.isinf(), math.inf, found)


def _conjugate(z: Any) -> Any:
    import torch

    return torch.complex(z.real, -z.imag)


def _exp(z: Any) -> Any:
    import torch

    size = z.real.exp()
    return torch.complex(size * z.imag.cos(), size * z.imag.sin())


def _product(first: Any, second: Any) -> Any:
    (a, b), (c, d) = _parts(first), _parts(second)
    return _joined(a * c - b * d, a * d + b * c)


def _product_of_matrices(product: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    import torch

    a, b, c, d = first.real, first.imag, second.real, second.imag
    return torch.complex(product(a, c) - product(b, d), product(a, d) + product(b, c))


def _reduced(reduce: Callable[..., Any], z: Any, *options: Any, dtype: Any = None) -> Any:
    import torch

    if dtype not in (None, z.dtype):
        return NotImplemented
    return torch.complex(reduce(z.real, *options), reduce(z.imag, *options))


def _total(sign: int, first: Any, second: Any, *, alpha: Any = 1) -> Any:
    (a, b), (c, d) = _parts(first), _parts(_product(second, alpha) if alpha != 1 else second)
    return _joined(a + sign * c, b + sign * d)


def _chosen(condition: Any, first: Any, second: Any) -> Any:
    import torch

    (a, b), (c, d) = _parts(first), _parts(second)
    return _joined(torch.where(condition, a, c), torch.where(condition, b, d))


def _quotient(first: Any, second: Any) -> Any:
    """Divides by the larger part of a complex divisor first, because squares overflow, or become zero."""
    import torch

    if isinstance(second, complex):
        return _product(first, 1 / second)
    (a, b), (c, d) = _parts(first), _parts(second)
    if not second.is_complex():
        return _joined(a / c, b / c)
    scale = torch.maximum(c.abs(), d.abs())
    c, d = c / scale, d / scale
    size = (c * c + d * d) * scale
    return _joined((a * c + b * d) / size, (b * c - a * d) / size)
