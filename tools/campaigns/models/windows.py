"""Ops on windows of images and sequences: convolutions, pools, pads, resizing, and layers that normalize."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import torch.nn.functional as F
from op import Call, Op, no_attributes, of_one

_Shape = tuple[int, ...]
_Attributes = dict[str, Any] | None


def _grouping(random: Random, channels: int) -> tuple[int, int]:
    """Returns groups and output channels: plain, grouped or depthwise, often with odd channel counts."""
    kind = random.choice(("plain", "plain", "plain", "depthwise", "multiplier", "grouped"))
    if kind == "plain":
        return 1, random.choice((1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 33))
    if kind == "depthwise":
        return channels, channels
    if kind == "multiplier":
        return channels, channels * random.choice((2, 3, 4))
    divisors = [n for n in range(1, channels + 1) if channels % n == 0]
    groups = random.choice(divisors)
    return groups, groups * random.choice((1, 2, 3, 5))


def _conv(dims: int) -> Any:
    def attributes(random: Random, shape: _Shape) -> _Attributes:
        groups, out = _grouping(random, shape[1])
        sizes = shape[2:]
        kernel = [random.choice((1, 2, 3, 3, 5, 7)) for _ in sizes]
        if random.random() < 0.5:
            kernel = [kernel[0]] * dims
        dilation = [random.choice((1, 1, 1, 2, 3)) for _ in sizes]
        reach = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        pads = [random.randint(0, min(r, 4)) for r in reach]
        if any(s + 2 * p <= r for s, p, r in zip(sizes, pads, reach, strict=True)):
            return None
        if out * math.prod(kernel) * shape[1] // groups > 20000:
            return None
        return {
            "out": out,
            "groups": groups,
            "kernel": kernel,
            "stride": [random.choice((1, 1, 1, 2, 3)) for _ in sizes],
            "dilation": dilation,
            "padding": pads,
            "bias": random.random() < 0.6,
        }

    return attributes


def _convolve(c: Call) -> Any:
    channels = c.x.shape[1] // c["groups"]
    weight = c.weight(0, (c["out"], channels, *c["kernel"]), channels * math.prod(c["kernel"]))
    function = (F.conv1d, F.conv2d, F.conv3d)[c.x.dim() - 3]
    return function(
        c.x, weight, c.weight(1, (c["out"],)) if c["bias"] else None,
        c["stride"], c["padding"], c["dilation"], c["groups"],
    )  # fmt: skip


def _transposed(random: Random, shape: _Shape) -> _Attributes:
    dims = len(shape) - 2
    groups, out = _grouping(random, shape[1])
    kernel = [random.choice((1, 2, 3, 4)) for _ in range(dims)]
    stride = [random.choice((1, 2, 2, 3)) for _ in range(dims)]
    return {
        "out": out,
        "groups": groups,
        "kernel": kernel,
        "stride": stride,
        "padding": [random.randint(0, k - 1) for k in kernel],
        "output_padding": [random.randint(0, s - 1) for s in stride],
        "dilation": [random.choice((1, 1, 2)) for _ in range(dims)],
        "bias": random.random() < 0.5,
    }


def _transposed_convolve(c: Call) -> Any:
    channels = c.x.shape[1] // c["groups"]
    weight = c.weight(0, (c.x.shape[1], c["out"] // c["groups"], *c["kernel"]), channels)
    function = (F.conv_transpose1d, F.conv_transpose2d)[c.x.dim() - 3]
    return function(
        c.x, weight, c.weight(1, (c["out"],)) if c["bias"] else None, c["stride"], c["padding"],
        c["output_padding"], c["groups"], c["dilation"],
    )  # fmt: skip


def _pool(random: Random, shape: _Shape) -> _Attributes:
    sizes = shape[2:]
    kernel = [random.choice((1, 2, 2, 3, 5)) for _ in sizes]
    padding = [random.randint(0, k // 2) for k in kernel]
    if any(s + 2 * p < k for s, p, k in zip(sizes, padding, kernel, strict=True)):
        return None
    return {
        "kernel": kernel,
        "stride": [random.choice((1, 2, 2, 3)) for _ in sizes],
        "padding": padding,
        "ceil": random.random() < 0.3,
    }


def _max_pool(c: Call) -> Any:
    function = F.max_pool1d if c.x.dim() == 3 else F.max_pool2d
    return function(c.x, c["kernel"], c["stride"], c["padding"], ceil_mode=c["ceil"])


def _avg_pool(c: Call) -> Any:
    function = F.avg_pool1d if c.x.dim() == 3 else F.avg_pool2d
    return function(c.x, c["kernel"], c["stride"], c["padding"], c["ceil"], c["count_padding"])


def _avg_attributes(random: Random, shape: _Shape) -> _Attributes:
    found = _pool(random, shape)
    return found and {**found, "count_padding": random.random() < 0.5}


def _adaptive(random: Random, shape: _Shape) -> _Attributes:
    return {"size": [random.choice([n for n in range(1, s + 1) if s % n == 0]) for s in shape[2:]]}


def _pad(random: Random, shape: _Shape) -> _Attributes:
    # Constant padding takes any dimensions, the other modes only those behind the channels.
    mode = random.choice(("constant", "reflect", "replicate", "circular"))
    dims = random.randint(1, len(shape)) if mode == "constant" else len(shape) - 2
    if dims not in (1, 2) and mode != "constant":
        return None
    pads = []
    for size in reversed(shape[-dims:]):
        most = 3 if mode in ("constant", "replicate") else min(3, size - 1)
        pads += [random.randint(0, most), random.randint(0, most)]
    value = random.choice((0.0, 0.0, 1.5, -2.0)) if mode == "constant" else 0.0
    return {"mode": mode, "pads": pads, "value": value}


def _resize(random: Random, shape: _Shape) -> _Attributes:
    mode = random.choice(("nearest", "bilinear", "bilinear"))
    size = [max(1, int(s * random.choice((0.5, 1, 1.5, 2, 3)))) for s in shape[2:]]
    return {"mode": mode, "size": size, "corners": mode == "bilinear" and random.random() < 0.4}


def _resized(c: Call) -> Any:
    corners = c["corners"] if c["mode"] == "bilinear" else None
    return F.interpolate(c.x, c["size"], mode=c["mode"], align_corners=corners)


def _batch_norm(c: Call) -> Any:
    size = (c.x.shape[1],)
    variance = c.weight(1, size) ** 2 + 0.5
    return F.batch_norm(c.x, c.weight(0, size), variance, c.weight(2, size), c.weight(3, size))


def _group_norm(random: Random, shape: _Shape) -> _Attributes:
    if math.prod(shape[1:]) < 4:
        return None
    groups = [n for n in range(1, shape[1] + 1) if shape[1] % n == 0]
    groups = [n for n in groups if math.prod(shape[1:]) // n >= 3]
    return {"groups": random.choice(groups), "affine": random.random() < 0.5}


def _group_normed(c: Call) -> Any:
    size = (c.x.shape[1],)
    affine = (c.weight(0, size), c.weight(1, size)) if c["affine"] else (None, None)
    return F.group_norm(c.x, c["groups"], *affine)


def _layer_norm(random: Random, shape: _Shape) -> _Attributes:
    dims = random.randint(1, min(2, len(shape)))
    return {"dims": dims} if math.prod(shape[-dims:]) >= 3 else None


def _layer_normed(c: Call) -> Any:
    shape = tuple(c.x.shape[-c["dims"] :])
    return F.layer_norm(c.x, shape, c.weight(0, shape), c.weight(1, shape))


CONVOLUTIONS = {
    "conv1d": Op(of_one(3, 3, _conv(1)), _convolve),
    "conv2d": Op(of_one(4, 4, _conv(2)), _convolve),
    "conv_transpose": Op(of_one(3, 4, _transposed), _transposed_convolve),
}

OPS = {
    "max_pool": Op(of_one(3, 4, _pool), _max_pool),
    "avg_pool": Op(of_one(3, 4, _avg_attributes), _avg_pool),
    "adaptive_avg_pool": Op(
        of_one(4, 4, _adaptive), lambda c: F.adaptive_avg_pool2d(c.x, c["size"])
    ),
    "pad": Op(
        of_one(3, 4, _pad), lambda c: F.pad(c.x, c["pads"], mode=c["mode"], value=c["value"])
    ),
    "resize": Op(of_one(4, 4, _resize), _resized),
    "batch_norm": Op(of_one(3, 4, no_attributes), _batch_norm),
    "group_norm": Op(of_one(3, 4, _group_norm), _group_normed),
    "layer_norm": Op(of_one(1, 4, _layer_norm), _layer_normed),
}
