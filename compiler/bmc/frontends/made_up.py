"""Lets the framework answer made-up inputs too, so that a model that is right only for the user's is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from iree.compiler import ir

from bmc import conditioning, samples, spec, tolerances
from bmc.artifacts import ImportedModel
from bmc.errors import BmcError
from bmc.frontends import input_roles, quantized
from bmc.ir import ir_util


@dataclass(frozen=True, slots=True)
class _Defines:
    """What a framework defines, or answers with an error; with anything else it may crash or return any number.

    Attributes:
      floats: NaN where numbers are compared, and the quotient of integers and 0.
      from_end: an index that counts from the end, or is outside of a tensor by as much.
      outside: any other index outside of a tensor.
    """

    floats: bool
    from_end: bool = True
    outside: bool = False


_DEFINED = {
    "jax": _Defines(floats=True, outside=True),
    "keras": _Defines(floats=False),
    "onnx": _Defines(floats=False),
    "tflite": _Defines(floats=False, from_end=False),
    "torch": _Defines(floats=True),
}
# Made-up cases and their answers take no more than this, and there are few for a model with many weights.
_MOST_BYTES = 512 * 1024
_MANY_WEIGHTS = 1024 * 1024
_FEW = 2


def added(model: ImportedModel) -> ImportedModel:
    """Returns the model with made-up inputs and the framework's answers in `compared_only`.

    A model that is quantized, or has several entry points or state, gets none.

    Raises:
      BmcError: the user's ranges are not one per input.
    """
    framework, name = model.framework, model.frontend
    data = model.golden
    model = replace(model, framework=None)
    if framework is None or data.calls or quantized.is_quantized(model.mlir):
        return model
    if framework.ranges and len(framework.ranges) != len(model.inputs):
        raise BmcError(
            "bad-spec",
            f"{len(framework.ranges)} ranges given for {len(model.inputs)} inputs",
            hint="give one (least, largest) per input, or None",
        )
    first, defined = data.inputs[0], _DEFINED[name]
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        roles = input_roles.read(ir_util.read(model.mlir))
    moves = not roles.rounds
    # Integers that become integers are right or wrong, whatever the IR computes them with.
    counts = not model.parameters and not any(
        info.dtype.is_float for info in (*model.inputs, *model.outputs)
    )
    uses = samples.Uses(
        roles.extents,
        floats=moves and not roles.loops and defined.floats,
        integers=(moves or counts) and not roles.loops,
        equal=not roles.sorts or name != "torch",
        zeros=not roles.divides or defined.floats,
        from_end=defined.from_end,
        outside=defined.outside,
    )
    arrays = (*first, *data.outputs[0])
    count = _MOST_BYTES // max(sum(array.nbytes for array in arrays), 1)
    if sum(math.prod(parameter.shape) for parameter in model.parameters) > _MANY_WEIGHTS:
        count = min(count, _FEW)
    is_steady = conditioning.judge(
        framework.answer,
        model.outputs,
        tuple(map(tolerances.of_made_up, data.policies, data.outputs[0])),
    )
    kinds: list[str] = []
    made: list[tuple[spec.Case, spec.Case]] = []
    for kind, case in samples.beside(first, model.inputs, framework.ranges, uses)[:count]:
        try:
            outputs = framework.answer(case)
        except BmcError:
            continue  # The framework does not define it.
        if roles.rounds:
            kept, _ = samples.sensible((first, case), (data.outputs[0], outputs), is_steady)
            if len(kept) == 1:
                continue
        kinds.append(kind)
        made.append((case, outputs))
    return replace(
        model,
        made_up=tuple(kinds),
        compared_only=(*model.compared_only, *made),
    )
