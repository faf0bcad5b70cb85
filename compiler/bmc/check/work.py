"""What a model has to compute and to hold, read from IREE's dispatches before any of them is compiled.

IREE gets there in a second or two, because nothing evaluates the constant expressions on the way.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from bmc.artifacts import ImportedModel
from bmc.facts import half_floats, liveness, macs
from bmc.ir import contraction, ir_util, names
from bmc.iree import phases
from bmc.iree.phases import Phase
from bmc.iree.tool import IreeTool
from bmc.rewrites.iree import soft_halves
from bmc.rewrites.model_context import ModelContext
from bmc.rewrites.model_pipeline import FOR_ALL
from bmc.rewrites.runner import Runner
from bmc.target import Target

_UNEVALUATED = "--iree-opt-const-eval=false"
# Fewer rows than this share a loaded weight: a matrix times a vector, or nearly.
_FEW_ROWS = 3
# Ops of linalg that are no work of their own.
_NO_WORK = (names.FILL, names.INDEX, names.YIELD)
# Weights that as many rows read may be stored in 16 bits, up to so many more bytes of a model
# (rewrites/weights/wide_weights).
_MANY_ROWS = 32
_WIDENED_BYTES = 96 * 1024


@dataclass(frozen=True)
class Work:
    """One inference of a model.

    Attributes:
      macs: multiply-accumulates.
      weight_bytes: bytes of the constants.
      widened_bytes: what int8 weights in 16 bits add, about.
      arena_bytes: the tensors between kernels that are alive at once.
      dispatches: calls of kernels.
      kernels: different kernels.
      counts: multiply-accumulates of each kind: `dense_f`, `dense_i`, `depthwise_f`, `depthwise_i`; of a matrix and one
        or two vectors, `vector_f`, `vector_i`, and if its rows are added up, `dot_f`, `dot_i`. `f` is for floats. And
        `results` of all these, and `elements` of other operations.
    """

    macs: int
    weight_bytes: int
    widened_bytes: int
    arena_bytes: int
    dispatches: int
    kernels: int
    counts: Counter[str]


def read(model: ImportedModel, target: Target, work: Path) -> Work:
    """Returns what an imported model computes.

    Args:
      model: the imported model.
      target: the instruction set.
      work: a folder for intermediate files.

    Raises:
      BmcError: IREE or a rewrite refuses the model, or it computes in f16 and the target does not.
    """
    has_half_floats = False

    def of_input(module: Any) -> None:
        nonlocal has_half_floats
        has_half_floats = half_floats.found(module)

    def flags(_: Phase) -> tuple[str, ...]:
        imported = phases.import_flags(model.signatures, has_half_floats)
        # Only kernels with vectors read an image as if it were padded; others get a padded copy.
        within = (phases.PADDINGS_WITHIN,) if target.vlen_bits else ()
        return (*imported, _UNEVALUATED, *within, *target.iree_flags())

    context = ModelContext(model.int8)
    pipeline = tuple(rewrite for rewrite in FOR_ALL if rewrite.after is phases.INPUT)
    tool = IreeTool(work, work / "reproducer")
    runner = Runner(tool, pipeline, context, flags, {phases.INPUT: of_input})
    flow = runner.run(model.mlir, phases.INPUT, phases.FLOW)
    with ir.Context():
        module = ir_util.read(flow)
        soft_halves.check(module, target)
        return _of_flow(module, liveness.bound(module, context.states))


def _of_flow(module: Any, arena: int) -> Work:
    kernels = {
        ir_util.string(function, "sym_name"): _of_kernel(function)
        for executable in ir_util.all_of(module, "flow.executable")
        for kind in names.FUNCTIONS
        for function in ir_util.all_of(executable, kind)
    }
    counts: Counter[str] = Counter()
    calls = [_callee(op) for op in _calls(module)]
    for callee in calls:
        counts.update(kernels.get(callee, {}))
    widened = counts.pop("widened", 0)
    return Work(
        macs=sum(n for kind, n in counts.items() if kind.endswith(("_f", "_i"))),
        weight_bytes=sum(map(_constant_bytes, ir_util.walk(module.operation))),
        widened_bytes=min(widened, _WIDENED_BYTES),
        arena_bytes=arena,
        dispatches=len(calls),
        kernels=len(set(calls)),
        counts=counts,
    )


def _calls(module: Any) -> list[Any]:
    """Returns the dispatches of entry points, without those of initializers, which IREE evaluates."""
    return [
        op
        for function in ir_util.all_of(module, names.HOST_FUNCTION)
        if function.parent.name == "builtin.module"
        for op in ir_util.walk(function)
        if op.name == "flow.dispatch"
    ]


def _callee(dispatch: Any) -> str:
    return str(dispatch.attributes["entry_points"]).rpartition("::@")[2].rstrip("]").strip('"')


def _constant_bytes(op: Any) -> int:
    """Returns the bytes of a constant tensor; IREE puts small ones into the kernels."""
    if op.name == "arith.constant":
        type_, value = op.results[0].type, op.attributes["value"]
    elif op.name == names.GLOBAL and "initial_value" in op.attributes:
        type_, value = ir.TypeAttr(op.attributes["type"]).value, op.attributes["initial_value"]
    else:
        return 0
    is_splat = isinstance(value, ir.DenseElementsAttr) and value.is_splat
    is_stored = isinstance(type_, ir.RankedTensorType) and not is_splat
    return ir_util.tensor_bytes(type_) if is_stored else 0


def _of_kernel(function: Any) -> Counter[str]:
    counts: Counter[str] = Counter()
    for op in ir_util.walk(function):
        tensors = [r.type for r in op.results if isinstance(r.type, ir.RankedTensorType)]
        if not op.name.startswith(("linalg.", "iree_linalg_ext.")) or not tensors:
            continue
        if op.name in _NO_WORK:
            continue
        products = macs.of(op)
        if products:
            is_float = contraction.accumulator(op).startswith("f")
            rows = _rows(op)
            counts[f"{_kind(op, rows)}_{'f' if is_float else 'i'}"] += products
            counts["results"] += math.prod(tensors[0].shape)
            counts["widened"] += _widened(op, rows)
        else:
            counts["elements"] += _elements(op, tensors[0])
    return counts


def _kind(op: Any, rows: int | None) -> str:
    found = contraction.read(op)
    if found is None or rows is None:
        return "dense"
    shared = {axis.loop for axis in found.a} & set(found.b) & set(found.result)
    if found.windows and shared:
        return "depthwise"
    if rows >= _FEW_ROWS:
        return "dense"
    return "vector" if found.b and found.b[-1] in found.result else "dot"


def _rows(op: Any) -> int | None:
    """Returns how often a product reads each weight, None if it is not known."""
    found = contraction.read(op)
    if found is None:
        return None
    extents = contraction.extents(op)
    rows = [axis.loop for axis in found.a if axis.loop not in found.b]
    return math.prod(extents.get(loop, 1) for loop in rows if loop in found.result)


def _widened(op: Any, rows: int | None) -> int:
    """Returns the bytes by which weights grow that are stored in 16 bits, because many rows read them."""
    if rows is None or rows < _MANY_ROWS:
        return 0
    weights = op.operands[1].type
    return int(math.prod(weights.shape)) if str(weights.element_type) == "i8" else 0


def _elements(op: Any, result: Any) -> int:
    """Returns the iterations of an operation without products."""
    if not op.name.startswith("linalg.") or linalg.get_indexing_maps(op) is None:
        return int(math.prod(result.shape))
    return math.prod(n for n in contraction.extents(op).values() if n > 0)
