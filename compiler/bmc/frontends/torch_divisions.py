"""Divides as PyTorch does, which torch-mlir's StableHLO does not.

- A remainder has the sign of the divisor. It gets that of the dividend.
- A quotient of integers that is rounded down is computed in floats, which do not have all integers.
- A division of bytes by one number crashes torch-mlir's linalg (torch_bytes.py).
- PyTorch divides bytes by 300 as by 44, its lowest bits.
- fmod() of integers by a number has no lowering to linalg. It gets a tensor of that number.
- fmod() of floats subtracts a rounded product, which is another number where the quotient is large or infinite.
- A quotient of floats that is rounded down is that of PyTorch's fmod(): 1 // 0.1 is 9, because 0.1 is a little more.
"""

from __future__ import annotations

from typing import Any

from bmc.frontends import torch_bytes
from bmc.frontends.torch_windows import arguments, call


def apply(program: Any) -> None:
    """Changes such ops in a torch.export program, which its caller compiles again."""
    import torch

    aten = torch.ops.aten
    quotients = (aten.div.Tensor_mode, aten.div.Scalar_mode, aten.floor_divide.default)
    remainders = (aten.fmod.Tensor, aten.fmod.Scalar)
    for node in list(program.graph.nodes):
        if node.target is aten.remainder.Scalar_Tensor:
            _make_tensors(program.graph, node)
            node.target = aten.remainder.Tensor
        if node.target in (*quotients, *remainders, aten.remainder.Tensor, aten.remainder.Scalar):
            _cut_numbers(node)
            torch_bytes.widen(program.graph, node)
        if node.target in (aten.remainder.Tensor, aten.remainder.Scalar):
            made = _remainder(program.graph, node)
        elif node.target in quotients and _rounds_down(node):
            is_float = node.meta["val"].is_floating_point()
            _make_tensors(program.graph, node)
            made = (_float_quotient if is_float else _quotient)(program.graph, node)
        elif node.target in remainders and node.meta["val"].is_floating_point():
            _make_tensors(program.graph, node)
            x, divisor = node.args
            made = _rest(program.graph, node, x, _tensor(program.graph, node, x, divisor))
        elif node.target is aten.fmod.Scalar:
            x, divisor = node.args
            node.args = (x, _tensor(program.graph, node, x, divisor))
            node.target = aten.fmod.Tensor
            continue
        else:
            continue
        node.replace_all_uses_with(made)
        program.graph.erase_node(node)


def _cut_numbers(node: Any) -> None:
    """Makes a number what PyTorch makes of it beside integers of fewer bits: its lowest bits."""
    import torch

    dtype = node.meta["val"].dtype
    if not dtype.is_floating_point:
        node.args = tuple(
            torch.tensor(each).to(dtype).item() if isinstance(each, int) else each
            for each in node.args
        )


def _rounds_down(node: Any) -> bool:
    return bool(arguments(node).get("rounding_mode", "floor") == "floor")


def _make_tensors(graph: Any, node: Any) -> None:
    """Makes a tensor of a number that is divided, and floats of integers where the result is one."""
    import torch

    dtype = node.meta["val"].dtype
    x, divisor, *more = node.args
    operands = [_tensor(graph, node, divisor, x), divisor]
    if dtype.is_floating_point:
        operands = [
            call(graph, node, torch.ops.aten.to.dtype, (each, dtype))
            if isinstance(each, torch.fx.Node) and each.meta["val"].dtype != dtype
            else each
            for each in operands
        ]
    node.args = (*operands, *more)


def _tensor(graph: Any, node: Any, like: Any, operand: Any) -> Any:
    """Returns an operand as a tensor, which has the type of the result if the operand is a number."""
    import torch

    if isinstance(operand, torch.fx.Node):
        return operand
    dtype = node.meta["val"].dtype
    return call(graph, node, torch.ops.aten.full_like.default, (like, operand), dtype=dtype)


def _rest(graph: Any, node: Any, x: Any, divisor: Any) -> Any:
    """fmod(): of numbers without signs, the remainder is exact. It gets the sign of the dividend."""
    import torch

    aten = torch.ops.aten
    sizes = [call(graph, node, aten.abs.default, (value,)) for value in (x, divisor)]
    rest = call(graph, node, aten.remainder.Tensor, tuple(sizes))
    return call(graph, node, aten.copysign.Tensor, (rest, x))


def _float_quotient(graph: Any, node: Any) -> Any:
    """What PyTorch's div_floor_floating() computes."""
    import torch

    aten = torch.ops.aten

    def add(op: Any, *args: Any) -> Any:
        return call(graph, node, op, args)

    x, divisor = node.args[0], _tensor(graph, node, node.args[0], node.args[1])
    rest = _rest(graph, node, x, divisor)
    whole = add(aten.div.Tensor, add(aten.sub.Tensor, x, rest), divisor)
    less = add(aten.sub.Scalar, whole, 1.0)
    # Of the number itself, because torch-mlir compares a tensor of -0.3 with 0 as if it were one of integers.
    whole = add(aten.where.self, _differs(graph, node, rest, node.args[1]), less, whole)
    down = add(aten.floor.default, whole)
    # The quotient was rounded itself.
    next_ = add(aten.gt.Scalar, add(aten.sub.Tensor, whole, down), 0.5)
    down = add(aten.where.self, next_, add(aten.add.Scalar, down, 1.0), down)
    plain = add(aten.div.Tensor, x, divisor)
    zero = add(aten.mul.Scalar, plain, 0.0)
    down = add(aten.where.self, add(aten.eq.Scalar, whole, 0.0), zero, down)
    return add(aten.where.self, add(aten.eq.Scalar, divisor, 0.0), plain, down)


def _remainder(graph: Any, node: Any) -> Any:
    """Adds the divisor to a remainder that has another sign."""
    import torch

    aten = torch.ops.aten
    x, divisor = node.args
    rest = call(graph, node, node.target, (x, divisor))
    plus = aten.add.Tensor if isinstance(divisor, torch.fx.Node) else aten.add.Scalar
    corrected = call(graph, node, plus, (rest, divisor))
    differs = _differs(graph, node, rest, divisor)
    return call(graph, node, aten.where.self, (differs, corrected, rest))


def _quotient(graph: Any, node: Any) -> Any:
    """Rounds towards zero, which torch-mlir does with integers, and subtracts 1 where that is not down."""
    import torch

    aten = torch.ops.aten
    x, divisor = node.args[:2]
    is_tensor = isinstance(divisor, torch.fx.Node)
    dtype = node.meta["val"].dtype
    x = call(graph, node, aten.to.dtype, (x, dtype))
    if is_tensor:
        divisor = call(graph, node, aten.to.dtype, (divisor, dtype))
    mode = aten.div.Tensor_mode if is_tensor else aten.div.Scalar_mode
    with graph.inserting_before(node):
        whole = graph.call_function(mode, (x, divisor), {"rounding_mode": "trunc"})
    whole.meta = dict(node.meta)
    times = aten.mul.Tensor if is_tensor else aten.mul.Scalar
    product = call(graph, node, times, (whole, divisor))
    rest = call(graph, node, aten.sub.Tensor, (x, product))
    differs = _differs(graph, node, rest, divisor)
    less = call(graph, node, aten.sub.Scalar, (whole, 1))
    return call(graph, node, aten.where.self, (differs, less, whole))


def _differs(graph: Any, node: Any, rest: Any, divisor: Any) -> Any:
    """Where a remainder is not zero and has another sign than the divisor."""
    import torch

    aten = torch.ops.aten
    if not isinstance(divisor, torch.fx.Node):
        test = aten.lt.Scalar if divisor > 0 else aten.gt.Scalar
        return call(graph, node, test, (rest, 0))
    signs = [call(graph, node, aten.lt.Scalar, (value, 0)) for value in (rest, divisor)]
    differs = call(graph, node, aten.ne.Tensor, tuple(signs))
    is_there = call(graph, node, aten.ne.Scalar, (rest, 0))
    return call(graph, node, aten.logical_and.default, (differs, is_there))
