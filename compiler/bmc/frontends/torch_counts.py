"""Gives outputs of PyTorch models that have no fixed size their largest size, and makes further outputs count.

torch.export's program runs with ops of fixed sizes in place of those that find elements, and is exported again. Ops
that treat each row alone may follow.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bmc import spec
from bmc.dtype import Array
from bmc.frontends import largest_sizes, quiet, torch_places

_CHECKS = (
    *("_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range_for_size", "sym_size"),
    *("eq", "ge", "gt", "le", "lt", "ne"),
)
_MOVES = (
    *("_to_copy", "alias", "clone", "contiguous", "detach", "getitem", "index", "select", "slice"),
    *("squeeze", "to", "unbind", "unsqueeze"),
)
# IREE compares each element with each in a sort.
_MOST_SORTED = 2048


@dataclass(frozen=True)
class Bounded:
    """A model whose outputs have their largest sizes.

    Attributes:
      module: torch.nn.Module; its outputs are those of the model, flat, and the counts.
      sizes: the largest number of rows of each of the model's own outputs, None for those of fixed size.
      counted: for each count, the first of the model's outputs that has as many rows.
      owners: for each of the model's own outputs, the number of its count, or -1.
    """

    module: Any
    sizes: tuple[int | None, ...]
    counted: tuple[int, ...]
    owners: tuple[int, ...]

    def padded(self, outputs: spec.Case) -> spec.Case:
        """Returns what PyTorch computes as the bounded model has it: with zeros behind it, and counts."""
        made = [
            output if size is None else _padded(output, size)
            for output, size in zip(outputs, self.sizes, strict=True)
        ]
        return (*made, *(np.array(len(outputs[place]), np.int64) for place in self.counted))

    def notes(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yields a sentence for the user for each output that has its largest size; `names` are all outputs'."""
        own = len(self.sizes)
        for place, (size, count) in enumerate(zip(self.sizes, self.owners, strict=True)):
            if size is not None:
                yield largest_sizes.note(names[place], size, 0, names[own + count])


def _padded(output: Array, size: int) -> Array:
    rows = np.zeros((size, *output.shape[1:]), output.dtype)
    rows[: len(output)] = output
    return rows


class _UnknownError(Exception):
    """An op reads rows in a way that padding would change, or is not known with a fixed size."""


def bounded(module: Any, example: tuple[Any, ...]) -> Bounded | None:
    """Returns a model with outputs of fixed sizes; None if rows that are not real would change other results.

    Args:
      module: torch.nn.Module that torch.export can export.
      example: one tensor per input.
    """
    with quiet.python(), torch.no_grad():
        try:
            graph_module = torch.export.export(module, example, strict=False).module()
        except Exception:  # Of any type; the import's own export has a sentence for it.
            return None
        try:
            found = _found(graph_module.graph)
            (leaves,) = graph_module.graph.output_node().args
            finders = [found.get(leaf) for leaf in leaves]
            counted = list(dict.fromkeys(filter(None, finders)))
            if not found:
                return None
            made = _Fixed(graph_module, finders, counted)
            results = made(*example)
        except _UnknownError:
            return None
    sizes = (
        None if finder is None else len(part)
        for part, finder in zip(results, finders, strict=False)
    )
    owners = (-1 if finder is None else counted.index(finder) for finder in finders)
    return Bounded(made, tuple(sizes), tuple(map(finders.index, counted)), tuple(owners))


def _found(graph: Any) -> dict[Any, Any]:
    """Returns the op that finds the rows, by each node that has so many rows.

    Raises:
      _UnknownError: an op does not treat each row alone.
    """
    rows: dict[Any, Any] = {}
    lengths: set[Any] = set()
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        read = {rows[each] for each in node.all_input_nodes if each in rows}
        name = torch_places.op_name(node.target) or node.target.__name__
        length = lengths.intersection(node.all_input_nodes)
        if (read or length) and name in _CHECKS and not _has_rows(node):
            lengths.add(node)
            continue
        if length or len(read) > 1:
            raise _UnknownError
        if _finder(node) is not None:
            if read:
                raise _UnknownError
            rows[node] = node
        elif read:
            (finder,) = read
            if _has_rows(node) and _is_alone(node, name):
                rows[node] = finder
            elif node.target is not operator.getitem or node.args[0] is not finder:
                raise _UnknownError
    return rows


def _has_rows(node: Any) -> bool:
    """Whether a node gives tensors of which the first size alone is not known."""
    values = node.meta.get("val")
    for value in values if isinstance(values, (list, tuple)) else [values]:
        sizes = list(getattr(value, "shape", ()))
        if not sizes or [isinstance(size, int) for size in sizes] != [False] + [True] * (
            len(sizes) - 1
        ):
            return False
        assert isinstance(sizes[0], torch.SymInt)
    return True


def _is_alone(node: Any, name: str) -> bool:
    """Whether an op whose result has rows treats each row alone."""
    if name == "slice":
        return len(node.args) > 1 and node.args[1] != 0
    return name in _MOVES or torch.Tag.pointwise in getattr(node.target, "tags", ())


class _Rows(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a program with ops of fixed sizes; `counts` has the number of real rows of each op that finds some."""

    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self.counts: dict[Any, Any] = {}

    def run_node(self, node: Any) -> Any:
        if torch_places.op_name(node.target).startswith("_assert"):
            return None
        finder = _finder(node) if node.op == "call_function" else None
        if finder is None:
            return super().run_node(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        result, self.counts[node] = finder(*args, **kwargs)
        return result


class _Fixed(torch.nn.Module):  # type: ignore[misc]
    """A program whose outputs have fixed sizes, and the counts.

    Args:
      program: torch.fx.GraphModule.
      finders: for each output, the op that finds its rows, or None.
      counted: the ops whose rows are counted.
    """

    def __init__(self, program: Any, finders: list[Any], counted: list[Any]) -> None:
        super().__init__()
        self.program, self.finders, self.counted = program, finders, counted

    def forward(self, *inputs: Any) -> tuple[Any, ...]:
        rows = _Rows(self.program)
        made = []
        results = rows.run(*inputs, enable_io_processing=False)
        for result, finder in zip(results, self.finders, strict=True):
            if finder is not None:
                real = torch.arange(len(result)) < rows.counts[finder]
                real = real.reshape(-1, *[1] * (result.ndim - 1))
                result = torch.where(real, result, torch.zeros_like(result))
            made.append(result)
        return (*made, *(rows.counts[finder] for finder in self.counted))


def _finder(node: Any) -> Callable[..., tuple[Any, Any]] | None:
    """Returns a function that computes an op's result with its largest size and the number of real rows."""
    aten = torch.ops.aten
    found: dict[Any, Callable[..., tuple[Any, Any]]] = {
        aten.argwhere.default: _nonzero,
        aten.masked_select.default: _selected,
        aten.nonzero.default: _nonzero,
        aten.nonzero_numpy.default: _nonzero_apart,
        aten.unique_consecutive.default: _unique_consecutive,
        aten._unique2.default: _unique,
        aten.where.default: _nonzero_apart,
    }
    if node.target is aten.index.Tensor:
        masks = [each for each in node.args[1] if each is not None]
        if masks[0].meta["val"].dtype in (torch.bool, torch.uint8):
            return _indexed
    return found.get(node.target)


def _front(is_found: Any) -> tuple[Any, Any]:
    """Returns the places of what is found, in order, and their count; others behind them are not real.

    Args:
      is_found: [n] bool.
    """
    size = len(is_found)
    rank = is_found.to(torch.int64).cumsum(0)
    # One more place for what is not found.
    target = torch.where(is_found, rank - 1, size)
    places = torch.zeros(size + 1, dtype=torch.int64)
    return places.scatter(0, target, torch.arange(size))[:size], rank[-1]


def _nonzero(x: Any) -> tuple[Any, Any]:
    columns, count = _nonzero_apart(x)
    return torch.stack(columns, 1), count


def _nonzero_apart(x: Any) -> tuple[list[Any], Any]:
    if not x.ndim or not x.numel():
        raise _UnknownError
    places, count = _front((x != 0).reshape(-1))
    behind = (math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim))
    return [places // step % size for step, size in zip(behind, x.shape, strict=True)], count


def _selected(x: Any, mask: Any) -> tuple[Any, Any]:
    x, mask = torch.broadcast_tensors(x, mask)
    return _indexed(x, [mask])


def _indexed(x: Any, indices: list[Any]) -> tuple[Any, Any]:
    mask = indices[0]
    if len(indices) != 1 or mask is None or not mask.numel():
        raise _UnknownError
    places, count = _front((mask != 0).reshape(-1))
    return x.reshape(-1, *x.shape[mask.ndim :])[places], count


def _unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[tuple[Any, Any, Any], Any]:
    if dim is not None or not x.numel():
        raise _UnknownError
    flat = x.reshape(-1)
    is_first = torch.cat([torch.ones(1, dtype=torch.bool), flat[1:] != flat[:-1]])
    places, count = _front(is_first)
    number = torch.arange(len(flat))
    end = torch.where(number + 1 < count, places.roll(-1), len(flat))
    inverse = (is_first.to(torch.int64).cumsum(0) - 1).reshape(x.shape)
    return (flat[places], inverse, end - places), count


def _unique(
    x: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[tuple[Any, Any, Any], Any]:
    if x.numel() > _MOST_SORTED:
        raise _UnknownError
    in_order, order = x.reshape(-1).sort(stable=True)
    (values, rank, counts), count = _unique_consecutive(in_order)
    inverse = torch.zeros_like(order).scatter(0, order, rank).reshape(x.shape)
    return (values, inverse, counts), count
