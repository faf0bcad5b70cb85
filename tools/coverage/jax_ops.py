"""JAX ops, each as a function of one f32 array."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from op_case import OpCase

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import jax as frontend
from bmc.frontends.options import ImportOptions

_SHAPE = (1, 8, 8, 4)


def _weight(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32) * np.float32(0.3)


def _conv(x: Any, *shape: int, **options: Any) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, _weight(*shape), (1, 1), "SAME", dimension_numbers=numbers, **options
    )


def _window(x: Any, first: float, op: Any) -> Any:
    return lax.reduce_window(x, first, op, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


# Name below jax. -> a function of one image, NHWC.
_OPS: dict[str, Callable[[Any], Any]] = {
    "image.resize (bilinear)": lambda x: jax.image.resize(x, (1, 16, 16, 4), "bilinear"),
    "lax.argmax": lambda x: lax.argmax(x, 3, jnp.int32),
    "lax.associative_scan": lambda x: lax.associative_scan(jnp.add, x, axis=1),
    "lax.batch_matmul": lambda x: lax.batch_matmul(x, x.swapaxes(2, 3)),
    "lax.bitcast_convert_type": lambda x: lax.bitcast_convert_type(x, jnp.int32),
    "lax.broadcast_in_dim": lambda x: lax.broadcast_in_dim(x[0], (2, 8, 8, 4), (1, 2, 3)),
    "lax.cbrt": lax.cbrt,
    "lax.clamp": lambda x: lax.clamp(-0.5, x, 0.5),
    "lax.cond": lambda x: lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, x),
    "lax.conv_general_dilated": lambda x: _conv(x, 3, 3, 4, 8),
    "lax.conv_general_dilated (depthwise)": lambda x: _conv(
        x, 3, 3, 1, 4, feature_group_count=4
    ),
    "lax.conv_general_dilated (dilated)": lambda x: _conv(x, 3, 3, 4, 8, rhs_dilation=(2, 2)),
    "lax.conv_transpose": lambda x: lax.conv_transpose(x, _weight(2, 2, 4, 8), (2, 2), "SAME"),
    "lax.cumsum": lambda x: lax.cumsum(x, 1),
    "lax.dot_general": lambda x: lax.dot_general(x, _weight(4, 5), (((3,), (0,)), ((), ()))),
    "lax.dynamic_slice": lambda x: lax.dynamic_slice(
        x, (0, (x[0, 0, 0, 0] > 0).astype(int), 2, 0), (1, 4, 4, 4)
    ),
    "lax.dynamic_update_slice": lambda x: lax.dynamic_update_slice(x, x[:, :2] * 2, (0, 3, 0, 0)),
    "lax.erf": lax.erf,
    "lax.exp": lax.exp,
    "lax.expm1": lax.expm1,
    "lax.fft": lambda x: lax.fft(x, "rfft", (4,)).real,
    "lax.fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, y: y * 0.5 + i, x),
    "lax.gather": lambda x: x[:, jnp.array([3, 1, 0])],
    "lax.igamma": lambda x: lax.igamma(jnp.abs(x) + 1, jnp.abs(x)),
    "lax.iota": lambda x: x + lax.broadcasted_iota(jnp.float32, _SHAPE, 1),
    "lax.is_finite": lax.is_finite,
    "lax.lgamma": lambda x: lax.lgamma(jnp.abs(x) + 0.5),
    "lax.linalg.cholesky": lambda x: lax.linalg.cholesky(
        x[0, 0].T @ x[0, 0] + jnp.eye(4, dtype=jnp.float32)
    ),
    "lax.linalg.triangular_solve": lambda x: lax.linalg.triangular_solve(
        jnp.tril(x[0, 0, :4]) + 3 * jnp.eye(4, dtype=jnp.float32), x[0, 1, :4], left_side=True
    ),
    "lax.log1p": lambda x: lax.log1p(jnp.abs(x)),
    "lax.map": lambda x: lax.map(lambda y: y * 2 + 1, x[0]),
    "lax.pad": lambda x: lax.pad(x, 0.0, ((0, 0, 0), (1, 2, 0), (0, 0, 1), (0, 0, 0))),
    "lax.population_count": lambda x: lax.population_count(jnp.abs(x * 100).astype(jnp.int32)),
    "lax.reduce_precision": lambda x: lax.reduce_precision(x, 5, 10),
    "lax.reduce_window (max)": lambda x: _window(x, -jnp.inf, lax.max),
    "lax.reduce_window (sum)": lambda x: _window(x, 0.0, lax.add),
    "lax.rem": lambda x: lax.rem(x, jnp.full_like(x, 0.3)),
    "lax.rev": lambda x: lax.rev(x, (1, 2)),
    "lax.scan": lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c), x[0, 0], x[0]),
    "lax.scatter_add": lambda x: x.at[:, jnp.array([3, 1])].add(1.0),
    "lax.select": lambda x: lax.select(x > 0, x, x * 2),
    "lax.sort": lambda x: lax.sort(x, dimension=2),
    "lax.switch": lambda x: lax.switch(
        (x.sum() > 0).astype(int), [lambda y: y + 1, lambda y: y * 3], x
    ),
    "lax.top_k": lambda x: lax.top_k(x, 2),
    "lax.while_loop": lambda x: lax.while_loop(lambda y: y.sum() < 50, lambda y: y + 1, x),
    "nn.gelu": jax.nn.gelu,
    "nn.log_softmax": jax.nn.log_softmax,
    "nn.one_hot": lambda x: jax.nn.one_hot(jnp.argmax(x, 3), 4),
    "nn.relu": jax.nn.relu,
    "nn.silu": jax.nn.silu,
    "nn.softmax": jax.nn.softmax,
    "nn.softplus": jax.nn.softplus,
    "numpy.abs": jnp.abs,
    "numpy.arctan2": lambda x: jnp.arctan2(x, x[:, ::-1]),
    "numpy.argsort": lambda x: jnp.argsort(x, axis=2),
    "numpy.concatenate": lambda x: jnp.concatenate([x, x * 2], 3),
    "numpy.cos": jnp.cos,
    "numpy.einsum": lambda x: jnp.einsum("bhwc,bhwd->bcd", x, x),
    "numpy.floor": jnp.floor,
    "numpy.fft.rfft": lambda x: jnp.abs(jnp.fft.rfft(x, axis=2)),
    "numpy.linalg.inv": lambda x: jnp.linalg.inv(
        x[0, 0, :4] + 5 * jnp.eye(4, dtype=jnp.float32)
    ),
    "numpy.linalg.norm": lambda x: jnp.linalg.norm(x, axis=3),
    "numpy.log": lambda x: jnp.log(jnp.abs(x) + 1),
    "numpy.matmul": lambda x: x @ x.swapaxes(2, 3),
    "numpy.max": lambda x: jnp.max(x, axis=(1, 2)),
    "numpy.maximum": lambda x: jnp.maximum(x, x[:, ::-1]),
    "numpy.mean": lambda x: jnp.mean(x, axis=(1, 2)),
    "numpy.mod": lambda x: jnp.mod(x, 0.3),
    "numpy.nonzero": lambda x: jnp.nonzero(x > 0, size=8)[1],
    "numpy.pad (reflect)": lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), "reflect"),
    "numpy.power": lambda x: jnp.power(jnp.abs(x) + 0.1, 1.5),
    "numpy.prod": lambda x: jnp.prod(x, axis=3),
    "numpy.repeat": lambda x: jnp.repeat(x, 2, axis=1),
    "numpy.reshape": lambda x: jnp.reshape(x, (4, 64)),
    "numpy.round": jnp.round,
    "numpy.sign": jnp.sign,
    "numpy.sin": jnp.sin,
    "numpy.sqrt": lambda x: jnp.sqrt(jnp.abs(x)),
    "numpy.take_along_axis": lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis=2), axis=2),
    "numpy.tanh": jnp.tanh,
    "numpy.tile": lambda x: jnp.tile(x, (1, 2, 1, 3)),
    "numpy.transpose": lambda x: jnp.transpose(x, (0, 3, 1, 2)),
    "numpy.tril": jnp.tril,
    "numpy.var": lambda x: jnp.var(x, axis=(1, 2)),
    "numpy.where": lambda x: jnp.where(x > 0, x, x * 2),
    "random.normal": lambda x: x + jax.random.normal(jax.random.key(0), _SHAPE),
    "vmap": jax.vmap(lambda y: y @ y.swapaxes(1, 2)),
}  # fmt: skip


def cases() -> Iterator[OpCase]:
    """Yields every op once."""
    for op, function in _OPS.items():
        yield OpCase(op, "f32", functools.partial(_load, function))


def _load(function: Callable[[Any], Any], out: Path) -> ImportedModel:
    def call(x: Any) -> Any:
        return function(x)

    x = np.random.default_rng(0).standard_normal(_SHAPE).astype(np.float32)
    results = jax.tree_util.tree_leaves(jax.eval_shape(call, x))
    model = spec.ModelSpec(
        module=call,
        cases=((x,),),
        tolerance=tuple(
            spec.Tolerance(1e-4, 1e-4) if np.dtype(result.dtype).kind == "f" else spec.Exact()
            for result in results
        ),
    )
    return frontend.import_spec(model, f"{__file__}:cases", ImportOptions(), out)
