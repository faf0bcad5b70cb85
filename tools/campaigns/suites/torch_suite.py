"""PyTorch's OpInfo and ModuleInfo: its operators and modules with the samples that it tests itself with."""

from __future__ import annotations

import functools
import itertools
import random
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import torch
from case import NO_CASE, Case, OutsideError
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

from bmc import spec
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import torch as frontend
from bmc.frontends.options import ImportOptions

# Of each operator and dtype, this many samples of the first ones; of each operator, this many dtypes, f32 among them.
_SAMPLES, _FIRST, _DTYPES = 2, 12, 3
_REAL = (
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
)  # fmt: skip
_RANDOM = re.compile(
    r"bernoulli|cauchy|dropout|empty|exponential|geometric|log_normal|multinomial|normal_|^normal|poisson|rand|rrelu"
    r"|uniform|Dropout|RReLU|fractional_max|FractionalMax"
)
_CLOSE = {
    2: spec.Tolerance(2e-2, 2e-2),
    4: spec.Tolerance(1e-4, 1e-4),
    8: spec.Tolerance(1e-7, 1e-7),
}


def enter() -> None:
    """PyTorch's threads do not survive a fork, so there is one."""
    torch.set_num_threads(1)


def cases() -> Iterator[Case]:
    """Yields the samples of each operator, then of each module."""
    enter()
    for kind, table in (("op", op_db), ("module", module_db)):
        for info in table:
            title = info.formatted_name
            outside = "random" if _RANDOM.search(info.name) else ""
            for dtype in _some(title, [dtype for dtype in _REAL if dtype in info.dtypes]):
                short = str(dtype).removeprefix("torch.")
                for number in range(_SAMPLES):
                    name = f"{kind}/{title}/{short}/{number}"
                    load = functools.partial(_load, info, kind, dtype, number, name)
                    yield Case(info.name, short, name, load, outside)


def _some(title: str, dtypes: Sequence[torch.dtype]) -> list[torch.dtype]:
    if len(dtypes) <= _DTYPES:
        return list(dtypes)
    return [dtypes[0], *random.Random(title).sample(list(dtypes[1:]), _DTYPES - 1)]


class _Function(torch.nn.Module):  # type: ignore[misc]
    """A function of the tensors among some arguments; the others are constants."""

    def __init__(self, function: Callable[..., Any], arguments: Any) -> None:
        super().__init__()
        if isinstance(function, torch.nn.Module):
            self.inner = function
        self.function = function
        self.leaves, self.spec = pytree.tree_flatten(arguments)
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]
        self.given = tuple(self.leaves[place].detach() for place in self.places)
        self.leaves = [None if i in self.places else leaf for i, leaf in enumerate(self.leaves)]

    def forward(self, *tensors: torch.Tensor) -> Any:
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        results = pytree.tree_leaves(self.function(*args, **kwargs))
        return tuple(result for result in results if isinstance(result, torch.Tensor))


def _sample(info: Any, kind: str, dtype: torch.dtype, number: int, name: str) -> _Function:
    torch.manual_seed(zlib.crc32(name.encode()))
    options = {"device": "cpu", "dtype": dtype, "requires_grad": False}
    if kind == "op":
        found = list(itertools.islice(info.sample_inputs(**options), _FIRST))
    else:
        found = info.module_inputs_func(info, training=False, **options)[:_FIRST]
    chosen = sorted(
        random.Random(info.formatted_name).sample(range(len(found)), min(_SAMPLES, len(found)))
    )
    if number >= len(chosen):
        raise OutsideError(NO_CASE)
    sample = found[chosen[number]]
    if kind == "op":
        return _Function(info.op, ((sample.input, *sample.args), sample.kwargs))
    made, given = sample.constructor_input, sample.forward_input
    if given is None:
        raise OutsideError(NO_CASE)
    module = info.module_cls(*made.args, **made.kwargs).to(dtype).eval()
    return _Function(module, (tuple(given.args), given.kwargs))


def _load(
    info: Any, kind: str, dtype: torch.dtype, number: int, name: str, out: Path
) -> ImportedModel:
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        function = _sample(info, kind, dtype, number, name)
        try:
            expected = function(*(tensor.clone() for tensor in function.given))
        except (AssertionError, RuntimeError) as error:
            raise OutsideError("PyTorch itself refuses copies of the arguments") from error
        if not expected:
            raise OutsideError("no tensor among the results")
        if any(result.layout != torch.strided for result in expected):
            raise OutsideError("sparse tensors")
        if any(result.is_complex() for result in (*expected, *function.given)):
            raise OutsideError("complex numbers")
        model = spec.ModelSpec(
            module=function,
            cases=(tuple(map(_array, function.given)),),
            tolerance=tuple(_policy(result) for result in expected),
        )
        try:
            return frontend.import_spec(model, f"{__file__}:cases", ImportOptions(), out)
        except BmcError as error:
            if not _exports(function):
                raise OutsideError("torch.export refuses it") from error
            raise


def _array(tensor: torch.Tensor) -> Any:
    if tensor.layout != torch.strided:
        raise OutsideError("sparse tensors")
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.contiguous().numpy()


def _policy(result: torch.Tensor) -> spec.Policy:
    return _CLOSE[result.dtype.itemsize] if result.is_floating_point() else spec.Exact()


def _exports(function: _Function) -> bool:
    try:
        torch.export.export(function, function.given, strict=False)
    except Exception:
        return False
    return True
