"""Computes PyTorch's Fourier transforms of static sizes with products and sums, because torch-mlir has few of them.

A size is split into its factors (Cooley and Tukey 1965); a factor that is left is a product with a table of sines.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

# A transform of at most so many elements is one product.
_SMALL = 16
_TYPE = {"forward": 1.0, "backward": 0.0, "ortho": 0.5}


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op, of one, two and any dimensions."""
    import torch

    aten = torch.ops.aten
    found: dict[Any, Callable[..., Any]] = {}
    for name, inverse, real_in, real_out in (
        ("fft", False, False, False),
        ("ifft", True, False, False),
        ("rfft", False, True, False),
        ("irfft", True, False, True),
        ("hfft", False, False, True),
        ("ihfft", True, True, False),
    ):
        of = functools.partial(_transform, inverse, real_in, real_out)
        found[getattr(aten, f"fft_{name}").default] = functools.partial(_one, of)
        found[getattr(aten, f"fft_{name}2").default] = functools.partial(_two, of)
        found[getattr(aten, f"fft_{name}n").default] = of
    return {**found, aten.stft.default: _stft}


def _stft(
    x: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    normalized: bool = False, onesided: bool | None = None, return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """Returns spectra of real numbers, whose padding is done.

    Args:
      x: [batch,] samples.
      window: `win_length` factors, 1 if it is None.
      others: as in torch.stft.
    """
    import torch

    if x.is_complex() or (window is not None and window.is_complex()):
        return NotImplemented
    length = n_fft if win_length is None else win_length
    before = (n_fft - length) // 2
    factors = x.new_ones(length) if window is None else window
    factors = torch.nn.functional.pad(factors, (before, n_fft - length - before))
    frames = x.unfold(-1, n_fft, n_fft // 4 if hop_length is None else hop_length) * factors
    norm = "ortho" if normalized else "backward"
    half = onesided is None or onesided
    found = (torch.fft.rfft if half else torch.fft.fft)(frames, norm=norm).transpose(-1, -2)
    return found if return_complex else torch.view_as_real(found)


def _one(of: Any, x: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
    return of(x, None if n is None else [n], [dim], norm)


def _two(of: Any, x: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Any:
    return of(x, s, dim, norm)


def _transform(
    inverse: bool, real_in: bool, real_out: bool,
    x: Any, s: Sequence[int] | None = None, dim: Sequence[int] | None = None, norm: str | None = None,
) -> Any:  # fmt: skip
    """Returns a transform of real or complex numbers.

    Args:
      inverse: angles are positive, and the norm "backward" divides by the number of elements.
      real_in: the result has only half of the last dimension, the other half being its conjugate.
      real_out: the same for the operand.
      x: any shape.
      s: sizes of the dimensions in `dim`, or -1 for what is there.
      dim: dimensions, the last one being halved; all, or the last ones, if it is None.
      norm: "forward", "backward" or "ortho".
    """
    import torch

    if dim is None:
        count = x.ndim if s is None else len(s)
        dim = range(x.ndim - count, x.ndim)
    dims = [each % x.ndim for each in dim]
    sizes = [x.shape[each] for each in dims]
    if real_out and s is None:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [old if size == -1 else size for old, size in zip(sizes, s, strict=True)]
    if not x.dtype.is_complex and not x.dtype.is_floating_point:
        x = x.to(torch.get_default_dtype())
    real, imaginary = (x.real, x.imag) if x.dtype.is_complex else (x, torch.zeros_like(x))
    sign = 1 if inverse else -1
    for place, size in list(zip(dims, sizes, strict=True))[:: 1 if real_out else -1]:
        halved = real_out and place == dims[-1]
        real, imaginary = (
            _sized(each.movedim(place, -1), size // 2 + 1 if halved else size)
            for each in (real, imaginary)
        )
        if halved:
            real, imaginary = _whole(real, imaginary, size)
        real, imaginary = _along_last(real, imaginary, sign)
        if real_in and place == dims[-1]:
            real, imaginary = (each[..., : size // 2 + 1] for each in (real, imaginary))
        real, imaginary = (each.movedim(-1, place) for each in (real, imaginary))
    # Without a norm, only inverse transforms are divided; "forward" exchanges this.
    power = _TYPE[norm or "backward"]
    scale = math.prod(sizes) ** -(1 - power if inverse else power)
    if real_out:
        return real * scale
    return torch.complex(real * scale, imaginary * scale)


def _sized(x: Any, size: int) -> Any:
    """Cuts the last dimension, or fills it up with zeros."""
    import torch

    more = size - x.shape[-1]
    return torch.nn.functional.pad(x, (0, more)) if more > 0 else x[..., :size]


def _whole(real: Any, imaginary: Any, size: int) -> tuple[Any, Any]:
    """Returns all elements of a spectrum whose second half is the conjugate of its first one.

    The first element, and the last one of an even number, are real; what they have beside that is ignored.
    """
    import torch

    kept = torch.arange(size // 2 + 1)
    alone = (kept == 0) | (2 * kept == size)
    imaginary = torch.where(alone, 0.0, imaginary)
    again = slice(1, (size + 1) // 2)
    return (
        torch.cat([real, real[..., again].flip(-1)], -1),
        torch.cat([imaginary, -imaginary[..., again].flip(-1)], -1),
    )


def _along_last(real: Any, imaginary: Any, sign: int) -> tuple[Any, Any]:
    size = real.shape[-1]
    factor = _factor(size)
    if factor == size:
        cosine, sine = _turns(size, size, size, sign, real.dtype)
        return real @ cosine - imaginary @ sine, real @ sine + imaginary @ cosine
    rest = size // factor
    # Element factor-th by factor-th, then the short transforms of all of these.
    parts = [each.unflatten(-1, (factor, rest)).transpose(-1, -2) for each in (real, imaginary)]
    real, imaginary = _along_last(parts[0], parts[1], sign)
    cosine, sine = _turns(rest, factor, size, sign, real.dtype)
    real, imaginary = real * cosine - imaginary * sine, real * sine + imaginary * cosine
    parts = list(_along_last(real.transpose(-1, -2), imaginary.transpose(-1, -2), sign))
    real, imaginary = (each.transpose(-1, -2).flatten(-2) for each in parts)
    return real, imaginary


def _factor(size: int) -> int:
    """Returns the largest factor that is one product, or the least one."""
    if size <= _SMALL:
        return size
    found = [factor for factor in range(2, _SMALL + 1) if size % factor == 0]
    if found:
        return found[-1]
    return next((factor for factor in range(2, math.isqrt(size) + 1) if size % factor == 0), size)


def _turns(rows: int, columns: int, size: int, sign: int, dtype: Any) -> tuple[Any, Any]:
    """Returns cosines and sines of as many parts of a turn as the product of row and column is.

    They are computed, because a decomposition cannot make constants; IREE does this at build time.
    """
    import torch

    part = torch.arange(rows).unsqueeze(-1) * torch.arange(columns) % size
    part = torch.where(2 * part > size, part - size, part)
    angles = part.to(dtype) * (sign * 2 * math.pi / size)
    return angles.cos(), angles.sin()
