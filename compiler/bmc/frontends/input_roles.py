"""What an imported model does with its inputs: which are indices, and whether it only moves and compares floats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from bmc.frontends import link
from bmc.ir import ir_util, stablehlo

# Operations with floats that do not round: they move, compare and choose numbers.
_EXACT = frozenset((
    "arith.cmpf", "arith.maximumf", "arith.minimumf", "arith.negf", "arith.select", "arith.constant", "math.absf",
    "func.call", "func.func", "func.return", "builtin.module", "linalg.fill", "linalg.generic", "linalg.yield",
    "linalg.transpose", "linalg.broadcast", "linalg.copy", "iree_linalg_ext.scatter", "iree_linalg_ext.sort",
    "iree_linalg_ext.yield", "stablehlo.abs", "stablehlo.broadcast_in_dim", "stablehlo.clamp", "stablehlo.compare",
    "stablehlo.composite", "stablehlo.concatenate", "stablehlo.constant", "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice", "stablehlo.gather", "stablehlo.maximum", "stablehlo.minimum",
    "stablehlo.negate", "stablehlo.pad", "stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.reshape",
    "stablehlo.return", "stablehlo.reverse", "stablehlo.scatter", "stablehlo.select", "stablehlo.slice",
    "stablehlo.sort", "stablehlo.transpose", "tensor.cast", "tensor.collapse_shape", "tensor.concat", "tensor.empty",
    "tensor.expand_shape", "tensor.extract", "tensor.extract_slice", "tensor.insert_slice", "tensor.pad",
    "tensor.yield",
))  # fmt: skip
# Frameworks leave open which of 0 and -0 these return.
_CHOICES = frozenset((
    "arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf", "stablehlo.clamp", "stablehlo.maximum",
    "stablehlo.minimum", "tosa.maximum", "tosa.minimum",
))  # fmt: skip
_LOOPS = ("scf.for", "scf.while", "stablehlo.while")
# The operand that has indices, and that with what they are indices of.
_INDEXED = {
    "iree_linalg_ext.gather": (1, 0),
    "iree_linalg_ext.scatter": (1, 2),
    "stablehlo.gather": (1, 0),
    "stablehlo.torch_index_select": (1, 0),
    "tosa.gather": (1, 0),
    "tosa.scatter": (1, 0),
}
_QUOTIENTS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi")


@dataclass(frozen=True)
class Roles:
    """What a model does with its inputs.

    Attributes:
      extents: for each input that becomes an index, the smallest extent of the axes that it is for.
      rounds: whether results of operations with floats are rounded.
      loops: whether it has loops, which may depend on data.
      sorts: whether a sort has an order for equal elements that its framework does not define.
      chooses: whether a number is chosen because it is the larger or smaller one.
      divides: whether integers are divided by a computed one.
    """

    extents: dict[int, int]
    rounds: bool
    loops: bool
    sorts: bool
    chooses: bool
    divides: bool


def read(module: Any, entry: str = "main", entries: Sequence[str] = ()) -> Roles:
    """Returns the roles of the inputs of an entry point; `entries` are the names of all."""
    others = {each for name in entries if name != entry for each in (name, link.pure_name(name))}
    ops = []
    for op in module.body.operations:
        name = op.operation.attributes.get("sym_name")
        if name is None or ir.StringAttr(name).value not in others:
            ops += [op.operation, *ir_util.walk(op.operation)]
    names = {op.name for op in ops}
    functions = {
        ir_util.string(op, "sym_name"): op
        for op in ops
        if op.name in ("func.func", "util.func") and len(op.regions[0].blocks)
    }
    main = functions.get(entry)
    extents: dict[int, int] = {}
    for number, argument in enumerate(main.regions[0].blocks[0].arguments if main else ()):
        if isinstance(ir_util.element_type(argument.type), ir.IntegerType):
            extent = _Flow(functions).extent(argument)
            if extent is not None:
                extents[number] = extent
    return Roles(
        extents,
        rounds=any(map(_rounds, ops)),
        loops=bool(names & set(_LOOPS)),
        sorts="iree_linalg_ext.sort" in names,
        chooses=bool(names & _CHOICES),
        divides=any(
            op.name in _QUOTIENTS and ir_util.constant(op.operands[1]) is None for op in ops
        ),
    )


def _rounds(op: ir_util.Op) -> bool:
    if op.name in _EXACT:
        return False
    values = (*op.operands, *op.results)
    return any(isinstance(ir_util.element_type(value.type), ir.FloatType) for value in values)


@dataclass
class _Flow:
    """Follows an input to what it is an index of."""

    functions: dict[str, Any]
    _seen: set[Any] = field(default_factory=set)

    def extent(self, value: Any) -> int | None:
        """Returns the smallest extent that integers made of `value` are indices for, None if they are no indices."""
        found: list[int] = []
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if value in self._seen:
                continue
            self._seen.add(value)
            for op, number in ir_util.uses(value):
                # A tensor may have no elements, or so many as its data says.
                extents = [each for each in _extents(op, number) if each > 0]
                found += extents
                if not extents:
                    waiting += self._following(op, number)
        return min(found, default=None)

    def _following(self, op: ir_util.Op, number: int) -> list[Any]:
        """Returns the integers that an operation makes of an operand."""
        if op.name == "func.call":
            callee = self.functions.get(ir_util.string(op, "callee"))
            return [callee.regions[0].blocks[0].arguments[number]] if callee else []
        if op.name == "func.return":
            return []
        inner = []
        if op.name == "linalg.generic":
            inner = [op.regions[0].blocks[0].arguments[number]]
        if op.name == "linalg.yield" and op.parent:
            inner = [op.parent.operation.results[number]]
        return inner + [
            result
            for result in op.results
            if isinstance(ir_util.element_type(result.type), (ir.IntegerType, ir.IndexType))
            and getattr(ir_util.element_type(result.type), "width", 64) > 1
        ]


def _extents(op: ir_util.Op, number: int) -> list[int]:
    """Returns the extents of the axes that operand `number` is an index for."""
    if op.name in _INDEXED:
        indices, indexed = _INDEXED[op.name]
        if number != indices:
            return []
        shape = list(op.operands[indexed].type.shape)
        if op.name.startswith("tosa."):
            return [shape[1]]
        if op.name == "stablehlo.gather":
            numbers = stablehlo.dimension_numbers(op, "dimension_numbers")
            return [shape[axis] for axis in numbers.get("start_index_map", [])]
        return shape[:1]
    if op.name == "stablehlo.scatter" and number == len(op.results):
        numbers = stablehlo.dimension_numbers(op, "scatter_dimension_numbers")
        axes = numbers.get("scatter_dims_to_operand_dims", [])
        return [op.operands[0].type.shape[axis] for axis in axes]
    if op.name == "tensor.extract" and number:
        return [op.operands[0].type.shape[number - 1]]
    if op.name in ("stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"):
        shape = list(op.operands[0].type.shape)
        first = len(op.operands) - len(shape)
        return [shape[number - first]] if number >= first else []
    return []
