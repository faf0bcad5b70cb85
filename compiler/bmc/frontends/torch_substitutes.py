"""Replaces ops that torch-mlir lowers wrongly or not at all.

- A depthwise transposed convolution cannot become linalg. It is a convolution of the operand with zeros between and
  around its elements.
- A roll by more than a dimension's size takes the elements from the wrong places, one of all elements has no lowering,
  and one that moves nothing has parts of no elements, on which IREE's reshapes fail.
- A maximum pooling of small integers crashes torch-mlir. Floats have all these numbers.
- In linalg, GELU's approximation by tanh has 0.797724 for the root of 2 / pi, which shows in the fourth digit.
- The largest of truth values begins with true, the least of a signed bit, and the largest of unsigned bytes with 128.
  Integers have a number below all of these.
- In linalg, it negates integers as floats, which do not have all of them.
- In linalg, it sorts unsigned bytes as signed ones.
- It does not know stable sorts. All sorts are stable here (rewrites/meaning/stable_sorts.py, tm_tensor.py).
- In linalg, it leaves logarithms of base 10 to a function that IREE's library lacks.
- Powers of 0.5 and -0.5 are roots in PyTorch, and not what C has for -inf and -0.
- Its logcumsumexp is the logarithm of a sum that overflows from 89 on.
- An RMS norm without an epsilon has the distance from 1 to the next number, and not 0.
- It cannot join tensors of which one is a buffer without elements, and does not know all ops that make such
  (torch_empty.py).
- It compares a tensor with bounds of another type as they are, and copies signs to integers.
- It rounds half floats to decimals by way of products that overflow.
- A place of a grid that is no number is the first one in PyTorch, where places beyond the image are moved into it.
- A randomized leaky ReLU draws random numbers in training only. Otherwise it has their mean.
- torch_writes.py replaces writes to a part of a tensor, torch_indices.py changes indices, torch_divisions.py divides
  integers, torch_shifts.py shifts them, torch_halves.py adds up half floats, torch_adaptive.py pools uneven windows,
  torch_scalars.py gives tensors a dimension, torch_medians.py sorts for medians, and torch_bytes.py changes what else
  crashes it for bytes.
"""

from __future__ import annotations

import math
from typing import Any

from bmc.frontends import (
    torch_adaptive,
    torch_bytes,
    torch_complex,
    torch_divisions,
    torch_empty,
    torch_halves,
    torch_indices,
    torch_medians,
    torch_scalars,
    torch_shifts,
    torch_writes,
)
from bmc.frontends.torch_windows import arguments, call, replace_parts

_ROOTS = (-0.5, 0.5)
# PyTorch's numbers of a grid sampler's paddings.
_ZEROS, _REFLECTION = 0, 2


def prepare(program: Any) -> None:
    """Changes ops of a torch.export program that PyTorch itself writes with others."""
    import torch

    torch_empty.apply(program)
    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.grid_sampler.default:
            _numbers_for_places(program.graph, node)


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program."""
    import torch

    torch_empty.apply(program)  # What PyTorch has written ops with.
    torch_complex.apply(program)
    torch_scalars.apply(program)
    torch_bytes.apply(program)
    torch_medians.apply(program)
    aten = torch.ops.aten
    largest = (
        *(aten.amax.default, aten.amin.default, aten.max.default, aten.min.default),
        *(aten.max.dim, aten.min.dim),
    )
    places = (aten.argmax.default, aten.argmin.default)
    clamps = (
        *(aten.clamp.default, aten.clamp_min.default, aten.clamp_max.default),
        *(aten.clamp.Tensor, aten.clamp_min.Tensor, aten.clamp_max.Tensor),
    )
    typed = (*clamps, aten.copysign.Tensor)
    for node in list(program.graph.nodes):
        if node.target is torch.ops.aten.roll.default:
            _roll(program.graph, node)
        elif node.target is torch.ops.aten.convolution.default:
            given = arguments(node)
            if given["transposed"] and _is_depthwise(given):
                _spread(program.graph, node, given)
        elif str(node.target).startswith("aten.max_pool"):
            if node.args[0].meta["val"].dtype in (torch.int8, torch.uint8, torch.int16):
                _widened(program.graph, node, torch.float32)
        elif node.target is aten.cat.default:
            full = [each for each in node.args[0] if each.meta["val"].numel()]
            node.args = (full or node.args[0], *node.args[1:])
        elif node.target in (*largest, *places):
            if node.args[0].meta["val"].dtype in (torch.bool, torch.uint8):
                if node.target in largest:
                    _widened(program.graph, node, torch.int32)
                else:
                    integers = (node.args[0], torch.int32)
                    first = call(program.graph, node, aten.to.dtype, integers)
                    node.args = (first, *node.args[1:])
        elif node.target is aten.neg.default:
            # Products of unsigned bytes crash it, and floats have all of these.
            if node.meta["val"].dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
                node.target, node.args = aten.mul.Scalar, (node.args[0], -1)
                torch_bytes.widen(program.graph, node)
        elif node.target is torch.ops.aten.sort.stable:
            given = arguments(node)
            node.target, node.kwargs = torch.ops.aten.sort.default, {}
            node.args = (given["self"], given["dim"], given["descending"])
            _sorted(program.graph, node)
        elif node.target in (aten.sort.default, aten.topk.default):
            _sorted(program.graph, node)
        elif node.target is aten.pow.Tensor_Scalar and node.args[1] in _ROOTS:
            if node.args[0].meta["val"].dtype.is_floating_point:
                root = aten.sqrt.default if node.args[1] > 0 else aten.rsqrt.default
                node.target, node.args = root, node.args[:1]
        elif node.target is aten.log10.default:
            node.args = (call(program.graph, node, aten.log.default, node.args), math.log(10))
            node.target = aten.div.Scalar
        elif node.target is aten.round.decimals:
            _rounded(program.graph, node)
        elif node.target in typed:
            _one_type(program.graph, node)
        elif node.target is aten.logcumsumexp.default:
            _log_sums(program.graph, node)
        elif node.target is aten.rms_norm.default and arguments(node)["eps"] is None:
            given = arguments(node)
            dtype = given["input"].meta["val"].dtype
            # That of half floats is computed in floats.
            eps = min(torch.finfo(each).eps for each in (dtype, torch.float32))
            node.args = (given["input"], given["normalized_shape"], given["weight"], eps)
            node.kwargs = {}
        elif node.target is torch.ops.aten.gelu.default:
            # Half floats would round at every step, which PyTorch does not.
            exact = node.meta["val"].dtype in (torch.float32, torch.float64)
            if exact and arguments(node)["approximate"] == "tanh":
                _gelu(program.graph, node)
    torch_writes.apply(program)
    torch_indices.apply(program)
    torch_divisions.apply(program)
    torch_shifts.apply(program)
    torch_halves.apply(program)
    torch_adaptive.apply(program)
    program.graph_module.recompile()


def settle(program: Any) -> None:
    """Replaces ops of a torch.export program that could draw random numbers, but do not."""
    import torch

    aten = torch.ops.aten
    for node in list(program.graph.nodes):
        if node.target is not aten.rrelu_with_noise_functional.default:
            continue
        given = arguments(node)
        if given["training"] or any(user.args[1] for user in node.users):
            continue
        slope = (given["lower"] + given["upper"]) / 2
        made = call(program.graph, node, aten.leaky_relu.default, (given["self"], slope))
        replace_parts(program.graph, node, (made,))
        noise = given["noise"]
        if noise.op == "call_function" and not noise.users:
            program.graph.erase_node(noise)


def _one_type(graph: Any, node: Any) -> None:
    """Gives all tensors among an op's operands the type of its result."""
    import torch

    dtype = node.meta["val"].dtype

    def converted(value: Any) -> Any:
        if not isinstance(value, torch.fx.Node) or value.meta["val"].dtype == dtype:
            return value
        return call(graph, node, torch.ops.aten.to.dtype, (value, dtype))

    node.args = tuple(map(converted, node.args))
    node.kwargs = {name: converted(value) for name, value in node.kwargs.items()}


def _numbers_for_places(graph: Any, node: Any) -> None:
    """Makes -1 of what is no number in a grid, and of infinity where places are reflected."""
    import torch

    aten = torch.ops.aten
    x, grid, mode, padding, *more = node.args
    if padding == _ZEROS:
        return
    size = call(graph, node, aten.abs.default, (grid,))
    compare = aten.lt.Scalar if padding == _REFLECTION else aten.le.Scalar
    known = call(graph, node, compare, (size, math.inf))
    unknown = call(graph, node, aten.logical_not.default, (known,))
    grid = call(graph, node, aten.masked_fill.Scalar, (grid, unknown, -1.0))
    node.args = (x, grid, mode, padding, *more)


def _rounded(graph: Any, node: Any) -> None:
    """Multiplies half floats by a power of 10 in f32, where that does not overflow."""
    import torch

    aten, (x,) = torch.ops.aten, node.args
    dtype = x.meta["val"].dtype
    if dtype in (torch.float16, torch.bfloat16):
        wide = call(graph, node, aten.to.dtype, (x, torch.float32))
        made = call(graph, node, node.target, (wide,), **node.kwargs)
        node.replace_all_uses_with(call(graph, node, aten.to.dtype, (made, dtype)))
        graph.erase_node(node)


def _sorted(graph: Any, node: Any) -> None:
    """Sorts what torch-mlir or IREE cannot sort as another type that has the same numbers."""
    import torch

    wide = {torch.uint8: torch.int32, torch.bfloat16: torch.float32}
    dtype = node.args[0].meta["val"].dtype
    if dtype in wide:
        _widened(graph, node, wide[dtype])


def _widened(graph: Any, node: Any, dtype: Any) -> None:
    """Computes with another type, and converts the result back, which may have indices beside it."""
    import torch

    to = torch.ops.aten.to.dtype
    image, *more = node.args
    wide = call(graph, node, to, (image, dtype))
    pooled = call(graph, node, node.target, (wide, *more))
    readers = [node]
    if isinstance(pooled.meta["val"], (tuple, list)):
        node.replace_all_uses_with(pooled)
        readers = [user for user in pooled.users if user.args[1] == 0]
        graph.erase_node(node)
    for reader in readers:
        source = pooled if reader is node else reader
        if source is reader:
            reader.meta["val"] = pooled.meta["val"][0]
        with graph.inserting_after(reader):
            narrow = graph.call_function(to, (source, image.meta["val"].dtype))
        narrow.meta = {**reader.meta, "val": source.meta["val"].to(image.meta["val"].dtype)}
        reader.replace_all_uses_with(
            narrow, delete_user_cb=lambda user, made=narrow: user is not made
        )
    if readers == [node]:
        graph.erase_node(node)


def _roll(graph: Any, node: Any) -> None:
    import torch

    aten = torch.ops.aten
    x, shifts, *dims = node.args
    shape = x.meta["val"].shape
    if dims and dims[0]:
        all_by = [
            (shift % max(shape[dim], 1), dim) for shift, dim in zip(shifts, *dims, strict=True)
        ]
        if moving := [each for each in all_by if each[0]]:
            node.args = (x, *map(list, zip(*moving, strict=True)))
            return
        made = x
    else:
        flat = call(graph, node, aten.reshape.default, (x, [-1]))
        by_all = shifts[0] % max(shape.numel(), 1)
        rolled = call(graph, node, aten.roll.default, (flat, [by_all], [0])) if by_all else flat
        made = call(graph, node, aten.reshape.default, (rolled, list(shape)))
    node.replace_all_uses_with(made)
    graph.erase_node(node)


def _log_sums(graph: Any, node: Any) -> None:
    """Sums up each element with all before it, less the largest of them."""
    import torch

    aten = torch.ops.aten
    x, dim = node.args
    value = x.meta["val"]
    if not value.ndim:
        node.replace_all_uses_with(x)
        graph.erase_node(node)
        return
    dim %= value.ndim
    ones = call(graph, node, aten.ones_like.default, (x,))
    places = call(graph, node, aten.cumsum.default, (ones, dim))
    rows, columns = (
        call(graph, node, aten.unsqueeze.default, (places, axis)) for axis in (dim + 1, dim)
    )
    later = call(graph, node, aten.lt.Tensor, (rows, columns))
    wide = call(graph, node, aten.unsqueeze.default, (x, dim))
    kept = call(graph, node, aten.masked_fill.Scalar, (wide, later, -math.inf))
    largest = call(graph, node, aten.amax.default, (kept, [dim + 1], True))
    largest = call(graph, node, aten.clamp.default, (largest, torch.finfo(value.dtype).min))
    powers = call(
        graph, node, aten.exp.default, (call(graph, node, aten.sub.Tensor, (kept, largest)),)
    )
    log = call(
        graph,
        node,
        aten.log.default,
        (call(graph, node, aten.sum.dim_IntList, (powers, [dim + 1], True)),),
    )
    total = call(graph, node, aten.add.Tensor, (log, largest))
    node.replace_all_uses_with(call(graph, node, aten.squeeze.dim, (total, dim + 1)))
    graph.erase_node(node)


def _gelu(graph: Any, node: Any) -> None:
    import torch

    aten = torch.ops.aten
    x = node.args[0]
    cube = call(graph, node, aten.mul.Tensor, (call(graph, node, aten.mul.Tensor, (x, x)), x))
    bent = call(graph, node, aten.mul.Scalar, (cube, 0.044715))
    bent = call(graph, node, aten.add.Tensor, (x, bent))
    bent = call(graph, node, aten.mul.Scalar, (bent, math.sqrt(2 / math.pi)))
    bent = call(graph, node, aten.tanh.default, (bent,))
    share = call(graph, node, aten.add.Scalar, (bent, 1.0))
    half = call(graph, node, aten.mul.Scalar, (x, 0.5))
    node.replace_all_uses_with(call(graph, node, aten.mul.Tensor, (half, share)))
    graph.erase_node(node)


def _is_depthwise(given: dict[str, Any]) -> bool:
    channels, outputs, *_ = given["weight"].meta["val"].shape
    return bool(given["groups"] == channels > 1 == outputs)


def _spread(graph: Any, node: Any, given: dict[str, Any]) -> None:
    import torch

    aten = torch.ops.aten
    x, weight = given["input"], given["weight"]
    batch, channels, *sizes = x.meta["val"].shape
    strides, dims = given["stride"], range(2, len(sizes) + 2)
    # Each element gets an axis of its own, which ends with the zeros before the next element.
    split = [part for size in sizes for part in (size, 1)]
    gaps = [part for stride in reversed(strides) for part in (0, stride - 1, 0, 0)]
    spread = [size * stride for size, stride in zip(sizes, strides, strict=True)]
    x = call(graph, node, aten.reshape.default, (x, [batch, channels, *split]))
    x = call(graph, node, aten.constant_pad_nd.default, (x, gaps, 0.0))
    x = call(graph, node, aten.reshape.default, (x, [batch, channels, *spread]))
    pads: list[int] = []
    for axis, size, stride, kernel, dilation, padding, more in zip(
        dims, spread, strides, weight.meta["val"].shape[2:],
        given["dilation"], given["padding"], given["output_padding"], strict=True,
    ):  # fmt: skip
        low = dilation * (kernel - 1) - padding
        high = low + more - (stride - 1)
        x = call(graph, node, aten.slice.Tensor, (x, axis, max(-low, 0), size + min(high, 0)))
        pads = [max(low, 0), max(high, 0), *pads]
    x = call(graph, node, aten.constant_pad_nd.default, (x, pads, 0.0))
    flipped = call(graph, node, aten.flip.default, (weight, list(dims)))
    ones, zeros = [1] * len(dims), [0] * len(dims)
    node.args = (
        x, flipped, given["bias"], ones, zeros, given["dilation"], False, zeros, given["groups"]
    )  # fmt: skip
    node.kwargs = {}
