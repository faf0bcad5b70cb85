"""Factors small matrices in PyTorch's ops, one row or column after the other, because torch-mlir has nothing for it.

PyTorch raises an error for a matrix without an inverse or a factor; here the answer is infinite, or no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bmc.errors import BmcError
from bmc.frontends import torch_steps

# Each row or column is a few ops in the program.
_MOST_ROWS = 32
# The terms of an exponential's series for numbers up to 1 in f64.
_TAYLOR = 18


def table() -> dict[Any, Callable[..., Any]]:
    """Returns decompositions by op; larger matrices stay, and are refused by name."""
    import torch

    aten = torch.ops.aten
    return {
        aten.linalg_cholesky_ex.default: _cholesky_ex,
        aten.linalg_cholesky.default: _of_upper,
        aten.cholesky.default: _cholesky,
        aten.cholesky_solve.default: _cholesky_solve,
        aten.cholesky_inverse.default: _cholesky_inverse,
        aten.linalg_solve_triangular.default: _solve_triangular,
        aten.triangular_solve.default: _old_triangular_solve,
        aten.linalg_lu_factor_ex.default: _lu_factor_ex,
        aten.linalg_lu_factor.default: _lu_factor,
        aten.linalg_lu.default: _lu,
        aten.linalg_lu_solve.default: _lu_solve,
        aten.lu_unpack.default: _lu_unpack,
        aten._linalg_solve_ex.default: _solve_ex,
        aten.linalg_solve.default: _solve,
        aten.linalg_inv_ex.default: _inv_ex,
        aten.linalg_inv.default: _inverse,
        aten.linalg_tensorinv.default: _tensor_inverse,
        aten.inverse.default: _inverse,
        aten.linalg_matrix_exp.default: _matrix_exp,
        aten._linalg_det.default: _det,
        aten._linalg_slogdet.default: _slogdet,
        aten.linalg_slogdet.default: _two_of_slogdet,
    }


def fits(x: Any) -> bool:
    """Whether a matrix has few rows and columns, real numbers, and any."""
    return 0 not in x.shape and max(x.shape[-2:]) <= _MOST_ROWS and not x.dtype.is_complex


def _lower(x: Any) -> Any:
    """Returns Cholesky's factor below the diagonal; what is above it is not read."""
    import torch

    size = x.shape[-1]
    columns: list[Any] = []
    for j in range(size):
        column = x[..., j:, j]
        if columns:
            before = torch.stack([each[..., j:] for each in columns], -1)
            column = column - (before * before[..., :1, :]).sum(-1)
        column = column * torch.rsqrt(column[..., :1])
        columns.append(torch.nn.functional.pad(column, (j, 0)))
    return torch.stack(columns, -1)


def _cholesky(x: Any, upper: bool = False) -> Any:
    if not fits(x):
        return NotImplemented
    return _lower(x.mT).mT if upper else _lower(x)


def _of_upper(x: Any, *, upper: bool = False) -> Any:
    return _cholesky(x, upper)


def _no_error(x: Any) -> Any:
    import torch

    return torch.zeros(x.shape[:-2], dtype=torch.int32)


def _cholesky_ex(x: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    import torch

    if 0 in x.shape:
        return torch.zeros_like(x), _no_error(x)
    found = _cholesky(x, upper)
    return found if found is NotImplemented else (found, _no_error(x))


def _cholesky_solve(b: Any, factor: Any, upper: bool = False) -> Any:
    if not fits(factor):
        return NotImplemented
    lower = factor.mT if upper else factor
    return _substituted(lower.mT, _substituted(lower, b, False, False), True, False)


def _cholesky_inverse(factor: Any, upper: bool = False) -> Any:
    return _cholesky_solve(identity(factor), factor, upper) if fits(factor) else NotImplemented


def identity(x: Any) -> Any:
    """Returns identity matrices of as many rows as those of another tensor."""
    import torch

    return torch.eye(x.shape[-2], dtype=x.dtype).expand(*x.shape[:-2], -1, -1)


def _substituted(a: Any, b: Any, upper: bool, is_unit: bool) -> Any:
    """Solves a triangular system from its first row on, or from its last one."""
    import torch

    size = a.shape[-1]
    shape = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    b = b.expand(*shape, *b.shape[-2:])
    rows: dict[int, Any] = {}
    for i in reversed(range(size)) if upper else range(size):
        row = b[..., i, :]
        for j, known in rows.items():
            row = row - a[..., i, j, None] * known
        rows[i] = row if is_unit else row / a[..., i, i, None]
    return torch.stack([rows[i] for i in range(size)], -2)


def _solve_triangular(
    a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    if not fits(a):
        return NotImplemented
    if left:
        return _substituted(a, b, upper, unitriangular)
    return _substituted(a.mT, b.mT, not upper, unitriangular).mT


def _old_triangular_solve(
    b: Any, a: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    if not fits(a):
        return NotImplemented
    used, is_upper = (a.mT, not upper) if transpose else (a, upper)
    return _substituted(used, b, is_upper, unitriangular), a.clone()


def _factored(x: Any) -> tuple[Any, Any, Any]:
    """Returns both triangles in one matrix, the rows in their new order, and the pivots from 1 on, as LAPACK has them.

    A column of zeros leaves its rows as they are.
    """
    import torch

    rows, columns = x.shape[-2:]
    order = torch.arange(rows).expand(*x.shape[:-2], rows)
    pivots = []
    for k in range(min(rows, columns)):
        pivot = x[..., k:, k].abs().argmax(-1, keepdim=True) + k
        pivots.append(pivot + 1)
        swapped = _swapped(rows, k, pivot)
        order = order.gather(-1, swapped)
        x = x.gather(-2, swapped.unsqueeze(-1).expand(x.shape))
        divisor = x[..., k, k, None]
        factors = x[..., k + 1 :, k] / torch.where(divisor == 0, 1.0, divisor)
        rest = x[..., k + 1 :, k + 1 :] - factors.unsqueeze(-1) * x[..., k, None, k + 1 :]
        below = torch.cat([x[..., k + 1 :, :k], factors.unsqueeze(-1), rest], -1)
        x = torch.cat([x[..., : k + 1, :], below], -2)
    return x, order, torch.cat(pivots, -1).to(torch.int32)


def _lu_factor_ex(x: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    found = _lu_factor(x, pivot=pivot)
    return found if found is NotImplemented else (*found, _no_error(x))


def _lu_factor(x: Any, *, pivot: bool = True) -> Any:
    if not fits(x) or not pivot:
        return NotImplemented
    factors, _, pivots = _factored(x)
    return factors, pivots


def _lu(x: Any, *, pivot: bool = True) -> Any:
    if not fits(x) or not pivot:
        return NotImplemented
    factors, order, _ = _factored(x)
    return _matrix(order, x).mT, *_triangles(factors)


def _solved(factors: Any, b: Any, is_transposed: bool = False) -> Any:
    if is_transposed:
        return _substituted(factors.mT, _substituted(factors.mT, b, False, False), True, True)
    return _substituted(factors, _substituted(factors, b, False, True), True, False)


def _exchanged(pivots: Any, factors: Any) -> Any:
    """Returns the matrix that brings rows into the order of the factors."""
    import torch

    rows = factors.shape[-2]
    order = torch.arange(rows).expand(*pivots.shape[:-1], rows)
    for k in range(pivots.shape[-1]):
        order = order.gather(-1, _swapped(rows, k, pivots[..., k, None].to(torch.int64) - 1))
    return _matrix(order, factors)


def _swapped(rows: int, k: int, pivot: Any) -> Any:
    """Returns the places of rows after row `k` and the one of a pivot were exchanged."""
    import torch

    place = torch.arange(rows)
    return torch.where(place == k, pivot, torch.where(place == pivot, k, place))


def _matrix(order: Any, like: Any) -> Any:
    """Returns the matrix that brings rows into an order, with the type of another one."""
    import torch

    return (order.unsqueeze(-1) == torch.arange(order.shape[-1])).to(like.dtype)


def _triangles(factors: Any) -> tuple[Any, Any]:
    import torch

    rows, columns = factors.shape[-2:]
    least = min(rows, columns)
    one = torch.eye(rows, least, dtype=factors.dtype)
    return factors[..., :least].tril(-1) + one, factors[..., :least, :].triu()


def _lu_unpack(
    factors: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    if not fits(factors):
        return NotImplemented
    none = factors.new_empty(0)
    exchanged = _exchanged(pivots, factors).mT if unpack_pivots else none
    return exchanged, *(_triangles(factors) if unpack_data else (none, none))


def _lu_solve(
    factors: Any, pivots: Any, b: Any, *, left: bool = True, adjoint: bool = False
) -> Any:
    if not fits(factors):
        return NotImplemented
    exchanged = _exchanged(pivots, factors)
    b = b if left else b.mT
    is_transposed = adjoint == left
    found = _solved(factors, b if is_transposed else exchanged @ b, is_transposed)
    found = exchanged.mT @ found if is_transposed else found
    return found if left else found.mT


def _solve_ex(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    if not fits(a):
        return NotImplemented
    used = a if left else a.mT
    factors, order, pivots = _factored(used)
    is_vector = b.ndim == 1 or (b.ndim + 1 == a.ndim and b.shape == a.shape[:-1])
    right = b.unsqueeze(-1) if is_vector else b if left else b.mT
    right = _ordered(right.expand(*factors.shape[:-2], *right.shape[-2:]), order)
    found = _solved(factors, right)
    result = found.squeeze(-1) if is_vector else found if left else found.mT
    return result, factors if left else factors.mT, pivots, _no_error(a)


def _solve(a: Any, b: Any, *, left: bool = True) -> Any:
    found = _solve_ex(a, b, left=left)
    return found if found is NotImplemented else found[0]


def _ordered(x: Any, order: Any) -> Any:
    return x.gather(-2, order.unsqueeze(-1).expand(*x.shape[:-1], x.shape[-1]))


def _inv_ex(x: Any, *, check_errors: bool = False) -> Any:
    import torch

    if 0 in x.shape:
        return torch.zeros_like(x), _no_error(x)
    found = _inverse(x)
    return found if found is NotImplemented else (found, _no_error(x))


def _inverse(x: Any) -> Any:
    if not fits(x):
        return NotImplemented
    factors, order, _ = _factored(x)
    return _solved(factors, _ordered(identity(x), order))


def _tensor_inverse(x: Any, ind: int = 2) -> Any:
    rows = math.prod(x.shape[:ind])
    found = _inverse(x.reshape(rows, -1))
    return found if found is NotImplemented else found.reshape(*x.shape[ind:], *x.shape[:ind])


def _matrix_exp(x: Any) -> Any:
    """Returns a power of a Taylor series of a small matrix; half floats overflow in PyTorch on their way."""
    import torch

    if not fits(x) or x.dtype.itemsize < 4:
        return NotImplemented
    norm = x.abs().sum(-2).amax(-1)[..., None, None]
    halvings = (norm.clamp(min=1).log() / math.log(2)).ceil()
    small = x * 2.0**-halvings
    one = identity(x)
    found = one
    for n in range(_TAYLOR, 0, -1):
        found = one + small @ found / n

    def goes_on(left: Any, _found: Any) -> Any:
        return (left > 0).any()

    def squared(left: Any, found: Any) -> tuple[Any, Any]:
        return left - 1, torch.where(left > 0, found @ found, found)

    return torch_steps.repeat(goes_on, squared, (halvings, found))[-1]


def _det(x: Any) -> Any:
    if 0 in x.shape:
        return NotImplemented
    factors, sign, pivots = _signed(x)
    return sign * factors.diagonal(0, -2, -1).prod(-1), factors, pivots


def _slogdet(x: Any) -> Any:
    import torch

    if 0 in x.shape:  # A product of no numbers is 1.
        batch = x.shape[:-2]
        none = torch.zeros(x.shape[:-1], dtype=torch.int32)
        return x.new_ones(batch), x.new_zeros(batch), torch.zeros_like(x), none
    factors, sign, pivots = _signed(x)
    diagonal = factors.diagonal(0, -2, -1)
    return sign * torch.sign(diagonal).prod(-1), diagonal.abs().log().sum(-1), factors, pivots


def _two_of_slogdet(x: Any) -> Any:
    found = _slogdet(x)
    return found if found is NotImplemented else found[:2]


def _signed(x: Any) -> tuple[Any, Any, Any]:
    """Returns the factors, -1 for an odd number of exchanges and otherwise 1, and the pivots."""
    import torch

    if not fits(x):
        # torch-mlir has determinants, without exchanges.
        raise BmcError(
            "op-rejected",
            f"a determinant of {x.shape[-1]} rows divides by numbers that may be zero in IREE",
            hint=f"{_MOST_ROWS} rows are the most",
        )
    factors, _, pivots = _factored(x)
    is_exchange = pivots != torch.arange(1, pivots.shape[-1] + 1)
    return factors, torch.where(is_exchange, -1.0, 1.0).to(x.dtype).prod(-1), pivots
