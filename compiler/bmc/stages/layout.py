"""Stage: weights are laid out at build time the way the kernels read them fastest.

`x @ W^T`, which is what every torch.nn.Linear is, reaches code generation as a matmul whose right
operand is indexed [N, K]; its vector code is some 20 times slower than for [K, N]. Here the weight
itself is transposed and every reader of it changes together, so there is never a second copy: the
matmul's indexing map, and for tied embeddings the index order of the gathers from the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iree.compiler import ir

from bmc.stages import ir_util

_B_TRANSPOSED = "affine_map<(d0, d1, d2) -> (d1, d2)>"
_B_PLAIN = "affine_map<(d0, d1, d2) -> (d2, d1)>"


@dataclass(frozen=True, slots=True)
class WeightType:
    """How a weight lies in the parameter archive, and what the rewritten IR expects.

    Attributes:
      dtype: MLIR element type.
      shape: as stored in the archive.
      permutation: axes for numpy.transpose that take the stored to the expected layout; () to keep it.
    """

    dtype: str
    shape: tuple[int, ...]
    permutation: tuple[int, ...]


def transpose_weights(source: Path, output: Path) -> dict[str, WeightType]:
    """Rewrites `source` to `output`; returns the type of every weight by its name."""
    with ir.Context(), ir.Location.unknown():
        module = ir_util.read(source)
        operations = list(ir_util.walk(module.operation))
        loads: dict[str, list[ir_util.Op]] = {}
        for op in operations:
            if op.name == "util.global.load":
                loads.setdefault(ir_util.string(op, "global"), []).append(op)
        weights: dict[str, WeightType] = {}
        for op in [op for op in operations if op.name == "util.global"]:
            tensor_type = ir.TypeAttr(op.attributes["type"]).value
            if not isinstance(tensor_type, ir.RankedTensorType):
                continue
            name = ir_util.string(op, "sym_name")
            transpose = _wants_transpose(loads.get(name, []))
            weights[name] = WeightType(
                str(tensor_type.element_type), tuple(tensor_type.shape), (1, 0) if transpose else ()
            )
            if transpose:
                _transpose(op, loads[name])
        ir_util.write(module, output)
        return weights


def _wants_transpose(loads: list[ir_util.Op]) -> bool:
    if not loads:
        return False
    tensor_type = loads[0].results[0].type
    if not isinstance(tensor_type, ir.RankedTensorType) or tensor_type.rank != 2:
        return False
    readers = [use for load in loads for use in ir_util.uses(load.results[0])]
    return any(_is_transposed_b(*use) for use in readers) and all(
        _is_transposed_b(*use) or _is_gather(*use) for use in readers
    )


def _is_transposed_b(op: ir_util.Op, operand: int) -> bool:
    return (
        op.name == "linalg.matmul"
        and operand == 1
        and str(op.attributes["indexing_maps"][1]) == _B_TRANSPOSED
    )


def _is_gather(op: ir_util.Op, operand: int) -> bool:
    return op.name == "tensor.extract" and operand == 0


def _transpose(global_op: ir_util.Op, loads: list[ir_util.Op]) -> None:
    old_type = loads[0].results[0].type
    new_type: Any = ir.RankedTensorType.get(list(reversed(old_type.shape)), old_type.element_type)
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
            if op.name == "linalg.matmul":
                maps = list(op.attributes["indexing_maps"])
                maps[1] = ir.Attribute.parse(_B_PLAIN)
                op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
            else:
                row, column = op.operands[1], op.operands[2]
                op.operands[1], op.operands[2] = column, row
        load.erase()
