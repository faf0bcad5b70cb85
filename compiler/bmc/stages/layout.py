"""Stage: operands of matrix products are laid out the way the kernels read them fastest.

`x @ W^T`, which is what every torch.nn.Linear is, reaches code generation as a matmul whose right
operand is indexed [N, K]; its vector code is some 20 times slower than for [K, N].

A weight is transposed at build time and every reader of it changes together, so there is never a
second copy: the matmul's indexing map, and for tied embeddings the index order of the gathers from
the same table. An operand computed at run time (K in Q @ K^T) is transposed by a kernel of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from bmc.stages import ir_util

_B = 1
# Indexing maps of B in the two layouts; loops are (batch,) rows, columns, inner.
_TRANSPOSED = {
    "linalg.matmul": "affine_map<(d0, d1, d2) -> (d1, d2)>",
    "linalg.batch_matmul": "affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>",
}
_PLAIN = {
    "linalg.matmul": "affine_map<(d0, d1, d2) -> (d2, d1)>",
    "linalg.batch_matmul": "affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>",
}


@dataclass(frozen=True, slots=True)
class WeightType:
    """How a weight lies in the parameter archive, and what the rewritten IR expects.

    Attributes:
      dtype: MLIR element type.
      shape: as stored in the archive.
      permutation: axes for numpy.transpose from the stored to the expected layout; () to keep it.
    """

    dtype: str
    shape: tuple[int, ...]
    permutation: tuple[int, ...]


def transpose_operands(source: Path, output: Path) -> dict[str, WeightType]:
    """Rewrites `source` to `output`; returns the type of every weight by its name."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(source)
        operations = list(ir_util.walk(module.operation))
        products = [op for op in operations if _is_transposed_b(op, _B)]
        loads: dict[str, list[ir_util.Op]] = {}
        for op in operations:
            if op.name == "util.global.load":
                loads.setdefault(ir_util.string(op, "global"), []).append(op)
        weights: dict[str, WeightType] = {}
        for op in [op for op in operations if op.name == "util.global"]:
            weight_type = ir.TypeAttr(op.attributes["type"]).value
            if not isinstance(weight_type, ir.RankedTensorType):
                continue
            name = ir_util.string(op, "sym_name")
            axes = _swap_last_two(weight_type) if _can_transpose(loads.get(name, [])) else ()
            shape = tuple(weight_type.shape)
            weights[name] = WeightType(str(weight_type.element_type), shape, axes)
            if axes:
                _transpose_weight(op, loads[name], axes)
        for op in products:
            if _is_transposed_b(op, _B) and op.results[0].type.shape[-2] > 1:
                _transpose_at_run_time(op)
        ir_util.write(module, output)
        return weights


def _can_transpose(loads: list[ir_util.Op]) -> bool:
    """True if a product wants the weight transposed and every other reader can live with that."""
    readers = [use for load in loads for use in ir_util.uses(load.results[0])]
    return any(_is_transposed_b(*use) for use in readers) and all(
        _is_transposed_b(*use) or _is_gather(*use) for use in readers
    )


def _is_transposed_b(op: ir_util.Op, operand: int) -> bool:
    return (
        op.name in _TRANSPOSED
        and operand == _B
        and str(op.attributes["indexing_maps"][_B]) == _TRANSPOSED[op.name]
    )


def _is_gather(op: ir_util.Op, operand: int) -> bool:
    return op.name == "tensor.extract" and operand == 0


def _swap_last_two(tensor_type: Any) -> tuple[int, ...]:
    rank = len(tensor_type.shape)
    return (*range(rank - 2), rank - 1, rank - 2)


def _permuted(tensor_type: Any, axes: tuple[int, ...]) -> Any:
    shape = [tensor_type.shape[axis] for axis in axes]
    return ir.RankedTensorType.get(shape, tensor_type.element_type)


def _make_plain(product: ir_util.Op) -> None:
    maps = list(product.attributes["indexing_maps"])
    maps[_B] = ir.Attribute.parse(_PLAIN[product.name])
    product.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)


def _transpose_weight(
    global_op: ir_util.Op, loads: list[ir_util.Op], axes: tuple[int, ...]
) -> None:
    old_type = loads[0].results[0].type
    new_type = _permuted(old_type, axes)
    global_op.attributes["type"] = ir.TypeAttr.get(new_type)
    # The initial value is a reference into the parameter archive that repeats the type.
    initial_value = str(global_op.attributes["initial_value"])
    global_op.attributes["initial_value"] = ir.Attribute.parse(
        initial_value.replace(str(old_type), str(new_type))
    )
    for load in loads:
        with ir.InsertionPoint(load):
            new_load = ir.Operation.create(
                "util.global.load",
                results=[new_type],
                attributes={"global": load.attributes["global"], "is_immutable": ir.UnitAttr.get()},
            )
        for op, operand in ir_util.uses(load.results[0]):
            op.operands[operand] = new_load.results[0]
            if op.name in _PLAIN:
                _make_plain(op)
            else:
                # operands: table, then one index for each of its dimensions
                indices = list(op.operands)[1:]
                for position, axis in enumerate(axes):
                    op.operands[1 + position] = indices[axis]
        load.erase()


def _transpose_at_run_time(product: ir_util.Op) -> None:
    """Puts a transpose before the product.

    A named op stays a kernel of its own. As a linalg.generic it would fuse into the matmul that
    produces the operand: no faster on BERT, with 8 KB more code and 9 KB more stack.
    """
    operand = product.operands[_B]
    axes = _swap_last_two(operand.type)
    with ir.InsertionPoint(product), product.location:
        empty = tensor.empty(_permuted(operand.type, axes).shape, operand.type.element_type)
        transpose = linalg.transpose(operand, outs=[empty], permutation=list(axes))
    product.operands[_B] = transpose.results[0]
    _make_plain(product)
