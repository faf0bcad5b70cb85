"""PyTorch's float ops: with oneDNN's kernels, with PyTorch's own, and in f64."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from subject import Subject

from bmc.dtype import Array

_IMAGE, _ROWS = (1, 16, 12, 12), (8, 128)
_aten = torch.ops.aten


def _weight(*shape: int) -> Any:
    array = np.random.default_rng(1).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return torch.from_numpy(array)


def _convolution(x: Any, weight: Any, *, groups: int = 1, transposed: bool = False) -> Any:
    pads = [0, 0] if transposed else [1, 1]
    zeros, ones = [0, 0], [1, 1]
    return _aten.convolution(
        x, weight.to(x.dtype), None, ones, pads, ones, transposed, zeros, groups
    )


def _product(x: Any, *shape: int) -> Any:
    return _weight(*shape).T.to(x.dtype)


# Op, as torch-mlir gets it, the shape of its input, and the op. All that only move or choose values are left out.
_OPS: tuple[tuple[str, tuple[int, ...], Callable[[Any], Any]], ...] = (
    *((op, _ROWS, getattr(torch, op)) for op in (
        "cos", "erf", "exp", "expm1", "reciprocal", "sigmoid", "sin", "tanh",
    )),
    *((op, _ROWS, lambda x, op=op: getattr(torch, op)(x.abs() + 0.1)) for op in (
        "log", "log1p", "log2", "rsqrt", "sqrt",
    )),
    *((op, _ROWS, getattr(torch.nn.functional, op)) for op in (
        "elu", "gelu", "hardsigmoid", "hardswish", "mish", "selu", "silu", "softplus",
    )),
    ("pow", _ROWS, lambda x: x**2.5),
    ("div", _ROWS, lambda x: x / (_weight(128) + 3).to(x.dtype)),
    ("_softmax", _ROWS, lambda x: torch.softmax(x, 1)),
    ("_log_softmax", _ROWS, lambda x: torch.log_softmax(x, 1)),
    ("cumsum", _ROWS, lambda x: torch.cumsum(x, 1)),
    ("mean", _ROWS, lambda x: torch.mean(x, 1)),
    ("sum", _ROWS, lambda x: torch.sum(x, 1)),
    ("var", _ROWS, lambda x: torch.var(x, 1)),
    ("linalg_vector_norm", _ROWS, lambda x: torch.linalg.vector_norm(x, dim=1)),
    ("logsumexp", _ROWS, lambda x: torch.logsumexp(x, 1)),
    ("avg_pool2d", _IMAGE, lambda x: torch.nn.functional.avg_pool2d(x, 3)),
    ("native_layer_norm", _ROWS, lambda x: torch.nn.functional.layer_norm(x, (128,))),
    ("native_group_norm", _IMAGE, lambda x: torch.nn.functional.group_norm(x, 4)),
    ("convolution", _IMAGE, lambda x: _convolution(x, _weight(32, 16, 3, 3))),
    ("convolution", _IMAGE, lambda x: _convolution(x, _weight(16, 1, 3, 3), groups=16)),
    ("convolution", _IMAGE, lambda x: _convolution(x, _weight(16, 8, 3, 3), transposed=True)),
    ("mm", _ROWS, lambda x: x @ _product(x, 64, 128)),
    ("addmm", _ROWS, lambda x: torch.addmm(_weight(64).to(x.dtype), x, _product(x, 64, 128))),
    ("bmm", (4, 8, 128), lambda x: torch.bmm(x, x.mT)),
)  # fmt: skip


def subjects() -> Iterator[Subject]:
    """Yields every op of the table."""
    for op, shape, function in _OPS:
        kernels = [functools.partial(_run, function, mkldnn) for mkldnn in (True, False)]
        yield Subject(op, shape, (*kernels, functools.partial(_exactly, function)))


def _run(function: Callable[[Any], Any], mkldnn: bool, x: Array) -> Array:
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=mkldnn):
        result: Array = function(torch.from_numpy(x)).numpy()
    return result


def _exactly(function: Callable[[Any], Any], x: Array) -> Array:
    with torch.no_grad():
        result: Array = function(torch.from_numpy(x.astype(np.float64))).numpy()
    return result
