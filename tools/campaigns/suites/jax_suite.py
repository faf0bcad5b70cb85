"""JAX's harnesses: functions of lax and jax.numpy with the arguments that its own conversions are tested with."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from case import Case
from jax._src import xla_bridge
from jax._src.internal_test_util import test_harnesses

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.frontends import jax as frontend
from bmc.frontends.options import ImportOptions

_PARENTS: list[Any] = []
_LONGEST = 40
_RANDOM = ("random_", "rng_")
# By bytes of a real number: what sums of a hundred terms in another order may differ by.
_CLOSE = {
    2: spec.Tolerance(2e-2, 2e-2),
    4: spec.Tolerance(1e-4, 1e-4),
    8: spec.Tolerance(1e-8, 1e-8),
}


def enter() -> None:
    """Gives a forked process a runtime of its own: the threads of its parent's are not there."""
    # Nothing may end it, because that would wait for its threads.
    _PARENTS.append(dict(xla_bridge._backends))
    xla_bridge._clear_backends()
    jax.clear_caches()


def cases() -> Iterator[Case]:
    """Yields what JAX implements on CPUs."""
    for harness in test_harnesses.all_harnesses:
        if harness.filter("cpu"):
            yield Case(
                harness.group_name,
                np.dtype(harness.dtype).name,
                _name(harness.fullname),
                functools.partial(_load, harness),
                "random" if harness.group_name.startswith(_RANDOM) else "",
            )


def _name(full: str) -> str:
    """Returns a name of at most 49 characters: JAX's own have up to 350."""
    return full if len(full) <= _LONGEST else f"{full[:_LONGEST]}_{zlib.crc32(full.encode()):08x}"


def _load(harness: Any, out: Path) -> ImportedModel:
    def call(*given: Any) -> Any:
        return harness.dyn_fun(*given)

    rng = np.random.RandomState(zlib.crc32(harness.fullname.encode()))
    # Doubles and long integers are what JAX makes of them when it is called.
    given = tuple(np.asarray(jax.numpy.asarray(value)) for value in harness.dyn_args_maker(rng))
    results = jax.tree_util.tree_leaves(jax.eval_shape(call, *given))
    model = spec.ModelSpec(
        module=call,
        cases=(given,),
        tolerance=tuple(_policy(np.dtype(result.dtype)) for result in results),
    )
    return frontend.import_spec(model, f"{__file__}:cases", ImportOptions(), out)


def _policy(dtype: np.dtype[Any]) -> spec.Policy:
    if not jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return spec.Exact()
    return _CLOSE[dtype.itemsize // (2 if dtype.kind == "c" else 1)]
